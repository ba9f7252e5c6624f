/**
 * A provider of sign-ins on loopback whose refresh tokens can be used once, in front of a model server. A refresh token that is used again ends the
 * sign-in, as at real providers.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"
import { RIGHT_KEY } from "./FakeModels.ts"

const HOUR_S = 3_600

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** Tokens of a sign-in, as Codex stores them. The programs read the claims, and check no signature. */
export interface SignInTokens {
  readonly id_token: string
  readonly access_token: string
  readonly refresh_token: string
}

const tokensOf = (generation: number): SignInTokens => {
  const claims = {
    exp: Math.floor(Date.now() / 1_000) + HOUR_S,
    jti: String(generation),
    email: "owner@example.test",
    "https://api.openai.com/auth": {
      chatgpt_plan_type: "plus",
      chatgpt_account_id: "account",
      chatgpt_user_id: "user"
    }
  }
  const token = `${encoded({ alg: "none", typ: "JWT" })}.${encoded(claims)}.${encoded("none")}`
  return { id_token: token, access_token: token, refresh_token: `refresh-${generation}` }
}

const unauthorized = (response: ServerResponse, code: string): void =>
  void response
    .writeHead(401, { "content-type": "application/json" })
    .end(JSON.stringify({ error: { code, message: code } }))

export class SignInProvider {
  #generation = 1
  #current = tokensOf(1)
  /** Whether the current access token is still good. */
  #isGood = true
  readonly #server: Server
  readonly #models: () => string
  /** Refresh tokens that were used a second time. */
  readonly reused: Array<string> = []
  renewals = 0

  /** `models`: address of the model server. */
  constructor(models: () => string) {
    this.#models = models
    this.#server = createServer((incoming, response) => void this.#serve(incoming, response))
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve)
    })
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  get host(): string {
    const { port } = this.#server.address() as AddressInfo
    return `127.0.0.1:${port}`
  }

  /** What the provider has given out last. */
  get tokens(): SignInTokens {
    return this.#current
  }

  /** From now on the current access token is refused. */
  expire(): void {
    this.#isGood = false
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.url === "/token") return this.#renew(await json(incoming), response)
    const isCurrent = incoming.headers.authorization === `Bearer ${this.#current.access_token}`
    if (!isCurrent || !this.#isGood) {
      incoming.resume()
      return unauthorized(response, "token_expired")
    }
    const headers = { ...incoming.headers, authorization: `Bearer ${RIGHT_KEY}` }
    const forwarded = request(
      new URL(incoming.url ?? "/", this.#models()),
      { method: incoming.method ?? "GET", headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      }
    )
    forwarded.once("error", () => response.destroy())
    incoming.pipe(forwarded)
  }

  #renew(body: unknown, response: ServerResponse): void {
    const { refresh_token: used } = Object(body) as { readonly refresh_token?: string }
    if (used !== this.#current.refresh_token) {
      this.reused.push(String(used))
      return unauthorized(response, "refresh_token_reused")
    }
    this.renewals++
    this.#current = tokensOf(++this.#generation)
    this.#isGood = true
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(this.#current))
  }
}
