/**
 * A browser's side of a preview, byte-true: what it sends is what the test says, and its cookies are its own.
 */
import { assert } from "@effect/vitest"
import { type IncomingHttpHeaders, request, type IncomingMessage } from "node:http"
import { WebSocket } from "ws"
import { within } from "@corral/testing/time/Until"

export interface Seen {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Visit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Sends one request to that origin; gives the answer as it begins. */
export const begin = (
  origin: string,
  path: string,
  { method = "GET", headers = {}, body }: Visit = {}
): Promise<IncomingMessage> => {
  const { hostname, port } = new URL(origin)
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, resolve)
    sent.on("error", reject)
    sent.end(body)
  })
  return within(answer, 15_000, `${method} ${path}`)
}

const textOf = async (answer: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const part of answer.setEncoding("utf8")) text += part
  return text
}

/** Sends one request without cookies; gives the whole answer. */
export const visit = async (origin: string, path: string, how: Visit = {}): Promise<Seen> => {
  const answer = await begin(origin, path, how)
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: await textOf(answer) }
}

/** The error code of a refusal. */
export const refusalOf = ({ text }: Seen): unknown => (JSON.parse(text) as { readonly code?: unknown }).code

export class Visitor {
  readonly origin: string
  readonly cookie: string

  constructor(origin: string, cookie: string) {
    this.origin = origin
    this.cookie = cookie
  }

  /** Opens a preview by the address that the Edge gave. */
  static async enter(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Visitor> {
    const { origin, pathname, search } = new URL(url)
    const entered = await visit(origin, pathname + search, { headers })
    assert.deepStrictEqual([entered.status, entered.headers["refresh"]], [200, "0; url=/"], entered.text)
    assert.strictEqual(entered.headers["cache-control"], "no-store")
    const [setCookie = "", ...more] = entered.headers["set-cookie"] ?? []
    assert.deepStrictEqual(more, [])
    assert.match(setCookie, /^corral_prv_[0-9a-f]{16}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    return new Visitor(origin, setCookie.split(";")[0] ?? "")
  }

  /** The cookie, and what else the test sends along with it. */
  cookies(more = ""): string {
    return more === "" ? this.cookie : `${this.cookie}; ${more}`
  }

  begin(path: string, how: Visit = {}): Promise<IncomingMessage> {
    return begin(this.origin, path, { ...how, headers: { cookie: this.cookie, ...how.headers } })
  }

  async visit(path: string, how: Visit = {}): Promise<Seen> {
    const seen = await visit(this.origin, path, { ...how, headers: { cookie: this.cookie, ...how.headers } })
    assert.strictEqual(seen.headers["x-frame-options"], "DENY")
    assert.strictEqual(seen.headers["cross-origin-opener-policy"], "same-origin")
    assert.strictEqual(seen.headers["cross-origin-resource-policy"], "same-origin")
    assert.strictEqual(seen.headers["x-content-type-options"], "nosniff")
    assert.match(
      String(seen.headers["content-security-policy"]),
      /^default-src 'self'; .*frame-ancestors 'none'$/
    )
    return seen
  }

  /** Opens a WebSocket as a page of the preview would. */
  async socket(path: string, headers: Readonly<Record<string, string>> = {}): Promise<WebSocket> {
    const socket = new WebSocket(this.origin.replace("http", "ws") + path, {
      headers: { cookie: this.cookie, origin: this.origin, ...headers }
    })
    await within(
      new Promise<void>((resolve, reject) => {
        socket.once("open", () => resolve())
        socket.once("error", reject)
      }),
      10_000,
      "the WebSocket"
    )
    return socket
  }
}
