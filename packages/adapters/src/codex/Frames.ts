/**
 * Lines that the Codex app-server reads: JSON-RPC without the version field, one object per line.
 *
 * Ids of each side count from 0: ours and Codex's are never compared.
 */
import type { RunImage } from "@corral/domain/run/RuntimeAdapter"

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
