/**
 * Queue of runs: a bounded number of slots, and one FIFO queue per flow.
 *
 * Slots are assigned round robin among the flows, so a flow with a hundred runs delays the first run of another flow by one run. A caller
 * waits until a slot is free or its scope closes. Not durable.
 */
import { Deferred, Effect, type Scope } from "effect"

type Ticket = Deferred.Deferred<void>

export class RunQueue {
  private readonly slots: number
  private taken = 0
  /** In round-robin order. */
  private readonly flows = new Map<string, Array<Ticket>>()

  constructor(slots: number) {
    this.slots = slots
  }

  /** Whether the next caller does not wait. */
  get isFree(): boolean {
    return this.taken < this.slots
  }

  get waiting(): number {
    let count = 0
    for (const line of this.flows.values()) count += line.length
    return count
  }

  /** Acquires a slot; releases it with the scope. */
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

  /** Takes a slot at once, beyond the limit if need be, for a run that has one already. Releases it with the scope. */
  readonly occupy: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() => {
    this.taken++
    return Effect.addFinalizer(() => this.free)
  })

  private withdraw(flow: string, ticket: Ticket): void {
    const line = this.flows.get(flow)?.filter((other) => other !== ticket) ?? []
    if (line.length === 0) this.flows.delete(flow)
    else this.flows.set(flow, line)
  }

  /** Passes the slot to the first flow, and moves the flow to the end. */
  private readonly free: Effect.Effect<void> = Effect.suspend(() => {
    const next = this.flows.entries().next()
    if (next.done === true || this.taken > this.slots) {
      this.taken--
      return Effect.void
    }
    const [flow, [ticket, ...rest]] = next.value
    this.flows.delete(flow)
    if (rest.length > 0) this.flows.set(flow, rest)
    return ticket === undefined ? this.free : Deferred.succeed(ticket, undefined)
  })
}
