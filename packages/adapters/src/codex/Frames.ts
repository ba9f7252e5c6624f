/**
 * The lines that a Codex app-server reads: JSON-RPC without its version key, one object a line.
 *
 * Ids count from 0 on each side: an id of ours and one of theirs are never compared.
 */

/** The runtime's own id of a request; it goes back as it came. */
export type CodexRequestId = string | number

const line = (value: object): string => `${JSON.stringify(value)}\n`

export const codexRequest = (id: number, method: string, params: object): string =>
  line({ method, id, params })

export const codexNotification = (method: string): string => line({ method })

export const codexResponse = (id: CodexRequestId, result: object): string => line({ id, result })

const METHOD_NOT_FOUND = -32_601

/** The answer to a question that the host has no answer to. */
export const codexRefusal = (id: CodexRequestId, message: string): string =>
  line({ id, error: { code: METHOD_NOT_FOUND, message } })

/** A person's words, as the input of a turn. */
export const textInput = (text: string): ReadonlyArray<object> => [{ type: "text", text, text_elements: [] }]
