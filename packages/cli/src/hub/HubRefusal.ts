/** Failures from Hub responses. An expired sign-in names the command that renews it. */
import type { CorralError } from "@corral/client/http/CorralError"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { commandFailure } from "../edge/EdgeClient.ts"

/** Failure of a request without a response. */
export const hubUnreachable = (url: string): CommandFailed =>
  new CommandFailed({
    message: `Can't reach the Hub at ${url}. Check the URL and that the Hub is running.`,
    exitCode: exitCodes.failed,
    unreachable: true,
    isTransient: true
  })

/** `signedInAt` is the Hub URL of the sign-in that the request used. */
export const hubFailure = (
  error: CorralError,
  unreachable: CommandFailed,
  signedInAt?: string
): CommandFailed => {
  const refusal = commandFailure("Hub", error, unreachable)
  return signedInAt === undefined || refusal.code !== "unauthorized"
    ? refusal
    : new CommandFailed({
        ...refusal,
        message: `Your sign-in at ${signedInAt} has expired. Sign in again with \`corral login --hub ${signedInAt}\`.`
      })
}
