/**
 * Lines that Claude Code reads: user messages, our requests, our responses.
 */

const line = (value: object): string => `${JSON.stringify(value)}\n`

export const userMessage = (text: string): string =>
  line({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null, session_id: "" })

export const controlRequest = (requestId: string, subtype: "initialize" | "interrupt"): string =>
  line({
    type: "control_request",
    request_id: requestId,
    request: subtype === "initialize" ? { subtype, hooks: null } : { subtype }
  })

export const controlResponse = (requestId: string, response: object): string =>
  line({ type: "control_response", response: { subtype: "success", request_id: requestId, response } })

/** Error response to an unsupported request. */
export const controlRefusal = (requestId: string, error: string): string =>
  line({ type: "control_response", response: { subtype: "error", request_id: requestId, error } })
