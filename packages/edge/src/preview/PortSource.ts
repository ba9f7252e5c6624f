/**
 * A dev server behind a preview: a reverse proxy to one port of this machine. Only the path of a request is the client's.
 *
 * Guarantees: both directions are streamed at the pace of the slower side. Each request has a separate connection, which closes with it.
 * Responses stay within the preview's origin.
 */
import { Data, Effect, type Scope } from "effect"
import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { pipeline } from "node:stream/promises"
import { refuseUpgrade } from "@corral/service/http/Refusal"
import { protection } from "./ContentPolicy.ts"
import { connectLoopback, Unreachable } from "./Loopback.ts"
import { redirectTarget, toBrowser, toUpstream } from "./ProxyHeaders.ts"
import { type PreviewRequest, refusePreview, type PreviewUpstream } from "./PreviewUpstream.ts"
import { UpstreamCookies } from "./UpstreamCookies.ts"
import { carryUpgrade } from "./Upgrade.ts"

/** One request's body. */
const MAX_BODY_BYTES = 52_428_800
/** Until the upstream begins to answer. */
const ANSWER_WITHIN = "60 seconds"

/** The upstream gave no answer that can be passed on: status and sentence of ours. */
class BadAnswer extends Data.TaggedError("BadAnswer")<{
  readonly status: number
  readonly message: string
}> {}
class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{}> {}

/** `isOurs` tells ports that are never proxied to: the Edge's own and those of previews. */
export const portSource = (upstreamPort: number, isOurs: (port: number) => boolean): PreviewUpstream => {
  const cookies = new UpstreamCookies()
  const connection: Effect.Effect<Socket, Unreachable, Scope.Scope> = Effect.suspend(() =>
    isOurs(upstreamPort) ? Effect.fail(new Unreachable()) : connectLoopback(upstreamPort)
  )
  const reachable = connection.pipe(
    Effect.match({ onFailure: () => false, onSuccess: () => true }),
    Effect.scoped
  )
  const headersOf = (request: IncomingMessage) => toUpstream(request.headers, upstreamPort, cookies)

  const serve = Effect.fnUntraced(
    function* ({ request, response }: PreviewRequest & { readonly response: ServerResponse }, port: number) {
      if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return yield* new BodyTooLarge()
      const socket = yield* connection
      const answer = yield* exchange(socket, request, headersOf(request)).pipe(
        Effect.timeoutOrElse({ duration: ANSWER_WITHIN, orElse: () => Effect.fail(tooLate) })
      )
      const head = toBrowser(answer.headers, protection(port, "port"), cookies)
      const { location } = answer.headers
      if (location !== undefined) {
        const target = redirectTarget(location, { path: request.url ?? "/", port, upstreamPort })
        if (target === undefined) return yield* leadsAway
        head["location"] = target
      }
      yield* relay(answer, head, response)
    },
    Effect.scoped,
    (serving, { response, requestId }) =>
      serving.pipe(
        Effect.catchTags({
          Unreachable: () => Effect.sync(() => page(response, 502, nobodyThere(upstreamPort))),
          BadAnswer: ({ status, message }) => Effect.sync(() => page(response, status, message)),
          BodyTooLarge: () =>
            Effect.sync(() => refusePreview(response, { code: "payload_too_large" }, requestId))
        })
      )
  )

  return {
    kind: "port",
    reachable,
    serve,
    upgrade: (asked) =>
      carryUpgrade(asked, connection, headersOf(asked.request)).pipe(
        Effect.scoped,
        Effect.catchTag("Unreachable", () =>
          Effect.sync(() =>
            refuseUpgrade(
              asked.socket,
              { code: "not_found", message: nobodyThere(upstreamPort) },
              asked.requestId
            )
          )
        )
      )
  }
}

const nobodyThere = (port: number) =>
  `Nothing answers on port ${port} of this machine. Start the server there, then reload.`
const tooLate = new BadAnswer({ status: 504, message: "The server behind this preview did not answer." })
const leadsAway = new BadAnswer({
  status: 502,
  message: "The server behind this preview redirects to another address, which a preview does not follow."
})
const broken = new BadAnswer({ status: 502, message: "The server behind this preview broke off its answer." })

/** For a person who looks at the preview. */
const page = (response: ServerResponse, status: number, sentence: string): void => {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" })
  response.end(`${sentence}\n`)
}

/** Sends the request; gives the answer as soon as it begins. */
const exchange = (
  socket: Socket,
  request: IncomingMessage,
  headers: ReturnType<typeof toUpstream>
): Effect.Effect<IncomingMessage, BadAnswer | BodyTooLarge> =>
  Effect.callback((resume) => {
    const { method, url: path } = request
    const upstream = httpRequest({ createConnection: () => socket, method, path, headers, setHost: false })
    upstream.once("response", (answer) => resume(Effect.succeed(answer)))
    upstream.once("upgrade", () => resume(Effect.fail(broken)))
    upstream.on("error", () => resume(Effect.fail(broken)))
    let sent = 0
    request.on("data", (chunk: Buffer) => {
      sent += chunk.length
      if (sent <= MAX_BODY_BYTES) return
      request.unpipe(upstream)
      upstream.destroy()
      resume(Effect.fail(new BodyTooLarge()))
    })
    request.pipe(upstream)
    return Effect.sync(() => void upstream.destroy())
  })

const relay = (
  answer: IncomingMessage,
  head: ReturnType<typeof toBrowser>,
  response: ServerResponse
): Effect.Effect<void, BadAnswer> =>
  Effect.try({
    // What Node would not write is no answer.
    try: () => response.writeHead(answer.statusCode ?? 502, head),
    catch: () => broken
  }).pipe(
    Effect.andThen(
      Effect.tryPromise({ try: (signal) => pipeline(answer, response, { signal }), catch: () => broken })
    )
  )
