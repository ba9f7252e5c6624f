/**
 * Callers of this process that wait for a command to change.
 *
 * Notices can be lost. Once a second, `wakeAnswered` looks up every awaited command in one statement.
 */
import type { CommandId } from "@corral/domain/link/EdgeCommand"
import { Effect, Latch } from "effect"
import type { CommandTable } from "./CommandTable.ts"

export class CommandWaiters {
  private readonly wakers = new Map<string, Set<() => void>>()

  /** Runs `self` with a latch that opens whenever the command may have changed. */
  watch<A, E, R>(
    id: CommandId,
    self: (changed: Latch.Latch) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const changed = Latch.makeUnsafe(false)
      const wake = () => void changed.openUnsafe()
      const wakers = this.wakers.get(id) ?? new Set<() => void>()
      this.wakers.set(id, wakers.add(wake))
      const leave = Effect.sync(() => {
        wakers.delete(wake)
        if (wakers.size === 0 && this.wakers.get(id) === wakers) this.wakers.delete(id)
      })
      return Effect.ensuring(self(changed), leave)
    })
  }

  wake(ids: Iterable<string>): void {
    for (const id of ids) for (const wake of this.wakers.get(id) ?? []) wake()
  }

  wakeAll(): void {
    this.wake(this.wakers.keys())
  }

  wakeAnswered(table: CommandTable) {
    return Effect.suspend(() => {
      const ids = [...this.wakers.keys()]
      if (ids.length === 0) return Effect.void
      return Effect.map(table.findUnanswered(ids), (open) => this.wake(ids.filter((id) => !open.has(id))))
    })
  }
}
