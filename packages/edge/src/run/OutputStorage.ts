/** Storage of the artifacts that a batch's events name, before the events are appended. */
import { Effect } from "effect"
import type { Artifacts, StoredArtifact, NewArtifact } from "../artifact/Artifacts.ts"
import type { RunRecorder } from "./RunRecorder.ts"

/** Call it before `recorder.take`. Never fails: an artifact that cannot be stored is left out of the log, with a warning. */
export const storeOutputs = (artifacts: Artifacts["Service"], recorder: RunRecorder): Effect.Effect<void> => {
  const waiting = recorder.pendingArtifacts
  return waiting.length === 0 ? Effect.void : keepAll(artifacts, recorder, waiting)
}

const keepAll = Effect.fnUntraced(function* (
  artifacts: Artifacts["Service"],
  recorder: RunRecorder,
  waiting: ReadonlyArray<NewArtifact>
) {
  const stored = new Map<NewArtifact, StoredArtifact>()
  for (const artifact of waiting) {
    yield* artifacts.store(artifact).pipe(
      Effect.match({
        onSuccess: (one) => void stored.set(artifact, one),
        onFailure: ({ reason }) => reason
      }),
      Effect.tap((reason) =>
        reason === undefined
          ? Effect.void
          : Effect.logWarning(`run ${artifact.runId} lost an artifact: ${reason}`)
      )
    )
  }
  recorder.settle(stored)
})
