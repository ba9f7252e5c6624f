/** Failures from Hub responses. An expired sign-in names the command that renews it, and a limit that is used up says until when. */
import type { CorralError } from "@corral/client/http/CorralError"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { commandFailure } from "../edge/EdgeClient.ts"
import { localTime } from "../terminal/ShownTime.ts"

/** Failure of a request without a response. */
export const hubUnreachable = (url: string): CommandFailed =>
  new CommandFailed({
    message: `Can't reach the Hub at ${url}. Check the URL and that the Hub is running.`,
    exitCode: exitCodes.failed,
    unreachable: true,
    isTransient: true
  })

/** Until when a limit of a day holds. Empty for other refusals. */
const endOfLimit = ({ details }: CommandFailed): string =>
  typeof details?.["endsAt"] === "string" ? ` The day ends at ${localTime(details["endsAt"])}.` : ""

/** `signedInAt` is the Hub URL of the sign-in that the request used. */
export const hubFailure = (
  error: CorralError,
  unreachable: CommandFailed,
  signedInAt?: string
): CommandFailed => {
  const failure = commandFailure("Hub", error, unreachable)
  const end = endOfLimit(failure)
  const refusal =
    end === "" ? failure : new CommandFailed({ ...failure, message: `${failure.message}${end}` })
  return signedInAt === undefined || refusal.code !== "unauthorized"
    ? refusal
    : new CommandFailed({
        ...refusal,
        message: `Your sign-in at ${signedInAt} has expired. Sign in again with \`corral login --hub ${signedInAt}\`.`
      })
}
