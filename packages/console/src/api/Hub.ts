/**
 * Typed client of the Hub: groups and endpoints of `HubApi`, with its types and without its code.
 *
 * Authenticates by the browser's cookie. Writes repeat the CSRF token. *Does not:* validate JSON; the Hub does.
 */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { HubApi } from "@corral/domain/hub-api/HubApi"
import type { Effect } from "effect"
import type { HttpClientResponse } from "effect/http"
import type { HttpApiClient } from "effect/http-api"
import { hubRoutes } from "./routes.ts"

type Body<A> = A extends { readonly body: infer B; readonly headers: unknown } ? B : A
/** Declared response of an endpoint, out of the response modes of Effect's client. */
type Declared<A> = Exclude<
  A,
  HttpClientResponse.HttpClientResponse | readonly [unknown, HttpClientResponse.HttpClientResponse]
>
type Answer<F> = F extends (...of: never) => Effect.Effect<infer A, infer _E, infer _R>
  ? Body<Declared<A>>
  : never
type RequestOf<F> = F extends (request: infer R) => unknown
  ? Omit<Extract<R, object>, "responseMode">
  : unknown

/** Call of an endpoint. An endpoint without parameters takes no request. */
type Call<F> =
  unknown extends RequestOf<F>
    ? () => Promise<Answer<F>>
    : {} extends RequestOf<F>
      ? (request?: RequestOf<F> & { readonly signal?: AbortSignal }) => Promise<Answer<F>>
      : (request: RequestOf<F> & { readonly signal?: AbortSignal }) => Promise<Answer<F>>

type Contract = HttpApiClient.ForApi<typeof HubApi>
export type HubEndpoints = {
  readonly [G in keyof Contract]: { readonly [E in keyof Contract[G]]: Call<Contract[G][E]> }
}

/** Error response of the Hub. `unreachable`: the Hub did not respond. */
export class HubRefusal extends Error {
  readonly code: ErrorCode | "unreachable"
  readonly requestId: string | undefined
  readonly details: Readonly<Record<string, unknown>>
  constructor(code: ErrorCode | "unreachable", message: string, requestId?: string, details = {}) {
    super(message)
    this.name = "HubRefusal"
    this.code = code
    this.requestId = requestId
    this.details = details
  }
}

/** CSRF token of the sign-in, from its cookie. */
const csrfToken = (): string => {
  const found = document.cookie.split("; ").find((pair) => pair.startsWith("__Host-corral-csrf="))
  return decodeURIComponent(found?.slice(found.indexOf("=") + 1) ?? "")
}

interface AnyRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly payload?: unknown
  readonly signal?: AbortSignal
}

const definedEntries = (values: Readonly<Record<string, unknown>> = {}): ReadonlyArray<[string, string]> =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))

/** URL of an endpoint. */
export const addressOf = (
  path: string,
  { params = {}, query }: Pick<AnyRequest, "params" | "query"> = {}
) => {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""))
  const search = new URLSearchParams(definedEntries(query).map(([name, value]) => [name, value])).toString()
  return search === "" ? filled : `${filled}?${search}`
}

const refusalFromResponse = (text: string, status: number): HubRefusal => {
  try {
    const { code, details, message, requestId } = JSON.parse(text)
    if (typeof code === "string" && typeof message === "string")
      return new HubRefusal(code as ErrorCode, message, requestId, details)
  } catch {
    // Not an error object: a proxy may have responded.
  }
  return new HubRefusal("unreachable", `The Hub responded with status ${status} and no error message.`)
}

const send = async (method: string, path: string, request: AnyRequest = {}): Promise<unknown> => {
  const { headers, payload, signal } = request
  const writes = method !== "GET"
  const response = await fetch(addressOf(path, request), {
    method,
    headers: [
      ...definedEntries(headers),
      ...(payload === undefined ? [] : [["content-type", "application/json"] as [string, string]]),
      ...(writes ? [["x-csrf-token", csrfToken()] as [string, string]] : [])
    ],
    ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
    ...(signal === undefined ? {} : { signal })
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error
    throw new HubRefusal("unreachable", "Can't reach the Hub.")
  })
  const text = await response.text()
  if (!response.ok) throw refusalFromResponse(text, response.status)
  return text === "" ? undefined : JSON.parse(text)
}

const calls = Object.fromEntries(
  Object.entries(hubRoutes).map(([group, endpoints]) => [
    group,
    Object.fromEntries(
      Object.entries(endpoints).map(([name, [method, path]]) => [
        name,
        (request?: AnyRequest) => send(method, path, request)
      ])
    )
  ])
)

// `hubRoutes` is generated from the contract, so groups and endpoints match `HubEndpoints`.
export const hubApi = calls as unknown as HubEndpoints
