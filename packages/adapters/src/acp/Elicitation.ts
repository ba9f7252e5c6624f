/** Elicitation of an agent of ACP, as an input request. */
import type * as Acp from "@agentclientprotocol/sdk"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import { defined, isJsonObject, textOf } from "../text/Json.ts"
import { readElicitation } from "../form/Elicitation.ts"
import type { OpenQuestion } from "./WaitingRequests.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

export type ElicitationParams = UnverifiedFields<Acp.CreateElicitationRequest & Acp.ElicitationSessionScope>

/** An input request, and what is kept for its response. */
export interface AcpInput {
  readonly request: RequestedInput
  readonly question: Omit<OpenQuestion, "id">
}

/** The request of an elicitation; `undefined` if its mode or a field of its form is unknown. */
export const toAcpInput = (params: ElicitationParams, parentCallId?: string): AcpInput | undefined => {
  const { mode, requestedSchema: schema, url } = params
  if (mode !== "url" && ((mode !== undefined && mode !== "form") || !isJsonObject(schema))) return undefined
  const message = textOf(params.message) ?? "The agent asks for input."
  const elicitation = readElicitation({ message, mode, schema, url })
  if (elicitation === undefined) return undefined
  const linkId = mode === "url" ? textOf(params.elicitationId) : undefined
  return {
    request: { ...elicitation.request, ...defined({ callId: textOf(params.toolCallId), parentCallId }) },
    question: { toResult: elicitation.toResponse, ...defined({ linkId }) }
  }
}
