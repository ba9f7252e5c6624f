/** Commands of a `LinkPeer` to an Edge that are not answered yet. They are sent again over each new link. */
import type { CommandOutcome, EdgeCommand } from "@corral/domain/link/EdgeCommand"

interface Pending {
  readonly command: EdgeCommand
  readonly done: PromiseWithResolvers<CommandOutcome>
}

export class PendingCommands {
  private readonly pending = new Map<string, Pending>()

  /** The outcome of the command, or of an earlier one with its id. */
  add(command: EdgeCommand): Promise<CommandOutcome> {
    const earlier = this.pending.get(command.commandId)
    const done = earlier?.done ?? Promise.withResolvers<CommandOutcome>()
    this.pending.set(command.commandId, { command, done })
    return done.promise
  }

  complete(commandId: string, outcome: CommandOutcome): void {
    this.pending.get(commandId)?.done.resolve(outcome)
    this.pending.delete(commandId)
  }

  list(): ReadonlyArray<EdgeCommand> {
    return [...this.pending.values()].map(({ command }) => command)
  }
}
