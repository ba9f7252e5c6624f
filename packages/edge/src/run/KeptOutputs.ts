/** Between a turn and its append: what the turn's events name is kept first. */
import { Effect } from "effect"
import type { Artifacts, Kept, Made } from "../artifact/Artifacts.ts"
import type { RunRecorder } from "./RunRecorder.ts"

/** To be called before `recorder.take`. Never fails: what cannot be kept is left out of the log, with a warning. */
export const keepOutputs = (artifacts: Artifacts["Service"], recorder: RunRecorder): Effect.Effect<void> => {
  const waiting = recorder.toBeKept
  return waiting.length === 0 ? Effect.void : keepAll(artifacts, recorder, waiting)
}

const keepAll = Effect.fnUntraced(function* (
  artifacts: Artifacts["Service"],
  recorder: RunRecorder,
  waiting: ReadonlyArray<Made>
) {
  const kept = new Map<Made, Kept>()
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
