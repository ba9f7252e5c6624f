/**
 * Calls of an HTTP contract as effects: requests are encoded and responses decoded with the schemas of the contract.
 *
 * The requests are those of `Transport`, with the same authentication, keys and errors as without Effect. Spans and trace headers are those of
 * Effect's `HttpClient`.
 */
import { DEFAULT_LIMIT } from "@corral/domain/http/Page"
import { Context, Effect, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { type HttpApi, HttpApiClient, type HttpApiGroup } from "effect/http-api"
import type { AnswerOf, CallArguments, ContractOf } from "../http/Endpoints.ts"
import { type HeaderValues, Transport } from "../http/Transport.ts"
import { type CallFailure, toClientFailure } from "./ClientFailure.ts"

export interface ServiceAccess {
  /** Without a trailing slash. */
  readonly url: string
  readonly token?: Redacted.Redacted
  /** Further headers, read for each request and each stream. */
  readonly headers?: Effect.Effect<HeaderValues>
  /** Longest time until the head of a response, 75 s by default. */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
}

type ErrorOf<F> = F extends (...of: never) => Effect.Effect<infer _A, infer E, infer _R> ? E : never

/** Calls by group. `E` replaces the failures of the contract. */
export type EffectCalls<Api extends HttpApi.Constraint, E = never> = {
  readonly [G in keyof ContractOf<Api>]: {
    readonly [N in keyof ContractOf<Api>[G]]: (
      ...of: CallArguments<ContractOf<Api>[G][N]>
    ) => Effect.Effect<
      AnswerOf<ContractOf<Api>[G][N]>,
      [E] extends [never] ? CallFailure<ErrorOf<ContractOf<Api>[G][N]>> : E
    >
  }
}

export const transportOf = (
  { fetch: send, timeoutMs, token, url }: ServiceAccess,
  headers: HeaderValues = {}
): Transport =>
  new Transport({
    url,
    headers: () => headers,
    ...(token === undefined ? {} : { token: () => Redacted.value(token) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(send === undefined ? {} : { fetch: send })
  })

/** The current call: where its request goes. */
interface CallTarget {
  readonly address: Pick<ServiceAccess, "url" | "headers">
  readonly send: typeof fetch
  /** Whether the call has reached the HTTP client: before, its request is being encoded. */
  wasSent: boolean
}

const CurrentCall = Context.Reference<CallTarget>("corral/client/CurrentCall", {
  defaultValue: () => ({ address: { url: "" }, send: fetch, wasSent: false })
})

/** Sends each request to the target of its call. */
const targetedClient = Effect.map(HttpClient.HttpClient, (client) =>
  client.pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.gen(function* () {
        const call = yield* CurrentCall
        call.wasSent = true
        const { headers = Effect.succeed({}), url } = call.address
        return request.pipe(HttpClientRequest.prependUrl(url), HttpClientRequest.setHeaders(yield* headers))
      })
    ),
    HttpClient.transform((response) =>
      Effect.flatMap(CurrentCall, ({ send }) => Effect.provideService(response, FetchHttpClient.Fetch, send))
    )
  )
).pipe(Effect.provide(FetchHttpClient.layer))

/** The body, where a response also has declared headers. */
const bodyOf = (answer: unknown): unknown =>
  typeof answer === "object" && answer !== null && "body" in answer && "headers" in answer
    ? answer.body
    : answer

/** The errors of Effect's own client. */
type AnyCall = (request: unknown) => Effect.Effect<unknown, object>

/** Encoders and decoders of endpoints, which take longer to make than a call takes. */
const madeCalls = new WeakMap<HttpApi.Top, Map<string, AnyCall>>()

/** The call of an endpoint, made at its first use. */
const madeCall = (api: HttpApi.Top, group: string, endpoint: string): Effect.Effect<AnyCall> =>
  Effect.suspend(() => {
    let calls = madeCalls.get(api)
    if (calls === undefined) madeCalls.set(api, (calls = new Map()))
    const key = `${group} ${endpoint}`
    const existing = calls.get(key)
    if (existing !== undefined) return Effect.succeed(existing)
    return targetedClient.pipe(
      Effect.flatMap(
        (httpClient) =>
          // Each endpoint takes one request, and no middleware of a contract has a part in clients.
          HttpApiClient.endpoint(api, { group, endpoint, httpClient }) as unknown as Effect.Effect<AnyCall>
      ),
      Effect.tap((call) => Effect.sync(() => calls.set(key, call)))
    )
  })

/** Calls of all endpoints of a contract. `toFailure` maps each failure. */
export const effectCalls = <Id extends string, Groups extends HttpApiGroup.Constraint, E = never>(
  api: HttpApi.HttpApi<Id, Groups>,
  address: ServiceAccess,
  toFailure?: (failure: ReturnType<typeof toClientFailure>) => E
): Effect.Effect<EffectCalls<HttpApi.HttpApi<Id, Groups>, E>> =>
  Effect.sync(() => {
    // Groups and endpoints by their names only.
    const anyApi = api as unknown as HttpApi.Top
    const transport = transportOf(address)
    const send: typeof fetch = (input, init) => transport.fetch(new URL(String(input)), init ?? {})
    const wrapped =
      (group: string, endpoint: string) =>
      ({ query, ...request }: { readonly query?: object } = {}) =>
        Effect.suspend(() => {
          const current: CallTarget = { address, send, wasSent: false }
          return madeCall(anyApi, group, endpoint).pipe(
            // Effect's client requires parts without required fields, and fields with a default.
            Effect.flatMap((call) =>
              call({ headers: {}, ...request, query: { limit: DEFAULT_LIMIT, ...query } })
            ),
            Effect.provideService(CurrentCall, current),
            Effect.mapBoth({
              onSuccess: bodyOf,
              onFailure: (error) => {
                const failure = toClientFailure(error, current.wasSent)
                return toFailure === undefined ? failure : toFailure(failure)
              }
            })
          )
        })
    const groups = Object.entries(anyApi.groups).map(([group, { endpoints }]) => [
      group,
      Object.fromEntries(Object.keys(endpoints).map((name) => [name, wrapped(group, name)]))
    ])
    // The same groups and endpoints as the contract. The errors of `Transport` replace its error objects.
    return Object.fromEntries(groups) as unknown as EffectCalls<HttpApi.HttpApi<Id, Groups>, E>
  })
