/**
 * Calls of an HTTP contract: its groups and endpoints, with its types and without its code. Each call is a request of a `Transport`.
 *
 * Does not: validate. The service validates requests, and responses are taken as the contract declares them.
 */
import type { Brand, Effect, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"
import type { HttpApi, HttpApiClient } from "effect/http-api"
import { CorralError } from "./CorralError.ts"
import type { Transport } from "./Transport.ts"

/** Method and path of each endpoint, by group. `bytes`: the response is a file. `events`: the response is an event stream. */
export type Routes = Readonly<
  Record<string, Readonly<Record<string, readonly [method: string, path: string, kind?: "bytes" | "events"]>>>
>

type Body<A> = A extends { readonly body: infer B; readonly headers: unknown } ? B : A
/** Declared response of an endpoint, out of the response modes of Effect's client. */
type Declared<A> = Exclude<
  A,
  HttpClientResponse.HttpClientResponse | readonly [unknown, HttpClientResponse.HttpClientResponse]
>

/** Response body of an endpoint. */
export type AnswerOf<F> = F extends (...of: never) => Effect.Effect<infer A, infer _E, infer _R>
  ? Body<Declared<A>>
  : never
/** The service has a default page size. */
type Defaulted<Part> = Part extends { readonly limit: infer Limit }
  ? Omit<Part, "limit"> & { readonly limit?: Limit }
  : Part

/** A request. A part without required fields may be omitted. */
type Request<R> = { readonly [K in keyof R as {} extends Defaulted<R[K]> ? never : K]: Defaulted<R[K]> } & {
  readonly [K in keyof R as {} extends Defaulted<R[K]> ? K : never]?: Defaulted<R[K]>
}
type RequestOf<F> = F extends (request: infer R) => unknown
  ? Request<Omit<Extract<R, object>, "responseMode" | "sseOptions">>
  : unknown

/** Groups and endpoints of a contract as Effect's own client has them. */
export type ContractOf<Api extends HttpApi.Constraint> = HttpApiClient.ForApi<Api>

type Arguments<R, More> = unknown extends R
  ? [request?: More]
  : {} extends R
    ? [request?: R & More]
    : [request: R & More]

/** Arguments of a call: one request, which may be omitted where all of its parts are optional. */
export type CallArguments<F> = Arguments<RequestOf<F>, {}>

interface CallOptions {
  readonly signal?: AbortSignal
  /** Longest time until the head of the response, where it is shorter than that of the `Transport`. */
  readonly timeoutMs?: number
}

type Answered<A> = [A] extends [Stream.Stream<Uint8Array, infer _E, infer _R>]
  ? ReadableStream<Uint8Array>
  : A

/**
 * A request without brands: programs without schemas have ids as plain strings. The service validates them. A body of bytes is a `Blob`, which
 * has the media type: a `File` of a browser, or `openAsBlob(path, { type })` of Node.
 */
export type Plain<T> = T extends string
  ? T extends Brand.Brand<string>
    ? string
    : T
  : T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Plain<Item>>
    : T extends Stream.Stream<Uint8Array, infer _E, infer _R>
      ? Blob
      : T extends object
        ? { readonly [K in keyof T]: Plain<T[K]> }
        : T

/** Calls as functions that return promises. Event streams are not calls. */
export type PromiseCalls<Api extends HttpApi.Constraint> = {
  readonly [G in keyof ContractOf<Api>]: {
    readonly [E in keyof ContractOf<Api>[G]]: (
      ...of: Arguments<Plain<RequestOf<ContractOf<Api>[G][E]>>, CallOptions>
    ) => Promise<Answered<AnswerOf<ContractOf<Api>[G][E]>>>
  }
}

interface AnyRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly payload?: unknown
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

const definedEntries = (values: Readonly<Record<string, unknown>> = {}): Array<[string, string]> =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))

/** Path and query of a request. */
export const pathOf = (
  path: string,
  { params = {}, query }: Pick<AnyRequest, "params" | "query"> = {}
): string => {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""))
  const search = new URLSearchParams(definedEntries(query)).toString()
  return search === "" ? filled : `${filled}?${search}`
}

/** Part of a request. */
export const signalOf = (signal: AbortSignal | undefined): CallOptions =>
  signal === undefined ? {} : { signal }

const jsonOf = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  try {
    return text === "" ? undefined : JSON.parse(text)
  } catch (cause) {
    const message = "The response is not JSON. The service may have a different version."
    throw new CorralError("invalid_response", { message, status: response.status, cause })
  }
}

/** Calls of all endpoints of a table. */
export const promiseCalls = <Api extends HttpApi.Constraint>(
  routes: Routes,
  transport: Transport
): PromiseCalls<Api> => {
  const call =
    ([method, path, kind]: Routes[string][string]) =>
    async ({ headers, payload, signal, timeoutMs, ...request }: AnyRequest = {}): Promise<unknown> => {
      const response = await transport.send({
        method,
        path: pathOf(path, request),
        headers: Object.fromEntries(definedEntries(headers)),
        payload,
        signal,
        timeoutMs
      })
      return kind === "bytes" ? response.body : jsonOf(response)
    }
  const groups = Object.entries(routes).map(([group, endpoints]) => [
    group,
    Object.fromEntries(Object.entries(endpoints).map(([name, route]) => [name, call(route)]))
  ])
  // The routes are generated from the contract, so groups and endpoints match.
  return Object.fromEntries(groups) as unknown as PromiseCalls<Api>
}
