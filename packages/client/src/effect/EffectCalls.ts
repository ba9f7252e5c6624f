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

/** Whether the current call has reached the HTTP client: before, its request is being encoded. */
const CurrentCall = Context.Reference<{ wasSent: boolean }>("corral/client/CurrentCall", {
  defaultValue: () => ({ wasSent: false })
})

const clientFor = Effect.fnUntraced(function* (address: ServiceAccess) {
  const transport = transportOf(address)
  const send: typeof fetch = (input, init) => transport.fetch(new URL(String(input)), init ?? {})
  const client = yield* HttpClient.HttpClient
  return client.pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.gen(function* () {
        const call = yield* CurrentCall
        call.wasSent = true
        return HttpClientRequest.setHeaders(request, yield* address.headers ?? Effect.succeed({}))
      })
    ),
    HttpClient.transform((response) => Effect.provideService(response, FetchHttpClient.Fetch, send))
  )
}, Effect.provide(FetchHttpClient.layer))

/** The body, where a response also has declared headers. */
const bodyOf = (answer: unknown): unknown =>
  typeof answer === "object" && answer !== null && "body" in answer && "headers" in answer
    ? answer.body
    : answer

/** The errors of Effect's own client. */
type AnyCall = (request: unknown) => Effect.Effect<unknown, object>

/** Calls of all endpoints of a contract. `toFailure` maps each failure. */
export const effectCalls = Effect.fnUntraced(function* <
  Id extends string,
  Groups extends HttpApiGroup.Constraint,
  E = never
>(
  api: HttpApi.HttpApi<Id, Groups>,
  address: ServiceAccess,
  toFailure?: (failure: ReturnType<typeof toClientFailure>) => E
) {
  const httpClient = yield* clientFor(address)
  const contract = yield* HttpApiClient.makeWith(api, { httpClient, baseUrl: address.url })
  const wrapped =
    (call: AnyCall) =>
    ({ query, ...request }: { readonly query?: object } = {}) =>
      Effect.suspend(() => {
        const current = { wasSent: false }
        // Effect's client requires parts without required fields, and fields with a default.
        return call({ headers: {}, ...request, query: { limit: DEFAULT_LIMIT, ...query } }).pipe(
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
  const groups = Object.entries(contract as Readonly<Record<string, Readonly<Record<string, AnyCall>>>>).map(
    ([group, endpoints]) => [
      group,
      Object.fromEntries(Object.entries(endpoints).map(([name, call]) => [name, wrapped(call)]))
    ]
  )
  // The same groups and endpoints as the contract. The errors of `Transport` replace its error objects.
  return Object.fromEntries(groups) as unknown as EffectCalls<HttpApi.HttpApi<Id, Groups>, E>
})
