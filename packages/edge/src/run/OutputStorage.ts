/** Between a turn and its append: what the turn's events name is kept first. */
import { Effect } from "effect"
import type { Artifacts, KeptArtifact, NewArtifact } from "../artifact/Artifacts.ts"
import type { RunRecorder } from "./RunRecorder.ts"

/** To be called before `recorder.take`. Never fails: what cannot be kept is left out of the log, with a warning. */
export const storeOutputs = (artifacts: Artifacts["Service"], recorder: RunRecorder): Effect.Effect<void> => {
  const waiting = recorder.toBeKept
  return waiting.length === 0 ? Effect.void : keepAll(artifacts, recorder, waiting)
}

const keepAll = Effect.fnUntraced(function* (
  artifacts: Artifacts["Service"],
  recorder: RunRecorder,
  waiting: ReadonlyArray<NewArtifact>
) {
  const kept = new Map<NewArtifact, KeptArtifact>()
  for (const made of waiting) {
    yield* artifacts.keep(made).pipe(
      Effect.match({
        onSuccess: (one) => void kept.set(made, one),
        onFailure: ({ reason }) => reason
      }),
      Effect.tap((reason) =>
        reason === undefined
          ? Effect.void
          : Effect.logWarning(`run ${made.runId} lost an artifact: ${reason}`)
      )
    )
  }
  recorder.settle(kept)
})
