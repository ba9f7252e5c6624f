/**
 * HTTP client of an Edge for tests. Checks every response against the published contract: standard headers, schema and request id. Also
 * a subscriber of `/v1/events` over a real socket, which collects every envelope and lets a test wait for one.
 */
import type { Envelope } from "@corral/domain/run/RunEvent"
import { WebSocket } from "ws"
import { assert } from "@effect/vitest"
import { Approval } from "@corral/domain/approval/Approval"
import { Grant } from "@corral/domain/approval/Grant"
import { InputRequest } from "@corral/domain/input/InputRequest"
import { Run, type RunMode } from "@corral/domain/run/Run"
import { Schema } from "effect"
import { within } from "../time/Until.ts"
import { type Answer, contractOf } from "../http/Contract.ts"

interface EventQuery {
  readonly runId?: string
  readonly after?: number
  /** Stores neither frames nor payloads, for many readers of long logs. */
  readonly light?: boolean
}

interface ClosedSocket {
  readonly code: number
  readonly reason: string
}

interface Waiter {
  readonly wanted: (event: Envelope) => boolean
  readonly resolve: (event: Envelope) => void
}

export class EventReader {
  readonly events: Array<Envelope> = []
  /** Received frames. */
  readonly frames: Array<string> = []
  private readonly socket: WebSocket
  private readonly closing: Promise<ClosedSocket>
  private waiters: ReadonlyArray<Waiter> = []

  static async open(
    url: string,
    token: string,
    { after, light = false, runId }: EventQuery
  ): Promise<EventReader> {
    const query = new URLSearchParams({
      ...(runId === undefined ? {} : { runId }),
      ...(after === undefined ? {} : { after: String(after) })
    })
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1/events?${query}`, {
      headers: { authorization: `Bearer ${token}` }
    })
    // Before it is open, because the first frames arrive with the handshake's response.
    const reader = new EventReader(socket, light)
    const open = new Promise<void>((resolve, reject) => {
      socket.once("open", resolve)
      socket.once("error", reject)
    })
    await within(open, 10_000, "the event stream")
    return reader
  }

  constructor(socket: WebSocket, light: boolean) {
    this.socket = socket
    socket.on("error", () => undefined)
    socket.on("message", (data: Buffer) => {
      const text = data.toString("utf8")
      // The Edge sends envelopes and nothing else; tests look closer.
      const event = JSON.parse(text) as Envelope
      if (!light) this.frames.push(text)
      this.take(light ? { ...event, payload: {} } : event)
    })
    this.closing = new Promise((resolve) => {
      socket.once("close", (code, reason) => resolve({ code, reason: reason.toString("utf8") }))
    })
  }

  /** The first matching event, including past ones. */
  event(wanted: string | ((event: Envelope) => boolean), millis = 15_000): Promise<Envelope> {
    const fits = typeof wanted === "string" ? (event: Envelope) => event.type === wanted : wanted
    const existing = this.events.find(fits)
    if (existing !== undefined) return Promise.resolve(existing)
    const arrival = new Promise<Envelope>((resolve) => {
      this.waiters = [...this.waiters, { wanted: fits, resolve }]
    })
    const seen = () =>
      this.events
        .slice(-8)
        .map(({ payload, type }) => ("message" in payload ? `${type} (${String(payload["message"])})` : type))
    return within(arrival, millis, `event ${String(wanted)}`).catch((cause: unknown) => {
      throw new Error(`${String(cause)}; last came ${seen().join(", ")}`)
    })
  }

  /** Waits for a message of the assistant with exactly this text. */
  message(text: string, millis?: number): Promise<Envelope> {
    return this.event(
      (event) => event.type === "run.message.completed" && event.payload["text"] === text,
      millis
    )
  }

  count(least: number, millis?: number): Promise<Envelope> {
    return this.event(() => this.events.length >= least, millis)
  }

  /** How the server closes the stream. */
  get ended(): Promise<ClosedSocket> {
    return within(this.closing, 30_000, "the stream's end")
  }

  /** Stops reading from the socket until `resume`. */
  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  /** Drops the connection without a close frame. */
  drop(): void {
    this.socket.terminate()
  }

  private take(event: Envelope): void {
    this.events.push(event)
    const waiting = this.waiters
    if (waiting.length === 0) return
    this.waiters = waiting.filter(({ wanted, resolve }) => {
      if (!wanted(event)) return true
      resolve(event)
      return false
    })
  }
}

export { type Answer, codeOf } from "../http/Contract.ts"

const breaches = contractOf("edge")

/** Response with bytes, or an error. */
export interface Bytes {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
}

export interface EdgeRequest {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** `null` sends no token. */
  readonly token?: string | null
}

const runOf = Schema.decodeUnknownSync(Run)
const approvalOf = Schema.decodeUnknownSync(Approval)
const inputOf = Schema.decodeUnknownSync(InputRequest)
const inputsOf = Schema.decodeUnknownSync(Schema.Struct({ items: Schema.Array(InputRequest) }))
const grantsOf = Schema.decodeUnknownSync(Schema.Struct({ items: Schema.Array(Grant) }))
const approvalsOf = Schema.decodeUnknownSync(Schema.Struct({ items: Schema.Array(Approval) }))

const assertStanding = (what: string, headers: Headers): void => {
  assert.strictEqual(headers.get("x-contract-version"), "2026-06-09", what)
  assert.match(headers.get("x-request-id") ?? "", /^[A-Za-z0-9._-]{1,128}$/, what)
  assert.isNull(headers.get("access-control-allow-origin"), what)
}

/** Assertions about every response of an Edge. */
export const assertEdgeAnswer = (method: string, target: string, answer: Answer): void => {
  const { body, headers, status, text } = answer
  const what = `${method} ${target} ${status} ${text.slice(0, 200)}`
  assertStanding(what, headers)
  if (status === 204) assert.strictEqual(text, "", what)
  else assert.match(headers.get("content-type") ?? "", /^application\/json/, what)
  if (typeof body === "object" && body !== null && "requestId" in body) {
    assert.strictEqual(body.requestId, headers.get("x-request-id"), what)
  }
  assert.deepStrictEqual(breaches(method, target.split("?", 1)[0] ?? "", status, body), [], what)
}

export class EdgeClient {
  readonly url: string
  readonly token: string
  private readonly runIds: Set<string>

  constructor(url: string, token: string, runIds: Set<string>) {
    this.url = url
    this.token = token
    this.runIds = runIds
  }

  async ask(
    method: string,
    target: string,
    { body, headers = {}, token = this.token }: EdgeRequest = {}
  ): Promise<Answer> {
    const response = await this.send(method, target, { body, headers, token })
    const text = await response.text()
    const answer: Answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: text === "" ? undefined : JSON.parse(text)
    }
    assertEdgeAnswer(method, target, answer)
    assert.notInclude(text, this.token)
    return answer
  }

  /** Requests content that is not JSON. */
  async bytes(method: "GET" | "HEAD", target: string, { headers = {} }: EdgeRequest = {}): Promise<Bytes> {
    const response = await this.send(method, target, { headers })
    const bytes = Buffer.from(await response.arrayBuffer())
    assertStanding(`${method} ${target} ${response.status}`, response.headers)
    assert.isFalse(bytes.includes(this.token))
    return { status: response.status, headers: response.headers, bytes }
  }

  private send(
    method: string,
    target: string,
    { body, headers = {}, token = this.token }: EdgeRequest
  ): Promise<Response> {
    return fetch(this.url + target, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
  }

  async create(
    text: string,
    mode: RunMode = "ask",
    more: Readonly<Record<string, unknown>> = {}
  ): Promise<Run> {
    const answer = await this.tryCreate(text, mode, more)
    assert.strictEqual(answer.status, 201, answer.text)
    const run = runOf(answer.body)
    assert.strictEqual(answer.headers.get("location"), `/v1/runs/${run.id}`)
    this.runIds.add(run.id)
    return run
  }

  tryCreate(
    text: string,
    mode: RunMode = "ask",
    more: Readonly<Record<string, unknown>> = {},
    headers: Readonly<Record<string, string>> = {}
  ): Promise<Answer> {
    const body = { workspace: "ws", agentId: "scripted", mode, input: { text }, ...more }
    return this.ask("POST", "/v1/runs", { body, headers })
  }

  async run(id: string): Promise<Run> {
    const answer = await this.ask("GET", `/v1/runs/${id}`)
    assert.strictEqual(answer.status, 200, answer.text)
    return runOf(answer.body)
  }

  cancel(id: string): Promise<Answer> {
    return this.ask("POST", `/v1/runs/${id}/cancel`)
  }

  result(id: string, waitMs = 0): Promise<Answer> {
    return this.ask("GET", `/v1/runs/${id}/result?waitMs=${waitMs}`)
  }

  decide(runId: string, approvalId: string, decision: string, more: object = {}): Promise<Answer> {
    return this.ask("POST", "/v1/permissions/decide", { body: { runId, approvalId, decision, ...more } })
  }

  async approval(id: string): Promise<Approval> {
    const answer = await this.ask("GET", `/v1/permissions/${id}`)
    assert.strictEqual(answer.status, 200, answer.text)
    return approvalOf(answer.body)
  }

  async approvals(query = ""): Promise<ReadonlyArray<Approval>> {
    const answer = await this.ask("GET", `/v1/permissions?limit=200&${query}`)
    assert.strictEqual(answer.status, 200, answer.text)
    return approvalsOf(answer.body).items
  }

  answer(
    runId: string,
    inputId: string,
    answer: object,
    headers: Readonly<Record<string, string>> = {}
  ): Promise<Answer> {
    return this.ask("POST", "/v1/inputs/answer", { body: { runId, inputId, ...answer }, headers })
  }

  async input(id: string): Promise<InputRequest> {
    const answer = await this.ask("GET", `/v1/inputs/${id}`)
    assert.strictEqual(answer.status, 200, answer.text)
    return inputOf(answer.body)
  }

  async inputs(query = ""): Promise<ReadonlyArray<InputRequest>> {
    const answer = await this.ask("GET", `/v1/inputs?limit=200&${query}`)
    assert.strictEqual(answer.status, 200, answer.text)
    return inputsOf(answer.body).items
  }

  finish(id: string): Promise<Answer> {
    return this.ask("POST", `/v1/runs/${id}/finish`)
  }

  async grants(query = ""): Promise<ReadonlyArray<Grant>> {
    const answer = await this.ask("GET", `/v1/grants?${query}`)
    assert.strictEqual(answer.status, 200, answer.text)
    return grantsOf(answer.body).items
  }

  follow(query: EventQuery): Promise<EventReader> {
    return EventReader.open(this.url, this.token, query)
  }

  /** The complete log of a run, once it has ended. */
  async log(runId: string): Promise<EventReader["events"]> {
    const reader = await this.follow({ runId })
    await reader.ended
    return reader.events
  }
}
