/**
 * HTTP client of a Hub for tests. Checks every response against the published contract: standard headers, schema, request id, and no token. Also
 * uploads of files for messages, and sign-ins of the command.
 */
import { assert } from "@effect/vitest"
import type { UserId } from "@corral/domain/identity/Ids"
import type { Attachment } from "@corral/domain/session/Attachment"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Answer, contractOf } from "../http/Contract.ts"

export { type Answer, codeOf } from "../http/Contract.ts"

export interface HubRequestOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** `null` sends no token. */
  readonly token?: string | null
}

const breaches = contractOf("hub")

/** Assertions about every response of a Hub. */
export const assertAnswer = (method: string, target: string, answer: Answer): void => {
  const { body, headers, status, text } = answer
  const what = `${method} ${target} ${status} ${text.slice(0, 200)}`
  assert.strictEqual(headers.get("x-contract-version"), "2026-06-09", what)
  assert.match(headers.get("x-request-id") ?? "", /^[A-Za-z0-9._-]{1,128}$/, what)
  assert.isNull(headers.get("access-control-allow-origin"), what)
  if (text === "") assert.include([200, 204, 302], status, what)
  else
    assert.match(
      headers.get("content-type") ?? "",
      status < 400 && headers.has("content-disposition") ? /^[a-z]+\/[a-z-]+/ : /^application\/json/,
      what
    )
  if (typeof body === "object" && body !== null && "requestId" in body)
    assert.strictEqual(body.requestId, headers.get("x-request-id"), what)
  assert.deepStrictEqual(breaches(method, target.split("?", 1)[0] ?? "", status, body), [], what)
}

const isSentAsIs = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === "string" || body instanceof Uint8Array

/** The body of a file is its text. */
const bodyOf = ({ headers }: Response, text: string): unknown =>
  text === "" ? undefined : headers.has("content-disposition") ? text : JSON.parse(text)

/** The stream has no end, so the caller reads it. */
const isLive = ({ headers }: Response): boolean => headers.get("content-type") === "text/event-stream"

export class HubClient {
  /** Check of every answer; `undefined` while Hubs of another release answer. */
  static check: typeof assertAnswer | undefined = assertAnswer
  readonly url: string
  readonly token: string | null
  /** User of the sign-in. */
  readonly userId: UserId | undefined

  constructor(url: string, token: string | null, userId?: UserId) {
    this.url = url
    this.token = token
    this.userId = userId
  }

  /** `Body` is what the contract says of the answer, which has been checked. */
  async ask<Body = unknown>(
    method: string,
    target: string,
    { body, headers = {}, token = this.token }: HubRequestOptions = {}
  ): Promise<Answer<Body>> {
    const response = await fetch(this.url + target, {
      method,
      redirect: "manual",
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: isSentAsIs(body) ? body : JSON.stringify(body) })
    })
    const text = isLive(response) ? "" : await response.text()
    if (isLive(response)) await response.body?.cancel()
    const answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: bodyOf(response, text) as Body
    }
    HubClient.check?.(method, target, answer)
    if (token !== null) assert.notInclude(text, token)
    return answer
  }
}

/** An image of one pixel. */
export const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64"
)

export const upload = (
  client: HubClient,
  name: string,
  mediaType: string,
  content: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {}
) =>
  client.ask<Attachment>("POST", `/client/uploads?name=${encodeURIComponent(name)}`, {
    body: content,
    headers: { "content-type": mediaType, ...headers }
  })

/** Stores the sign-in of a user in a home of the command. `token`: instead of the client's. */
export const storeSignIn = (home: string, { token, url, userId }: HubClient, other = token): void =>
  writeFileSync(join(home, "hub.json"), JSON.stringify({ hub: url, userId, name: "Person", token: other }), {
    mode: 0o600
  })
