/** Requests to a server of OpenCode, as lines for the bridge (`runtime/opencode-bridge.mjs`). */
import type { RunImage } from "@corral/domain/run/RuntimeAdapter"

interface BridgeRequest {
  readonly id: string
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: object
}

const line = (request: BridgeRequest): string => `${JSON.stringify(request)}\n`

const post = (id: string, path: string, body: object = {}): string => line({ id, method: "POST", path, body })

/** Ids of the requests whose responses matter. */
export const SESSION_REQUEST = "session"
export const PROMPT_REQUEST = "prompt"

/** Opens a conversation: a new one, or an earlier one. */
export const openSession = (resumeSessionId: string | undefined): string =>
  resumeSessionId === undefined
    ? post(SESSION_REQUEST, "/session")
    : line({ id: SESSION_REQUEST, method: "GET", path: `/session/${encodeURIComponent(resumeSessionId)}` })

/** `provider/model`; the model's own name may contain more slashes. */
const modelOf = (model: string | undefined): object => {
  const [, providerID, modelID] = /^([^/]+)\/(.+)$/s.exec(model ?? "") ?? []
  return providerID === undefined ? {} : { model: { providerID, modelID } }
}

export interface PromptMessage {
  readonly text: string
  readonly images?: ReadonlyArray<RunImage> | undefined
  readonly model?: string | undefined
  readonly agent: string
}

export const sendPrompt = (session: string, { agent, images = [], model, text }: PromptMessage): string =>
  post(PROMPT_REQUEST, `/session/${encodeURIComponent(session)}/prompt_async`, {
    agent,
    ...modelOf(model),
    parts: [
      { type: "text", text },
      ...images.map(({ base64, mediaType, path }) => ({
        type: "file",
        mime: mediaType,
        filename: path.slice(path.lastIndexOf("/") + 1),
        url: `data:${mediaType};base64,${base64}`
      }))
    ]
  })

export const abortSession = (session: string): string =>
  post("abort", `/session/${encodeURIComponent(session)}/abort`)

/** Allows one call. OpenCode does not remember it: only the Edge remembers decisions. */
export const allowPermission = (key: string): string =>
  post("permission", `/permission/${encodeURIComponent(key)}/reply`, { reply: "once" })

/** Rejects one call. With a message the model continues; without one its turn ends. */
export const rejectPermission = (key: string, message: string | undefined): string =>
  post("permission", `/permission/${encodeURIComponent(key)}/reply`, {
    reply: "reject",
    ...(message === undefined ? {} : { message })
  })

/** The chosen texts of each question, in their order. */
export const answerQuestion = (key: string, answers: ReadonlyArray<ReadonlyArray<string>>): string =>
  post("question", `/question/${encodeURIComponent(key)}/reply`, { answers })

/** Rejects a question. The turn ends. */
export const rejectQuestion = (key: string): string =>
  post("question", `/question/${encodeURIComponent(key)}/reject`)
