/**
 * HTTP client of an Edge for tests. Checks every response against the published contract: standard headers, schema and request id.
 */
import { assert } from "@effect/vitest"
import { Approval } from "@corral/domain/approval/Approval"
import { Grant } from "@corral/domain/approval/Grant"
import { InputRequest } from "@corral/domain/input/InputRequest"
import { Run, type RunMode } from "@corral/domain/run/Run"
import { Schema } from "effect"
import type { Answer } from "../http/Answer.ts"
import { contractOf } from "../http/Contract.ts"
import { type EventQuery, EventReader } from "./EventReader.ts"

export { type Answer, codeOf } from "../http/Answer.ts"

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
