/**
 * What is open in one run: tool calls without a result, streamed messages that are not completed, requests to people, and work in the background.
 *
 * A turn ends the agent's own calls. A call of a sub-agent continues, and so does a call that others belong to: open calls, or background work. A
 * message that a cancel or a broken stream interrupts is completed too.
 *
 * Guarantees: each step costs the same however much is open; the end of a turn costs what it closes. Each request is answered and withdrawn at most
 * once, and each work starts once and ends once.
 * Bounds: of a message's text the first `MAX_CHARACTERS` are stored and the rest is counted; the deltas have the whole text. One work more than
 * `MAX_OUTSTANDING` is reported, at which the run machine ends the run, and no more is followed.
 */
import { draft, type DraftOf, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import { SparseMap } from "@corral/domain/run/SparseMap"
import { MAX_OUTSTANDING } from "@corral/domain/run/Work"
import { Buffer } from "node:buffer"

interface OpenCall {
  readonly tool: string
  /** The call that started the sub-agent whose call this is. */
  readonly parentCallId?: string
}

interface Placed {
  readonly call: OpenCall
  readonly place: number
}

/** Tool calls of a run without a result, and those of them that the end of a turn closes. */
export class OpenCalls {
  readonly #calls = new SparseMap<string, Placed>()
  /** Number of open calls and works that belong to a call, which need not be open itself. */
  readonly #dependents = new SparseMap<string, number>()
  /** Own calls without dependents: the end of the turn closes them. */
  readonly #closable = new SparseMap<string, true>()
  #places = 0

  get(callId: string): OpenCall | undefined {
    return this.#calls.get(callId)?.call
  }

  get ids(): ReadonlyArray<string> {
    return this.#calls.keys()
  }

  /** The calls that the end of a turn closes, in the order in which they were opened. */
  get closable(): ReadonlyArray<string> {
    const placeOf = (callId: string): number => this.#calls.get(callId)?.place ?? 0
    return this.#closable.keys().toSorted((a, b) => placeOf(a) - placeOf(b))
  }

  /** Opens a call. Returns false if it is open. */
  open(callId: string, call: OpenCall): boolean {
    if (this.#calls.has(callId)) return false
    this.#calls.set(callId, { call, place: this.#places++ })
    if (call.parentCallId !== undefined) this.addDependent(call.parentCallId)
    else if (!this.#dependents.has(callId)) this.#closable.set(callId, true)
    return true
  }

  /** Closes a call, and returns it. */
  close(callId: string): OpenCall | undefined {
    const placed = this.#calls.get(callId)
    if (placed === undefined) return undefined
    this.#calls.delete(callId)
    this.#closable.delete(callId)
    const { parentCallId } = placed.call
    if (parentCallId !== undefined) this.removeDependent(parentCallId)
    return placed.call
  }

  /** Work in the background has started that belongs to a call. */
  addDependent(callId: string): void {
    this.#dependents.set(callId, (this.#dependents.get(callId) ?? 0) + 1)
    this.#closable.delete(callId)
  }

  /** That work has ended. */
  removeDependent(callId: string): void {
    const rest = (this.#dependents.get(callId) ?? 1) - 1
    if (rest > 0) return void this.#dependents.set(callId, rest)
    this.#dependents.delete(callId)
    const placed = this.#calls.get(callId)
    if (placed !== undefined && placed.call.parentCallId === undefined) this.#closable.set(callId, true)
  }
}

type Delta = PayloadOf<"run.message.delta">

/** More than one event can hold: the rest of a completed text would be cut. */
const MAX_CHARACTERS = 200_000
/** Maximum number of open messages. A runtime with more does not reuse ids correctly. */
const MAX_OPEN = 1_000

interface OpenMessage {
  readonly first: Delta
  text: string
  /** Streamed bytes that are not in `text`. */
  omitted: number
  /** Streamed UTF-16 units, in `text` or not. */
  length: number
}

/** Streamed messages of a run that are not completed yet. */
export class OpenMessages {
  readonly #open = new Map<string, OpenMessage>()
  /** The message of the last delta: most deltas continue it. */
  #lastMessage: OpenMessage | undefined

  /** Adds a delta. The hot path. */
  streamed(delta: Delta): void {
    const message =
      this.#lastMessage?.first.messageId === delta.messageId ? this.#lastMessage : this.#find(delta)
    if (message.text.length < MAX_CHARACTERS) message.text += delta.text
    else message.omitted += Buffer.byteLength(delta.text)
    message.length += delta.text.length
  }

  #find(delta: Delta): OpenMessage {
    let message = this.#open.get(delta.messageId)
    if (message === undefined) {
      message = { first: delta, text: "", omitted: 0, length: 0 }
      if (this.#open.size < MAX_OPEN) this.#open.set(delta.messageId, message)
    }
    this.#lastMessage = message
    return message
  }

  /**
   * Completes a message with its whole text. Returns the end of the text that was not streamed, or an empty text if the stream differs;
   * `undefined` if nothing was streamed.
   */
  completed(messageId: string, whole: string): string | undefined {
    const message = this.#open.get(messageId)
    this.#open.delete(messageId)
    if (this.#lastMessage?.first.messageId === messageId) this.#lastMessage = undefined
    if (message === undefined) return undefined
    return whole.startsWith(message.text) ? whole.slice(message.length) : ""
  }

  /** Completes the open messages of the agent itself, not of its sub-agents, with their streamed text. */
  takeOwn(): ReadonlyArray<DraftOf<"run.message.completed">> {
    return this.#take(({ first }) => first.parentCallId === undefined)
  }

  /** Completes the open messages whose id starts with `prefix` with their streamed text. */
  takeAll(prefix = ""): ReadonlyArray<DraftOf<"run.message.completed">> {
    return this.#take(({ first }) => first.messageId.startsWith(prefix))
  }

  #take(isTaken: (message: OpenMessage) => boolean): ReadonlyArray<DraftOf<"run.message.completed">> {
    if (this.#open.size === 0) return []
    const messages = [...this.#open.values()].filter(isTaken)
    for (const { first } of messages) this.#open.delete(first.messageId)
    this.#lastMessage = undefined
    return messages.map(({ first, omitted, text }) => {
      const cut =
        omitted === 0 ? {} : { truncated: true as const, totalBytes: Buffer.byteLength(text) + omitted }
      return draft("run.message.completed", { ...first, role: "assistant", text, ...cut })
    })
  }
}

/** Keys of what a runtime requests in one run: approvals, or questions. */
export class RequestKeys {
  readonly #states = new SparseMap<string, "open" | "answered" | "withdrawn">()

  /** Records a request. Returns false if the key was used before. */
  open(key: string): boolean {
    if (this.#states.has(key)) return false
    this.#states.set(key, "open")
    return true
  }

  /** Records the answer. Returns false if the request is not open. */
  answer(key: string): boolean {
    return this.#close(key, "answered")
  }

  /** Records that the runtime no longer waits. Returns false if the request is not open. */
  withdraw(key: string): boolean {
    return this.#close(key, "withdrawn")
  }

  #close(key: string, state: "answered" | "withdrawn"): boolean {
    if (this.#states.get(key) !== "open") return false
    this.#states.set(key, state)
    return true
  }
}

export type WorkOutput = Extract<AdapterOutput, { readonly _tag: "Work" }>
export type StartedWork = Pick<WorkOutput, "id" | "kind" | "title" | "parentCallId">
export type WorkEnding = Exclude<WorkOutput["state"], "running">

/** Work in the background that a runtime reported: each work starts once and ends once. */
export class OutstandingWorks {
  readonly #works = new SparseMap<string, StartedWork>()

  get ids(): ReadonlyArray<string> {
    return this.#works.keys()
  }

  get isEmpty(): boolean {
    return this.#works.size === 0
  }

  has(id: string): boolean {
    return this.#works.has(id)
  }

  /** The output of the start; `undefined` if the work is outstanding. */
  start(work: StartedWork): WorkOutput | undefined {
    if (this.#works.has(work.id) || this.#works.size > MAX_OUTSTANDING) return undefined
    this.#works.set(work.id, work)
    return { _tag: "Work", ...work, state: "running" }
  }

  /** The output of the end; `undefined` if the work is not outstanding. */
  end(id: string, state: WorkEnding, continues: boolean): WorkOutput | undefined {
    const work = this.#works.get(id)
    if (work === undefined) return undefined
    this.#works.delete(id)
    return { _tag: "Work", ...work, state, ...(continues ? { continues } : {}) }
  }
}
