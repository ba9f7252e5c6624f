/** What a user can do about a refused request: by the reason of an unavailable runtime, otherwise by the code. */
import type { CorralError } from "@corral/client/http/CorralError"
import { runtimeRemedyOf } from "@corral/domain/run/RuntimeRemedy"
import type { uiMessages } from "./messages.ts"

type Messages = Pick<(typeof uiMessages)["en"], "advice" | "remedies">

export const refusalAdvice = (
  { advice, remedies }: Messages,
  refusal: Pick<CorralError, "code" | "details">
): string | undefined => {
  const remedy = runtimeRemedyOf(refusal)
  return remedy === undefined ? advice[refusal.code] : remedies[remedy]
}
