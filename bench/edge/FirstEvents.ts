/** Events of the run that was created last, on a stream of all runs of a server. One run at a time. */
import type { BenchTarget } from "../Target.ts"
import { createAgentRun } from "./RunClient.ts"
import { Subscriber } from "./Subscriber.ts"

/** Agents whose runs are followed: the scripted runtime, `quick.sh` and `fetching.mjs`. */
export type FollowedAgent = "scripted" | "quick" | "fetching"

interface RunRequest {
  readonly agentId: FollowedAgent
  readonly text: string
  readonly isolation?: "none" | "overlay"
}

export class FirstEvents {
  private readonly target: BenchTarget
  private readonly reader: Subscriber
  private seen = new Map<string, number>()
  private awaited: { readonly type: string; readonly resolve: () => void } | undefined

  private constructor(target: BenchTarget, reader: Subscriber) {
    this.target = target
    this.reader = reader
  }

  static async open(target: BenchTarget): Promise<FirstEvents> {
    let events: FirstEvents | undefined
    const reader = await Subscriber.open(target, { onEvent: (_runId, type) => events?.take(type) })
    events = new FirstEvents(target, reader)
    return events
  }

  /** Creates a run. Gives its id, and the milliseconds from the request to each type of event until the first one of `last`. */
  async follow({ agentId, text, ...more }: RunRequest, last: string) {
    this.seen = new Map()
    const end = this.next(last)
    const begin = performance.now()
    const id = await createAgentRun(this.target, agentId, text, more)
    await end
    const after = (type: string) => (this.seen.get(type) ?? Number.NaN) - begin
    return { id, after }
  }

  /** Resolves with the next event of that type. */
  next(type: string): Promise<void> {
    return new Promise((resolve) => {
      this.awaited = { type, resolve }
    })
  }

  drop(): void {
    this.reader.drop()
  }

  private take(type: string): void {
    if (!this.seen.has(type)) this.seen.set(type, performance.now())
    if (type === this.awaited?.type) this.awaited.resolve()
  }
}
