/**
 * Lines that the Codex app-server reads: JSON-RPC without the version field, one object per line. Also conversation ids in them, and what a line over
 * the limit still allows.
 *
 * Ids of each side count from 0: ours and Codex's are never compared.
 */
import type { RunImage } from "@corral/domain/run/RuntimeAdapter"
import { LOST_REQUEST, LOST_RESULT } from "../output/LostOutput.ts"
import type { JsonObject } from "../text/Json.ts"
import { unansweredResult } from "./Questions.ts"

// A conversation id that is safe in a command line: not an option and not a path.

export const readCodexSessionId = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined

// What a line over the limit still allows: a request is declined, and a call is closed, because Codex or a reader would wait for it otherwise.

/** The response to a request that no one has seen. */
export const declineLost = (id: CodexRequestId, method: string): string => {
  const result = method.endsWith("/requestApproval") ? declinedApproval(method) : unansweredResult(method)
  return result === undefined ? codexRefusal(id, LOST_REQUEST) : codexResponse(id, result)
}

const declinedApproval = (method: string): object =>
  method === "item/permissions/requestApproval" ? { permissions: {}, scope: "turn" } : { decision: "decline" }

/** An item of which only the first fields are known. An incomplete list of changes counts as unknown. */
export const lostItem = (item: JsonObject): JsonObject => ({
  ...item,
  changes: undefined,
  aggregatedOutput: LOST_RESULT
})

/** Codex's id of a request, which the response returns unchanged. */
export type CodexRequestId = string | number

const line = (value: object): string => `${JSON.stringify(value)}\n`

export const isRequestId = (id: unknown): id is CodexRequestId =>
  typeof id === "string" || typeof id === "number"

export const codexRequest = (id: CodexRequestId, method: string, params: object): string =>
  line({ method, id, params })

export const codexNotification = (method: string): string => line({ method })

export const codexResponse = (id: CodexRequestId, result: object): string => line({ id, result })

const METHOD_NOT_FOUND = -32_601

/** Error response to an unsupported request. */
export const codexRefusal = (id: CodexRequestId, message: string): string =>
  line({ id, error: { code: METHOD_NOT_FOUND, message } })

/** A user message as the input of a turn. Codex reads the images itself. */
export const turnInput = (text: string, images: ReadonlyArray<RunImage> = []): ReadonlyArray<object> => [
  { type: "text", text, text_elements: [] },
  ...images.map(({ path }) => ({ type: "localImage", path }))
]
