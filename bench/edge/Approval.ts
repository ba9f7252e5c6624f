/**
 * How long until an agent continues: from the request that decides an approval to the agent's next word at a reader, durable in between. The
 * floor has no approvals: its program waits for an input instead.
 */
import type { BenchSide } from "../Builds.ts"
import { compared, interleave, on, type Pair, sidesOf, withPair } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import { quantile } from "../Statistics.ts"
import type { BenchTarget } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { allowApproval, createBenchRun, pendingApproval, sendInput } from "./RunClient.ts"
import { Subscriber } from "./Subscriber.ts"

const DECISIONS_A_RUN = 30

/** Counts events by their types. */
class EventCounts {
  readonly #counts = new Map<string, number>()
  #awaited: { readonly type: string; readonly count: number; readonly resolve: () => void } | undefined

  readonly add = (_runId: string, type: string): void => {
    this.#counts.set(type, this.#of(type) + 1)
    if (this.#awaited !== undefined && this.#of(this.#awaited.type) >= this.#awaited.count)
      this.#awaited.resolve()
  }

  async until(type: string, count: number): Promise<void> {
    if (this.#of(type) >= count) return
    await new Promise<void>((resolve) => (this.#awaited = { type, count, resolve }))
  }

  #of(type: string): number {
    return this.#counts.get(type) ?? 0
  }
}

/** The next approval is requested after the word, as by an agent that has worked. A program that waits for input does not say so. */
const waits = (side: BenchSide) =>
  side === "floor"
    ? { directive: "/wait", event: "run.message.completed", answer: sendInput }
    : { directive: "/ask\n/sleep 10", event: "run.approval.requested", answer: allowApproval }

/** Milliseconds of each decision of one run, the first left out. */
const decide = async (target: BenchTarget): Promise<ReadonlyArray<number>> => {
  const { answer, directive, event } = waits(target.side)
  const id = await createBenchRun(target, `/say ready\n${`${directive}\n`.repeat(DECISIONS_A_RUN + 1)}`)
  const counts = new EventCounts()
  const reader = await Subscriber.open(target, { runId: id, onEvent: counts.add })
  const taken: Array<number> = []
  for (let at = 1; at <= DECISIONS_A_RUN + 1; at++) {
    await counts.until(event, at)
    const waiting = target.side === "floor" ? id : await pendingApproval(target, id)
    const begin = performance.now()
    const answered = answer(target, id, waiting)
    // The word of `/say` was the first.
    await counts.until("run.message.delta", at + 1)
    taken.push(performance.now() - begin)
    await answered
  }
  await reader.closed
  return taken.slice(1)
}

export const measureApproval = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  withPair(options, async (pair: Pair) => {
    const measure = (side: BenchSide) => decide(on(pair, side))
    await interleave(2, measure, sidesOf(options))
    const taken = await interleave(options.rounds, measure, sidesOf(options))
    const figure = (name: string, share: number) => ({
      figure: `approval → agent continues, ${name}`,
      unit: "ms",
      ...compared(taken, (times) => quantile(times, share)),
      rounds: options.rounds
    })
    report.add({ ...figure("p50", 0.5), goal: atMost(2.9) })
    report.add(figure("p99", 0.99))
  })
