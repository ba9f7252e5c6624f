/** What a user can do about a refused request: by the reason of an unavailable runtime or of a refused pause, otherwise by the code. */
import type { CorralError } from "@corral/client/http/CorralError"
import { runtimeRemedyOf } from "@corral/domain/run/RuntimeRemedy"
import type { uiMessages } from "./messages.ts"

type Messages = Pick<(typeof uiMessages)["en"], "advice" | "pauseAdvice" | "remedies">

export const refusalAdvice = (
  { advice, pauseAdvice, remedies }: Messages,
  refusal: Pick<CorralError, "code" | "details">
): string | undefined => {
  const remedy = runtimeRemedyOf(refusal)
  if (remedy !== undefined) return remedies[remedy]
  const { code, details } = refusal
  const pauses = new Map(Object.entries(pauseAdvice))
  return (code === "conflict" ? pauses.get(String(details["reason"])) : undefined) ?? advice[code]
}
