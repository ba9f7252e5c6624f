/**
 * Failure of a command: a message for the user and an exit code for scripts.
 */
import { Data } from "effect"

/**
 * Exit codes of the process. `refused`: the command was invalid or rejected, and nothing was started. `cancelled` is the code that a shell
 * reports for a program ended by Ctrl-C.
 */
export const exitCodes = { completed: 0, failed: 1, refused: 2, cancelled: 130, terminated: 143 } as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Stops the command with `exitCode`. An empty `message` prints nothing. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly message: string
  readonly exitCode: ExitCode
  /** Code of the error table, if the service answered with one. */
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  /** Details of the service's error. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** The service did not answer. A retry may succeed. */
  readonly unreachable?: true | undefined
  /** The same request can succeed later: no answer, or the service can't serve it now. */
  readonly isTransient?: true | undefined
}> {}

/** Failure of an invalid or rejected command. */
export const refused = (message: string): CommandFailed =>
  new CommandFailed({ message, exitCode: exitCodes.refused })

/** Stops with this exit code and prints nothing more. */
export const exitWith = (exitCode: ExitCode): CommandFailed => new CommandFailed({ message: "", exitCode })
