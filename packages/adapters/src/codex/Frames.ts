/**
 * Lines that the Codex app-server reads: JSON-RPC without the version field, one object per line. Corral's requests with what each waits for, among them
 * the sandbox and the approval policy of a run; its responses, conversation ids in lines, and what a line over the limit still allows.
 *
 * Ids of each side count from 0: ours and Codex's are never compared.
 */
import type { RunMode } from "@corral/domain/run/Run"
import type { RunImage, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { type JsonObject, defined, textOf } from "../text/Json.ts"
import { LOST_REQUEST, LOST_RESULT } from "../text/JsonLines.ts"
import { unansweredResult } from "./Questions.ts"
import type { Threads } from "./Threads.ts"

/**
 * Codex's sandbox for each mode of a run.
 *
 * With the policy `untrusted`, Codex requests permission for each patch and each command, also for reads. So the Edge decides in every mode that
 * may change something, and records it. An allowed command runs in the sandbox first, and outside of it if it fails there. In read-only modes
 * Codex never requests permission, and its sandbox refuses changes.
 *
 * Codex's sandbox does not start in a confined run, and is turned off: the Edge limits files and the network of the run in the same way, or
 * more strictly.
 */
const sandboxes: Readonly<Record<RunMode, string>> = {
  read_only: "read-only",
  plan: "read-only",
  ask: "workspace-write",
  auto_edit: "workspace-write",
  full_access: "danger-full-access"
}

/** `isConfined`: whether the Edge limits the files and the network of the run. */
const sandboxOf = (mode: RunMode, isConfined = false): string =>
  isConfined ? sandboxes.full_access : sandboxes[mode]

const approvalPolicyOf = (mode: RunMode): "never" | "untrusted" =>
  mode === "read_only" || mode === "plan" ? "never" : "untrusted"

/** How the agent works with the user, as `turn/start` has it. It stays with the conversation. */
interface CollaborationMode {
  readonly mode: "plan" | "default"
  readonly settings: {
    readonly model: string
    readonly reasoning_effort: unknown
    readonly developer_instructions: null
  }
}

/**
 * Codex's collaboration mode: in `plan` the agent asks, and hands over a plan. A conversation that is continued in another mode leaves the plan
 * mode. A new conversation has the default. `thread`: the result of its start, with the model.
 */
const collaborationOf = (
  { mode, resumeSessionId }: Pick<RunStart, "mode" | "resumeSessionId">,
  thread: JsonObject
): CollaborationMode | undefined => {
  const model = textOf(thread["model"])
  if (model === undefined || (mode !== "plan" && resumeSessionId === undefined)) return undefined
  return {
    mode: mode === "plan" ? "plan" : "default",
    settings: { model, reasoning_effort: thread["reasoningEffort"] ?? null, developer_instructions: null }
  }
}

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

const codexRequest = (id: CodexRequestId, method: string, params: object): string =>
  line({ method, id, params })

export const codexNotification = (method: string): string => line({ method })

export const codexResponse = (id: CodexRequestId, result: object): string => line({ id, result })

const METHOD_NOT_FOUND = -32_601

/** Error response to an unsupported request. */
export const codexRefusal = (id: CodexRequestId, message: string): string =>
  line({ id, error: { code: METHOD_NOT_FOUND, message } })

/** A user message as the input of a turn. Codex reads the images itself. */
const turnInput = (text: string, images: ReadonlyArray<RunImage> = []): ReadonlyArray<object> => [
  { type: "text", text, text_elements: [] },
  ...images.map(({ path }) => ({ type: "localImage", path }))
]

const clientInfo = { name: "corral", title: "Corral", version: "1" }
/** The collaboration modes are experimental, and so is the plan mode. */
const capabilities = { experimentalApi: true, requestAttestation: false }

/** Purpose of a request. `end`: how the turn of a thread ended, whose end was not reported; `status` is the thread's. */
export type RequestPurpose =
  | { readonly _tag: "initialize" | "thread" | "turn" }
  | { readonly _tag: "end"; readonly thread: string; readonly turn: string; readonly status: unknown }

/** Corral's requests to the app-server: their lines, and what each waits for. */
export class ClientRequests {
  readonly #start: RunStart
  readonly #threads: Threads
  /** Requests without a response. */
  readonly #pending = new Map<CodexRequestId, RequestPurpose>()
  #nextId = 0
  #opened: JsonObject = {}

  constructor(start: RunStart, threads: Threads) {
    this.#start = start
    this.#threads = threads
  }

  /** Takes the purpose of a request that has its response. */
  take(id: CodexRequestId): RequestPurpose | undefined {
    const purpose = this.#pending.get(id)
    this.#pending.delete(id)
    return purpose
  }

  initialize(): string {
    return this.#request("initialize", { clientInfo, capabilities }, { _tag: "initialize" })
  }

  openThread(): string {
    const { isConfined, mode, model, resumeSessionId, workspacePath } = this.#start
    const settings = {
      cwd: workspacePath,
      approvalPolicy: approvalPolicyOf(mode),
      // A user, regardless of the configuration, which can set a model of Codex to decide.
      approvalsReviewer: "user",
      sandbox: sandboxOf(mode, isConfined),
      ...defined({ model })
    }
    return resumeSessionId === undefined
      ? this.#request("thread/start", settings, { _tag: "thread" })
      : this.#request("thread/resume", { threadId: resumeSessionId, ...settings }, { _tag: "thread" })
  }

  /** Starts the first turn. `opened`: the result of the start of the thread. */
  startFirstTurn(opened: JsonObject): string {
    this.#opened = opened
    return this.startTurn(this.#start.prompt, this.#start.images)
  }

  /** Starts a turn with a user message. */
  startTurn(text: string, images?: RunStart["images"]): string {
    const collaborationMode = collaborationOf(this.#start, this.#opened)
    const params = { input: turnInput(text, images), ...defined({ collaborationMode }) }
    return this.#request(
      "turn/start",
      { threadId: this.#threads.agentThread ?? "", ...params },
      { _tag: "turn" }
    )
  }

  /** Adds a message to the active turn of a thread; empty without such a turn. */
  steer(threadId: string, text: string): string {
    const expectedTurnId = this.#threads.turnOf(threadId)
    if (expectedTurnId === undefined) return ""
    return this.#request("turn/steer", { threadId, expectedTurnId, input: turnInput(text) })
  }

  /** Interrupts all active turns; `undefined` without one. */
  interrupt(): string | undefined {
    const requests = [...this.#threads.active].map(([threadId, turnId]) =>
      this.#request("turn/interrupt", { threadId, turnId })
    )
    return requests.length === 0 ? undefined : requests.join("")
  }

  /** Asks how the active turn of a thread ended; `undefined` without such a turn, or if that was asked. */
  askForEnd(thread: string, status: unknown): string | undefined {
    const turn = this.#threads.turnOf(thread)
    const id = `end-of-${turn}`
    if (turn === undefined || this.#pending.has(id)) return undefined
    this.#pending.set(id, { _tag: "end", thread, turn, status })
    return codexRequest(id, "thread/turns/list", { threadId: thread, limit: 1, itemsView: "notLoaded" })
  }

  #request(method: string, params: object, purpose?: RequestPurpose): string {
    const id = this.#nextId++
    if (purpose !== undefined) this.#pending.set(id, purpose)
    return codexRequest(id, method, params)
  }
}
