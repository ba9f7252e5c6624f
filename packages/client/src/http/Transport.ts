/**
 * Requests to one service with `fetch`: address, authentication, idempotency keys, timeouts and errors. The same for calls and event
 * streams, with and without Effect.
 *
 * Guarantees: the token is sent in the `Authorization` header only, and only to `url`: redirects are not followed, and a request to this machine passes
 * no proxy. Each write has an
 * `Idempotency-Key`. Every failure is a `CorralError`, except an abort by the caller and what `token` or `headers` throws.
 * Does not: repeat a request. A write that is repeated with the same key takes effect once.
 */
import { directOptions } from "@corral/domain/http/DirectConnection"
import { CorralError, errorOfResponse } from "./CorralError.ts"

export type HeaderValues = Readonly<Record<string, string>>

export interface TransportOptions {
  /** Address of the service, without a trailing slash; "" for the origin of the page. */
  readonly url: string
  /** Session token, API key, or the token of an Edge. Without one, a browser sends its cookie to its own origin. */
  readonly token?: string | (() => string | Promise<string>)
  /** Further headers. */
  readonly headers?: (method: string) => HeaderValues | Promise<HeaderValues>
  /** Longest time until the head of a response, 75 s by default: longer than the longest wait of an endpoint. A request may have a shorter one. */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
}

export interface TransportRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers?: HeaderValues
  /** Body as JSON. A `Blob` is sent as it is, with its type. */
  readonly payload?: unknown
  readonly signal?: AbortSignal | undefined
  /** Longest time until the head of this response. */
  readonly timeoutMs?: number | undefined
}

const DEFAULT_TIMEOUT_MS = 75_000

const unreachable = (cause: unknown): CorralError =>
  new CorralError("unreachable", {
    message: "Can't reach the server. Check the URL and that the service is running.",
    cause
  })

export class Transport {
  readonly options: TransportOptions

  constructor(options: TransportOptions) {
    this.options = options
  }

  /** The response, if it is a success. */
  send({ headers, method, path, payload, signal, timeoutMs }: TransportRequest): Promise<Response> {
    const isFile = payload instanceof Blob
    const init: RequestInit = {
      method,
      headers: {
        // `fetch` adds the type of a file.
        ...(payload === undefined || isFile ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(payload === undefined ? {} : { body: isFile ? payload : JSON.stringify(payload) }),
      signal: signal ?? null
    }
    return this.fetch(this.options.url + path, init, timeoutMs)
  }

  /** `fetch` of an address of the service. Fails if the response is not a success. */
  async fetch(address: string | URL, init: RequestInit, timeoutMs?: number): Promise<Response> {
    const headers = await this.headersOf(init.method ?? "GET", init.headers)
    const response = await this.head(address, { ...init, headers, redirect: "manual" }, timeoutMs)
    if (response.ok) return response
    throw errorOfResponse(response.status, await response.text().catch(() => ""))
  }

  /** Headers of every request, for a WebSocket. */
  async authorization(): Promise<HeaderValues> {
    const { token } = this.options
    if (token === undefined) return {}
    return { authorization: `Bearer ${typeof token === "string" ? token : await token()}` }
  }

  private async headersOf(method: string, initial: RequestInit["headers"]): Promise<Headers> {
    const headers = new Headers(initial)
    const add = (more: HeaderValues) => {
      for (const [name, value] of Object.entries(more)) headers.set(name, value)
    }
    add(await this.authorization())
    add((await this.options.headers?.(method)) ?? {})
    if (method !== "GET" && method !== "HEAD" && !headers.has("idempotency-key"))
      headers.set("idempotency-key", newIdempotencyKey())
    return headers
  }

  private async head(
    address: string | URL,
    init: RequestInit,
    ownTimeoutMs = Number.POSITIVE_INFINITY
  ): Promise<Response> {
    const { fetch: send = fetch, timeoutMs = DEFAULT_TIMEOUT_MS } = this.options
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), Math.min(timeoutMs, ownTimeoutMs))
    const signal = init.signal ? AbortSignal.any([init.signal, timeout.signal]) : timeout.signal
    try {
      return await send(address, { ...init, ...directOptions(address), signal })
    } catch (cause) {
      if (init.signal?.aborted === true) throw init.signal.reason
      throw unreachable(cause)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Random key of one write. Repeat a write with the same key. `crypto.randomUUID` is missing on pages without HTTPS. */
export const newIdempotencyKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    ""
  )
