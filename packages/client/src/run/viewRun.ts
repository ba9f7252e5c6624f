/** View of a run that grows with its events: the state, the pending approvals and the display blocks. */
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { RunView } from "@corral/domain/run/RunView"
import type { RunEventOptions, RunPosition } from "../stream/RunEvents.ts"

/** The same view after each group of events. A gap is a block of the view, and its state is that of the run. */
export async function* viewRun<Run extends RunPosition & { readonly state: RunView["state"] }>(
  batches: (options: RunEventOptions<Run>) => AsyncIterable<ReadonlyArray<SequencedEvent>>,
  options: RunEventOptions<Run>
): AsyncGenerator<RunView> {
  const view = new RunView()
  let isGapShown = true
  const onGap: RunEventOptions<Run>["onGap"] = async (missing, run) => {
    view.markMissing(missing)
    view.state = run.state
    isGapShown = false
    await options.onGap?.(missing, run)
  }
  for await (const events of batches({ ...options, onGap })) {
    for (const event of events) view.apply(event)
    isGapShown = true
    yield view
  }
  if (!isGapShown) yield view
}
