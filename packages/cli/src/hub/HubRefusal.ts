/** What a Hub refuses, as its own sentence. What ends a sign-in is told with the way to a new one. */
import { CommandFailed } from "../CommandFailed.ts"
import { failureFromResponse } from "../edge/EdgeClient.ts"

/** `text` is the answer's body; `signedInAt` the Hub's address, where one was signed in there. */
export const failureFromHub = (status: number, text: string, signedInAt?: string): CommandFailed => {
  const refusal = failureFromResponse(status, text, "Hub")
  return signedInAt === undefined || refusal.code !== "unauthorized"
    ? refusal
    : new CommandFailed({
        ...refusal,
        message: `Your sign-in at ${signedInAt} has ended: corral login --hub ${signedInAt}.`
      })
}
