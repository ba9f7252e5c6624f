/**
 * Callers of this process that wait for a command to change.
 *
 * Notices can be lost. Once a second, `wakeAnswered` looks up every awaited command in one statement.
 */
import type { CommandId, CommandOutcome } from "@corral/domain/link/EdgeCommand"
import { Effect, Latch } from "effect"
import type { CommandTable } from "./CommandTable.ts"

type Listener = (outcome?: CommandOutcome) => void

/** A command that a caller waits for. */
export interface WatchedCommand {
  /** Opens whenever the command may have changed. */
  readonly changed: Latch.Latch
  /** The answer, if this process has stored it. */
  outcome: CommandOutcome | undefined
}

export class CommandWaiters {
  private readonly listeners = new Map<string, Set<Listener>>()

  /** Runs `self` with what becomes known of the command. */
  watch<A, E, R>(
    id: CommandId,
    self: (watched: WatchedCommand) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const watched: WatchedCommand = { changed: Latch.makeUnsafe(false), outcome: undefined }
      const wake = (outcome?: CommandOutcome) => {
        watched.outcome ??= outcome
        watched.changed.openUnsafe()
      }
      const listeners = this.listeners.get(id) ?? new Set<Listener>()
      this.listeners.set(id, listeners.add(wake))
      const leave = Effect.sync(() => {
        listeners.delete(wake)
        if (listeners.size === 0 && this.listeners.get(id) === listeners) this.listeners.delete(id)
      })
      return Effect.ensuring(self(watched), leave)
    })
  }

  wake(ids: Iterable<string>): void {
    for (const id of ids) for (const wake of this.listeners.get(id) ?? []) wake()
  }

  /** Passes on an answer that is stored. */
  settle(id: CommandId, outcome: CommandOutcome): void {
    for (const wake of this.listeners.get(id) ?? []) wake(outcome)
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
