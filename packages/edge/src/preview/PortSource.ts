/**
 * A dev server behind a preview: where its port is, on this machine or inside the network of the confined run that the preview belongs to, and a
 * reverse proxy to that port. Only the path of a request is the client's.
 *
 * Guarantees: both directions are streamed at the pace of the slower side. Each request has a separate connection, which closes with it. Responses
 * stay within the preview's origin. A preview of a confined run never shows a port of this machine that the run may not use, also after the run has
 * ended.
 */
import type { UseFolder } from "./FolderSource.ts"
import { carryBytes, connectLoopback, Unreachable } from "./Loopback.ts"
import {
  type PreviewRequest,
  type PreviewUpstream,
  protectionHeaders,
  refusePreview
} from "./PreviewUpstream.ts"
import { redirectTarget, toBrowserHeaders, toUpstreamHeaders, UpstreamCookies } from "./ProxyHeaders.ts"
import { NotFound, PermissionDenied } from "@corral/domain/errors/Failures"
import { handshakeProblem } from "@corral/service/http/Connections"
import { refuseUpgrade } from "@corral/service/http/Refusal"
import { Data, Effect, type Scope } from "effect"
import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { pipeline } from "node:stream/promises"

// WebSocket through a preview's proxy: the upstream's handshake, then bytes in both directions until either side ends.

/** Time until the upstream accepts. */
const HANDSHAKE_WITHIN = "10 seconds"

interface Upgraded {
  readonly answer: IncomingMessage
  readonly upstream: Duplex
  readonly rest: Buffer
}

const proxyUpgrade = Effect.fnUntraced(function* (
  { request, socket, head, requestId }: PreviewRequest & { readonly socket: Duplex; readonly head: Buffer },
  connection: Effect.Effect<Socket, Unreachable, Scope.Scope>,
  headers: ReturnType<typeof toUpstreamHeaders>
) {
  const flaw = handshakeProblem(request)
  if (flaw !== undefined) return refuseUpgrade(socket, flaw, requestId)
  const upgraded = yield* shakeHands(yield* connection, request, headers).pipe(
    Effect.timeoutOrElse({ duration: HANDSHAKE_WITHIN, orElse: () => Effect.undefined })
  )
  if (upgraded === undefined) {
    return refuseUpgrade(
      socket,
      { code: "not_found", message: "The server behind this preview takes no WebSocket there." },
      requestId
    )
  }
  const { answer, upstream, rest } = upgraded
  socket.write(switching(answer))
  if (rest.length > 0) socket.write(rest)
  if (head.length > 0) upstream.write(head)
  yield* carryBytes(socket, upstream)
})

const shakeHands = (
  connection: Socket,
  { url: path }: IncomingMessage,
  headers: ReturnType<typeof toUpstreamHeaders>
): Effect.Effect<Upgraded | undefined> =>
  Effect.callback((resume) => {
    const request = httpRequest({
      createConnection: () => connection,
      path,
      headers: { ...headers, connection: "Upgrade", upgrade: "websocket" },
      setHost: false
    })
    request.once("upgrade", (answer, upstream, rest) => resume(Effect.succeed({ answer, upstream, rest })))
    request.once("response", () => resume(Effect.undefined))
    request.on("error", () => resume(Effect.undefined))
    request.end()
  })

const passed = ["sec-websocket-accept", "sec-websocket-protocol", "sec-websocket-extensions"] as const

const switching = ({ headers }: IncomingMessage): string => {
  const lines = passed.flatMap((name) => (headers[name] === undefined ? [] : [`${name}: ${headers[name]}`]))
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Connection: Upgrade",
    "Upgrade: websocket",
    ...lines,
    "",
    ""
  ].join("\r\n")
}

/** Maximum size of a request body. */
const MAX_BODY_BYTES = 52_428_800
/** Time until the upstream starts its response. */
const ANSWER_WITHIN = "60 seconds"

/** The upstream sent no response that can be forwarded. Status and message are the preview's. */
class BadAnswer extends Data.TaggedError("BadAnswer")<{
  readonly status: number
  readonly message: string
}> {}
class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{}> {}

/** Where the port is. */
interface PortPlace {
  /** Ends the sentence "Nothing answers on port 1 …". */
  readonly name: "of this machine" | "inside the run"
  readonly connection: Effect.Effect<Socket, Unreachable, Scope.Scope>
}

export const portSource = (upstreamPort: number, { connection, name }: PortPlace): PreviewUpstream => {
  const cookies = new UpstreamCookies()
  const reachable = connection.pipe(
    Effect.match({ onFailure: () => false, onSuccess: () => true }),
    Effect.scoped
  )
  const headersOf = (request: IncomingMessage) => toUpstreamHeaders(request.headers, upstreamPort, cookies)

  const serve = Effect.fnUntraced(
    function* ({ request, response }: PreviewRequest & { readonly response: ServerResponse }, port: number) {
      if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return yield* new BodyTooLarge()
      const socket = yield* connection
      const answer = yield* exchange(socket, request, headersOf(request)).pipe(
        Effect.timeoutOrElse({ duration: ANSWER_WITHIN, orElse: () => Effect.fail(tooLate) })
      )
      const head = toBrowserHeaders(answer.headers, protectionHeaders(port, "port"), cookies)
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
          Unreachable: () => Effect.sync(() => page(response, 502, noServerMessage(upstreamPort, name))),
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
    upgrade: (incoming) =>
      proxyUpgrade(incoming, connection, headersOf(incoming.request)).pipe(
        Effect.scoped,
        Effect.catchTag("Unreachable", () =>
          Effect.sync(() =>
            refuseUpgrade(
              incoming.socket,
              { code: "not_found", message: noServerMessage(upstreamPort, name) },
              incoming.requestId
            )
          )
        )
      )
  }
}

const noServerMessage = (port: number, place: PortPlace["name"]) =>
  `Nothing answers on port ${port} ${place}. Start the server there, then reload.`
const tooLate = new BadAnswer({ status: 504, message: "The server behind this preview did not answer." })
const leadsAway = new BadAnswer({
  status: 502,
  message: "The server behind this preview redirects to another address, which a preview does not follow."
})
const broken = new BadAnswer({ status: 502, message: "The server behind this preview broke off its answer." })

/** Message for the user of the preview. */
const page = (response: ServerResponse, status: number, sentence: string): void => {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" })
  response.end(`${sentence}\n`)
}

/** Sends the request. Succeeds as soon as the response starts. */
const exchange = (
  socket: Socket,
  request: IncomingMessage,
  headers: ReturnType<typeof toUpstreamHeaders>
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
  head: ReturnType<typeof toBrowserHeaders>,
  response: ServerResponse
): Effect.Effect<void, BadAnswer> =>
  Effect.try({
    // Node refuses to write such a response.
    try: () => response.writeHead(answer.statusCode ?? 502, head),
    catch: () => broken
  }).pipe(
    Effect.andThen(
      Effect.tryPromise({ try: (signal) => pipeline(answer, response, { signal }), catch: () => broken })
    )
  )

// Ports that a preview of a confined run may show: those inside the network of the run, and ports of this machine that the run may use.

export interface RunPorts {
  /** A connection to a loopback port inside the network of the run. It is destroyed with the scope. */
  readonly connect: (port: number) => Effect.Effect<Socket, Unreachable, Scope.Scope>
  /** Ports of this machine that the owner listed or granted. They have the same number inside. */
  readonly granted: ReadonlyArray<number>
  /** Ports inside that belong to the confinement. */
  readonly reserved: ReadonlyArray<number>
}

/** The run of a preview. */
export interface PreviewedRun {
  /** The run's folder if it is not the workspace. */
  readonly worktree: string | undefined
  /** Files of a run in a layer. */
  readonly inLayer?: UseFolder | undefined
  /** Ports of a run with its own network, while its process is alive. Without it, the run's ports are those of this machine. */
  readonly ports: (() => RunPorts | undefined) | undefined
  readonly hasEnded: boolean
}

const ofMachine = (port: number, isOurs: (port: number) => boolean): PortPlace => ({
  name: "of this machine",
  connection: Effect.suspend(() => (isOurs(port) ? Effect.fail(new Unreachable()) : connectLoopback(port)))
})

const insideRun = (port: number, ports: () => RunPorts | undefined): PortPlace => ({
  name: "inside the run",
  connection: Effect.suspend(() => ports()?.connect(port) ?? Effect.fail(new Unreachable()))
})

const isReachable = ({ connection }: PortPlace): Effect.Effect<boolean> =>
  connection.pipe(Effect.match({ onFailure: () => false, onSuccess: () => true }), Effect.scoped)

const notGranted = (port: number) =>
  new PermissionDenied({
    message: `Nothing answers on port ${port} inside the run, and the run may not use port ${port} of this machine. Start the server in the run, list 127.0.0.1:${port} in CORRAL_EDGE_RUN_HOSTS, or preview it without the run.`,
    details: { reason: "not_granted", port }
  })

/** `isOurs` reports ports of this machine that are never shown: the Edge's and those of previews. */
export const placeOfPort = Effect.fnUntraced(function* (
  port: number,
  run: PreviewedRun | undefined,
  isOurs: (port: number) => boolean
): Effect.fn.Return<PortPlace, NotFound | PermissionDenied> {
  const refusal = new PermissionDenied({ message: "That port is the Edge's own." })
  const machine = ofMachine(port, isOurs)
  if (run?.ports === undefined) return isOurs(port) ? yield* refusal : machine
  if (run.hasEnded) return yield* new NotFound({ message: "The run has ended, and its ports with it." })
  const { granted = [], reserved = [] } = run.ports() ?? {}
  if (reserved.includes(port)) return yield* refusal
  if (granted.includes(port)) return isOurs(port) ? yield* refusal : machine
  const inside = insideRun(port, run.ports)
  const isOfMachine = !(yield* isReachable(inside)) && (yield* isReachable(machine))
  return isOfMachine ? yield* notGranted(port) : inside
})
