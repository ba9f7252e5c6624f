/**
 * Lines that Claude Code reads: user messages, our requests, our responses.
 */

import type { RunImage } from "@corral/domain/run/RuntimeAdapter"

const line = (value: object): string => `${JSON.stringify(value)}\n`

const toBlock = ({ base64, mediaType }: RunImage) => ({
  type: "image",
  source: { type: "base64", media_type: mediaType, data: base64 }
})

export const userMessage = (text: string, images: ReadonlyArray<RunImage> = []): string => {
  const content = images.length === 0 ? text : [{ type: "text", text }, ...images.map(toBlock)]
  return line({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" })
}

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
