/**
 * What a client makes of groups of events: a view of the run that grows with them, with the state, the pending approvals and the display blocks; or the
 * events one by one.
 */
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

/** Items of groups, one by one. */
export async function* flattened<A>(groups: AsyncIterable<ReadonlyArray<A>>): AsyncGenerator<A> {
  for await (const group of groups) yield* group
}
