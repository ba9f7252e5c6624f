/** Corral's requests to the app-server: their lines, and what each waits for. */
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"
import { defined, type JsonObject } from "../text/Json.ts"
import { codexRequest, turnInput, type CodexRequestId } from "./Frames.ts"
import { approvalPolicyOf, collaborationOf, sandboxOf } from "./Modes.ts"
import type { Threads } from "./Threads.ts"

const clientInfo = { name: "corral", title: "Corral", version: "1" }
/** The collaboration modes are experimental, and so is the plan mode. */
const capabilities = { experimentalApi: true, requestAttestation: false }

/** Purpose of a request. `end`: how the turn of a thread ended, whose end was not reported; `status` is the thread's. */
export type RequestPurpose =
  | { readonly _tag: "initialize" | "thread" | "turn" }
  | { readonly _tag: "end"; readonly thread: string; readonly turn: string; readonly status: unknown }

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
