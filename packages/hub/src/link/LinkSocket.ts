/**
 * Sockets of links: the pings of one, its limit on data before the first proof, and its end; and the RPC server of all links of a Hub. Each socket
 * is one of its clients, with the handlers of its connection.
 *
 * Guarantees: what a peer sends, and a defect in one of its calls, ends at most its own connection.
 */
import { EdgeLink, type LinkCloseCode } from "@corral/domain/link/EdgeLink"
import { Effect, Exit, Queue, type Scope } from "effect"
import { type Rpc, type RpcMessage, RpcSerialization, RpcServer } from "effect/rpc"
import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"
import type { LinkConnection } from "./LinkConnection.ts"

export class LinkSocket {
  readonly openedAt: number
  private readonly webSocket: WebSocket
  private readonly stream: Duplex
  private lastPongAt: number
  private pingedAt: number
  private isEnding = false
  /** Ticks left for the closing handshake. */
  private ticksLeft = 2
  private unprovedBytes = 0

  constructor(webSocket: WebSocket, stream: Duplex, now: number) {
    this.webSocket = webSocket
    this.stream = stream
    this.openedAt = now
    this.lastPongAt = now
    this.pingedAt = now
    webSocket.on("error", () => undefined)
    webSocket.on("pong", () => (this.lastPongAt = this.pingedAt))
    stream.on("data", this.countUnproved)
  }

  /** Lifts the limit on received data. */
  markProved(): void {
    this.stream.off("data", this.countUnproved)
  }

  /** Once a second: pings, and terminates a peer that does not answer or does not read. */
  tick(now: number): void {
    const isSilent = now - this.lastPongAt > SILENT_MS && this.pingedAt > this.lastPongAt
    if (isSilent || this.webSocket.bufferedAmount > MAX_BUFFERED) return this.terminate()
    if (this.isEnding) {
      this.ticksLeft--
      if (this.ticksLeft < 0) this.terminate()
      return
    }
    if (now - this.pingedAt < PING_EVERY_MS) return
    this.pingedAt = now
    this.webSocket.ping()
  }

  /** Closes the socket after pending responses are sent. */
  end(code: LinkCloseCode, reason: string): void {
    if (this.isEnding) return
    this.isEnding = true
    setTimeout(() => this.webSocket.close(code, reason), RESPONSE_MS).unref()
  }

  terminate(): void {
    this.webSocket.terminate()
  }

  private readonly countUnproved = (bytes: Buffer): void => {
    this.unprovedBytes += bytes.length
    if (this.unprovedBytes > MAX_UNPROVED_BYTES) this.terminate()
  }
}

const PING_EVERY_MS = 10_000
const SILENT_MS = 25_000
/** Time for the response that explains the end. */
const RESPONSE_MS = 20
/** Buffered bytes for a peer that does not read. */
const MAX_BUFFERED = 4 * 8 * 1_048_576
/** Room for the largest offer. */
const MAX_UNPROVED_BYTES = 1_048_576

export interface LinkRpc {
  /** Serves the calls of the socket until it closes. */
  readonly serve: (webSocket: WebSocket, connection: LinkConnection) => void
}

type Write = (clientId: number, message: RpcMessage.FromClientEncoded) => Effect.Effect<void>

interface ServedLink {
  readonly webSocket: WebSocket
  readonly connection: LinkConnection
}

const { codecFor, makeUnsafe } = RpcSerialization.json

export const makeLinkRpc: Effect.Effect<LinkRpc, never, Scope.Scope> = Effect.gen(function* () {
  const links = new Map<number, ServedLink>()
  const disconnects = yield* Queue.unbounded<number>()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const parser = makeUnsafe()
  let write: Write = () => Effect.void
  const protocol = yield* RpcServer.Protocol.make((writeRequest) => {
    write = writeRequest
    return Effect.succeed({
      disconnects,
      send: (clientId: number, response: RpcMessage.FromServerEncoded) =>
        Effect.sync(() => {
          const encoded = parser.encode(response)
          if (encoded !== undefined) links.get(clientId)?.webSocket.send(encoded)
        }),
      end: () => Effect.void,
      clientIds: Effect.sync(() => new Set(links.keys())),
      initialMessage: Effect.succeedNone,
      supportsAck: true,
      supportsTransferables: false,
      supportsSpanPropagation: true,
      supportsNotifications: true,
      codecFor
    })
  })
  const handlers = yield* EdgeLink.toHandlers(handlersOf(links))
  yield* RpcServer.make(EdgeLink, { disableTracing: true, disableFatalDefects: true }).pipe(
    Effect.provideService(RpcServer.Protocol, protocol),
    Effect.provideContext(handlers),
    Effect.forkScoped
  )

  let lastId = 0
  return {
    serve: (webSocket, connection) => {
      const id = ++lastId
      links.set(id, { webSocket, connection })
      const close = () => webSocket.close(PROTOCOL_ERROR)
      webSocket.on("message", (frame: Buffer) => {
        const messages = decodeFrame(parser, frame)
        if (messages === undefined) return webSocket.send(NOT_MESSAGES)
        for (const message of messages)
          // Ends before the next message is read: calls run in fibers of the server.
          run(write(id, message)).addObserver((exit) => Exit.isFailure(exit) && close())
      })
      webSocket.once("close", () => {
        links.delete(id)
        Queue.offerUnsafe(disconnects, id)
      })
    }
  }
})

/** RFC 6455: protocol error. Has no effect on a closed socket. */
const PROTOCOL_ERROR = 1002

/** Answer to a frame that is not JSON, or not messages. */
const NOT_MESSAGES = JSON.stringify({ _tag: "Defect", defect: "Expected JSON messages" })

/** `undefined`: not JSON, or not messages. */
const decodeFrame = (
  parser: RpcSerialization.Parser,
  frame: Buffer
): ReadonlyArray<RpcMessage.FromClientEncoded> | undefined => {
  try {
    const messages = parser.decode(frame.toString("utf8"))
    // Only objects can be messages; the server answers unknown ones.
    return messages.every((message) => typeof message === "object" && message !== null)
      ? (messages as ReadonlyArray<RpcMessage.FromClientEncoded>)
      : undefined
  } catch {
    return undefined
  }
}

/** Handlers of the connection that a call came over. */
const handlersOf = (links: ReadonlyMap<number, ServedLink>) => {
  const of = ({ client }: { readonly client: Rpc.ServerClient }) => {
    const link = links.get(client.id)
    // Its fibers are being interrupted, so no peer sees this.
    if (link === undefined) throw new Error("the link has closed")
    return link.connection.handlers
  }
  return EdgeLink.of({
    Hello: (payload, call) => of(call).Hello(payload),
    Prove: (payload, call) => of(call).Prove(payload),
    Rotate: (payload, call) => of(call).Rotate(payload),
    Acks: (payload, call) => of(call).Acks(payload),
    Heartbeat: (payload, call) => of(call).Heartbeat(payload),
    Commands: (payload, call) => of(call).Commands(payload),
    CommandDone: (payload, call) => of(call).CommandDone(payload),
    ReadAttachment: (payload, call) => of(call).ReadAttachment(payload),
    PushEvents: (payload, call) => of(call).PushEvents(payload),
    PushChanges: (payload, call) => of(call).PushChanges(payload)
  })
}
