/**
 * Who may start when the Edge is full: a bounded number of slots, and a line for each flow of work that waits for one.
 *
 * Flows take turns, so that a flow that asks for a hundred runs delays another's first run by one run and not by a hundred. Within a flow
 * it is first come, first served. Waiting lasts until a slot is free or the waiting scope closes; it is not durable.
 */
import { Deferred, Effect, type Scope } from "effect"

type Ticket = Deferred.Deferred<void>

export class RunQueue {
  private readonly slots: number
  private taken = 0
  /** In the order in which their turn comes. */
  private readonly flows = new Map<string, Array<Ticket>>()

  constructor(slots: number) {
    this.slots = slots
  }

  get waiting(): number {
    let count = 0
    for (const line of this.flows.values()) count += line.length
    return count
  }

  /** Succeeds when a slot is the caller's; it is given back with the scope. */
  readonly slot = (flow: string): Effect.Effect<void, never, Scope.Scope> =>
    Effect.suspend(() => {
      if (this.taken < this.slots) {
        this.taken++
        return Effect.addFinalizer(() => this.free)
      }
      const ticket = Deferred.makeUnsafe<void>()
      const line = this.flows.get(flow)
      if (line === undefined) this.flows.set(flow, [ticket])
      else line.push(ticket)
      const leave = Effect.suspend(() =>
        Deferred.isDoneUnsafe(ticket) ? this.free : Effect.sync(() => this.withdraw(flow, ticket))
      )
      return Effect.andThen(
        Effect.addFinalizer(() => leave),
        Deferred.await(ticket)
      )
    })

  private withdraw(flow: string, ticket: Ticket): void {
    const line = this.flows.get(flow)?.filter((other) => other !== ticket) ?? []
    if (line.length === 0) this.flows.delete(flow)
    else this.flows.set(flow, line)
  }

  /** Hands the slot to the flow whose turn it is, which then goes to the end of the line. */
  private readonly free: Effect.Effect<void> = Effect.suspend(() => {
    const next = this.flows.entries().next()
    if (next.done === true) {
      this.taken--
      return Effect.void
    }
    const [flow, [ticket, ...rest]] = next.value
    this.flows.delete(flow)
    if (rest.length > 0) this.flows.set(flow, rest)
    return ticket === undefined ? this.free : Deferred.succeed(ticket, undefined)
  })
}
