/** What an agent's error response to a request of the client means for the run. */
import type * as Acp from "@agentclientprotocol/sdk"
import type { RunFailure } from "@corral/domain/run/Run"
import { acpFailure, errorText, isUnknownSession, toAcpFailure, type AcpEvidence } from "./AcpOutcome.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

/** Purpose of a request. `history`: barrier after a loaded session's old messages. `drain`: barrier after a turn. */
export type AcpPurpose = "initialize" | "session" | "history" | "mode" | "model" | "prompt" | "drain"

type RpcError = UnverifiedFields<Acp.Error>

/** Whether the conversation continues as after a result: a barrier was refused, or the agent is in the mode already. */
export const isExpectedError = (purpose: AcpPurpose, error: RpcError): boolean =>
  purpose === "history" ||
  purpose === "drain" ||
  (purpose === "mode" && /already in \S+ mode/i.test(errorText(error)))

/** Failure of the run, or of the turn for a prompt. */
export const failureOfError = (
  purpose: AcpPurpose,
  error: RpcError,
  evidence: AcpEvidence,
  isResumed: boolean
): RunFailure => {
  switch (purpose) {
    case "session":
      if (isResumed && isUnknownSession(error)) return acpFailure("unknown_session", evidence.agent)
      return toAcpFailure(error, evidence, isResumed ? "unknown_session" : "session_refused")
    case "mode":
      return toAcpFailure(error, evidence, "mode_refused")
    case "model":
      return toAcpFailure(error, evidence, "model_refused")
    case "prompt":
      return toAcpFailure(error, evidence, "agent_failed")
    default:
      return toAcpFailure(error, evidence, "protocol_broken")
  }
}
