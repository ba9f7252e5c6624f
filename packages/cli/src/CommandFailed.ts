/**
 * How a command ends when it does not end well: one sentence for a person, and the exit code for a script.
 */
import { Data } from "effect"

/**
 * What the process exits with. `refused`: the command was wrong or was turned down, and nothing was started by it. `cancelled` is what a
 * shell reports of a program that Ctrl-C ended.
 */
export const exitCodes = { completed: 0, failed: 1, refused: 2, cancelled: 130, terminated: 143 } as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The command stops with `exitCode`. An empty `message`: all has been said already. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly message: string
  readonly exitCode: ExitCode
  /** Of the error table, where the Edge refused. */
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  /** The Edge did not answer at all; asking again may help. */
  readonly unreachable?: true | undefined
}> {}

/** Stops with that sentence: the command was wrong or was turned down. */
export const refused = (message: string): CommandFailed =>
  new CommandFailed({ message, exitCode: exitCodes.refused })

/** Stops with that code; what happened has been shown. */
export const exitWith = (exitCode: ExitCode): CommandFailed => new CommandFailed({ message: "", exitCode })
