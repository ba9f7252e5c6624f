/** Secret answers for a Hub, sealed for the Edge that runs the agent. */
import { CorralError } from "@corral/client/http/CorralError"
import { sealSecrets } from "@corral/client/run/sealSecrets"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import { Effect } from "effect"
import { type CommandFailed, refused } from "../CommandFailed.ts"

/** The answer, with each plain text of a secret question sealed. */
export const sealAnswer = (
  request: InputRequest,
  answer: InputAnswer
): Effect.Effect<InputAnswer, CommandFailed> =>
  Effect.tryPromise({
    try: () => sealSecrets(request, answer),
    catch: (error) =>
      refused(
        error instanceof CorralError ? error.message : "The secret could not be sealed. Nothing was sent."
      )
  })
