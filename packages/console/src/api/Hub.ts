/**
 * The Hub's HTTP contract as typed calls: groups and endpoints of `HubApi`, with its types and without its code. What is sent and answered is
 * plain JSON; the Hub checks it.
 *
 * Calls are made with the browser's cookie alone, and a write repeats the token that came with it.
 */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { HubApi } from "@corral/domain/hub-api/HubApi"
import type { Effect } from "effect"
import type { HttpClientResponse } from "effect/http"
import type { HttpApiClient } from "effect/http-api"
import { hubRoutes } from "./routes.ts"

type Body<A> = A extends { readonly body: infer B; readonly headers: unknown } ? B : A
/** Of the ways in which a call of Effect's client may answer: what the endpoint declares. */
type Declared<A> = Exclude<
  A,
  HttpClientResponse.HttpClientResponse | readonly [unknown, HttpClientResponse.HttpClientResponse]
>
type Answer<F> = F extends (...of: never) => Effect.Effect<infer A, infer _E, infer _R>
  ? Body<Declared<A>>
  : never
type Asked<F> = F extends (request: infer R) => unknown ? Omit<Extract<R, object>, "responseMode"> : unknown

/** A call without parameters takes nothing. */
type Call<F> =
  unknown extends Asked<F>
    ? () => Promise<Answer<F>>
    : {} extends Asked<F>
      ? (request?: Asked<F> & { readonly signal?: AbortSignal }) => Promise<Answer<F>>
      : (request: Asked<F> & { readonly signal?: AbortSignal }) => Promise<Answer<F>>

type Contract = HttpApiClient.ForApi<typeof HubApi>
export type HubEndpoints = {
  readonly [G in keyof Contract]: { readonly [E in keyof Contract[G]]: Call<Contract[G][E]> }
}

/** The Hub's refusal, as its error object says; `unreachable` where there was no answer of its own. */
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

/** What came with the sign-in, for pages of this origin. */
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

const given = (values: Readonly<Record<string, unknown>> = {}): ReadonlyArray<[string, string]> =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))

/** The address of an endpoint. */
export const addressOf = (
  path: string,
  { params = {}, query }: Pick<AnyRequest, "params" | "query"> = {}
) => {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""))
  const search = new URLSearchParams(given(query).map(([name, value]) => [name, value])).toString()
  return search === "" ? filled : `${filled}?${search}`
}

const refusalOf = (text: string, status: number): HubRefusal => {
  try {
    const { code, details, message, requestId } = JSON.parse(text)
    if (typeof code === "string" && typeof message === "string")
      return new HubRefusal(code as ErrorCode, message, requestId, details)
  } catch {
    // No error object: something stands between.
  }
  return new HubRefusal("unreachable", `The Hub answered ${status} without a reason.`)
}

const ask = async (method: string, path: string, request: AnyRequest = {}): Promise<unknown> => {
  const { headers, payload, signal } = request
  const writes = method !== "GET"
  const response = await fetch(addressOf(path, request), {
    method,
    headers: [
      ...given(headers),
      ...(payload === undefined ? [] : [["content-type", "application/json"] as [string, string]]),
      ...(writes ? [["x-csrf-token", csrfToken()] as [string, string]] : [])
    ],
    ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
    ...(signal === undefined ? {} : { signal })
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error
    throw new HubRefusal("unreachable", "The Hub does not answer.")
  })
  const text = await response.text()
  if (!response.ok) throw refusalOf(text, response.status)
  return text === "" ? undefined : JSON.parse(text)
}

const calls = Object.fromEntries(
  Object.entries(hubRoutes).map(([group, endpoints]) => [
    group,
    Object.fromEntries(
      Object.entries(endpoints).map(([name, [method, path]]) => [
        name,
        (request?: AnyRequest) => ask(method, path, request)
      ])
    )
  ])
)

// The table has the groups and endpoints of the contract, and each call the types of its own.
export const hubApi = calls as unknown as HubEndpoints
