/** Failures from Hub responses. An expired sign-in names the command that renews it. */
import type { CorralError } from "@corral/client/http/CorralError"
import { CommandFailed } from "../CommandFailed.ts"
import { commandFailure } from "../edge/EdgeClient.ts"

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
