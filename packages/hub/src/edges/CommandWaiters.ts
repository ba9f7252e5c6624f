/**
 * Callers of this process that wait for a command to change.
 *
 * Notices can be lost. Once a second, `wakeAnswered` looks up every awaited command in one statement.
 */
import type { CommandId } from "@corral/domain/link/EdgeCommand"
import { Effect, Latch } from "effect"
import type { CommandTable } from "./CommandTable.ts"

export class CommandWaiters {
  private readonly listeners = new Map<string, Set<() => void>>()

  /** Runs `self` with a latch that opens whenever the command may have changed. */
  watch<A, E, R>(
    id: CommandId,
    self: (changed: Latch.Latch) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const changed = Latch.makeUnsafe(false)
      const wake = () => void changed.openUnsafe()
      const listeners = this.listeners.get(id) ?? new Set<() => void>()
      this.listeners.set(id, listeners.add(wake))
      const leave = Effect.sync(() => {
        listeners.delete(wake)
        if (listeners.size === 0 && this.listeners.get(id) === listeners) this.listeners.delete(id)
      })
      return Effect.ensuring(self(changed), leave)
    })
  }

  wake(ids: Iterable<string>): void {
    for (const id of ids) for (const wake of this.listeners.get(id) ?? []) wake()
  }

  wakeAll(): void {
    this.wake(this.listeners.keys())
  }

  wakeAnswered(table: CommandTable) {
    return Effect.suspend(() => {
      const ids = [...this.listeners.keys()]
      if (ids.length === 0) return Effect.void
      return Effect.map(table.findUnanswered(ids), (open) => this.wake(ids.filter((id) => !open.has(id))))
    })
  }
}
