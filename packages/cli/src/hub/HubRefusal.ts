/** Failures from Hub responses. An expired sign-in names the command that renews it. */
import { CommandFailed } from "../CommandFailed.ts"
import { failureFromResponse } from "../edge/EdgeClient.ts"

/** `text` is the response body. `signedInAt` is the Hub URL of the sign-in that the request used. */
export const failureFromHub = (status: number, text: string, signedInAt?: string): CommandFailed => {
  const refusal = failureFromResponse(status, text, "Hub")
  return signedInAt === undefined || refusal.code !== "unauthorized"
    ? refusal
    : new CommandFailed({
        ...refusal,
        message: `Your sign-in at ${signedInAt} has expired. Sign in again with \`corral login --hub ${signedInAt}\`.`
      })
}
