/** One request of a run's proxy on its own connection. */
import { Effect } from "effect"
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from "node:http"
import type { Duplex } from "node:stream"
import { hopByHop, withoutHeaders } from "../preview/ProxyHeaders.ts"

export interface ForwardedRequest {
  readonly path: string
  /** Value of `host`. */
  readonly authority: string
  /** Headers that replace those of the client. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const NOT_FORWARDED = ["expect", "host"]

const headersFor = (client: IncomingHttpHeaders, { authority, headers = {} }: ForwardedRequest) => ({
  ...withoutHeaders(client, hopByHop, NOT_FORWARDED),
  ...headers,
  // A body of unknown length has no other end.
  ...(client["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" }),
  host: authority,
  connection: "close"
})

/** Sends the request. Succeeds as soon as the response starts; with `undefined` if none does. */
export const exchangeHttp = (
  socket: Duplex,
  request: IncomingMessage,
  forwarded: ForwardedRequest
): Effect.Effect<IncomingMessage | undefined> =>
  Effect.callback((resume) => {
    const upstream = httpRequest({
      createConnection: () => socket,
      method: request.method,
      path: forwarded.path,
      setHost: false,
      headers: headersFor(request.headers, forwarded)
    })
    upstream.once("response", (answer) => resume(Effect.succeed(answer)))
    upstream.once("upgrade", () => resume(Effect.undefined))
    upstream.on("error", () => resume(Effect.undefined))
    request.once("error", () => upstream.destroy())
    request.pipe(upstream)
    return Effect.sync(() => void upstream.destroy())
  })
