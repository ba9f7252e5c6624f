/**
 * Host of the Agent Host Protocol of one process: the connections of its clients, and clients that are away and can still continue.
 *
 * Guarantees: a client belongs to the caller that it began with; another caller with its id is another client. A reader that is too slow is closed.
 * Everything ends with the scope.
 * Does not: authorize. A listener does that before it upgrades a request, and refuses it before the upgrade: a connection that is accepted and
 * closed at once stops VS Code from connecting again.
 */
import { standardHeaders } from "@corral/service/http/Refusal"
import type { Upgrade } from "@corral/service/stream/Sockets"
import { VERSION } from "@corral/service/Version"
import type { RequestId } from "@corral/domain/identity/Ids"
import { withoutTrailing } from "@corral/domain/text/Cut"
import { Clock, Effect } from "effect"
import { type WebSocket, WebSocketServer } from "ws"
import { MAX_MESSAGE_BYTES } from "../protocol/Messages.ts"
import { Connection } from "./Connection.ts"
import { Dispatches } from "./Dispatches.ts"
import type { HostBackend } from "./HostBackend.ts"
import { HostClient, type HostSocket } from "./HostClient.ts"

export interface AgentHost {
  /**
   * Completes the handshake of an authorized request and serves the client. The backend lives longer than the connection: until its `ended`
   * completes, or the client has been away for some minutes.
   */
  readonly accept: (upgrade: Upgrade, backend: HostBackend) => void
  /** Closes every connection with 1001. */
  readonly closeAll: Effect.Effect<void>
}

export interface AgentHostOptions {
  /** Milliseconds for which a client that is away can continue. */
  readonly keepMs?: number
  /** Bytes that may wait for a reader. */
  readonly maxBuffered?: number
}

const KEEP_MS = 600_000
const MAX_BUFFERED = 33_554_432
const MAX_CLIENTS = 1_000
const MAX_CLIENTS_OF_CALLER = 64
const GOING_AWAY = 1001
const TRY_AGAIN = 1013
/** Longest reason of a close frame, in bytes. */
const MAX_REASON = 120

interface ClientEntry {
  readonly client: HostClient
  /** Unix milliseconds since when the client is away. */
  awaySince: number | undefined
}

const handshakeServer = (): WebSocketServer => {
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false
  })
  handshakes.on("headers", (headers, request) => {
    // The listener has set the request id.
    const id = request.headers["x-request-id"] as RequestId
    for (const [name, value] of Object.entries(standardHeaders(id))) headers.push(`${name}: ${value}`)
  })
  return handshakes
}

/** What is sent waits in memory: a reader that lets too much wait is closed. */
const hostSocket = (socket: WebSocket, maxBuffered: number): HostSocket => ({
  send: (message) => {
    if (socket.readyState !== socket.OPEN) return
    socket.send(message)
    if (socket.bufferedAmount <= maxBuffered) return
    socket.close(TRY_AGAIN, "the reader is too slow")
    socket.terminate()
  },
  close: (code, reason) => {
    const bytes = Buffer.from(reason).subarray(0, MAX_REASON)
    socket.close(code, withoutTrailing(bytes.toString("utf8"), "\uFFFD"))
    setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS).unref()
  }
})

/** Time after which a closed socket is destroyed. */
const CLOSE_WITHIN_MS = 3_000

export const makeAgentHost = Effect.fn("AgentHost.make")(function* ({
  keepMs = KEEP_MS,
  maxBuffered = MAX_BUFFERED
}: AgentHostOptions = {}) {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const services = yield* Effect.context<never>()
  const fork = Effect.runForkWith(services)
  const handshakes = handshakeServer()
  const clients = new Map<string, ClientEntry>()
  const open = new Set<WebSocket>()

  const drop = (key: string): void => {
    const entry = clients.get(key)
    clients.delete(key)
    entry?.client.close()
  }

  /** Room for one more client of a caller: of those that are away, the one that has been away longest leaves. */
  const makeRoom = (callerId: string): boolean => {
    const ofCaller = [...clients].filter(([, { client }]) => client.backend.caller.id === callerId)
    const crowded = ofCaller.length >= MAX_CLIENTS_OF_CALLER ? ofCaller : [...clients]
    if (crowded.length < MAX_CLIENTS && crowded !== ofCaller) return true
    const [oldest] = crowded
      .filter(([, { client }]) => !client.isConnected)
      .toSorted(([, a], [, b]) => (a.awaySince ?? 0) - (b.awaySince ?? 0))
    if (oldest === undefined) return false
    drop(oldest[0])
    return true
  }

  yield* Effect.sync(() => {
    for (const [key, { awaySince, client }] of clients)
      if (client.hasEnded || (awaySince !== undefined && now() - awaySince > keepMs)) drop(key)
  }).pipe(Effect.andThen(Effect.sleep("1 second")), Effect.forever, Effect.forkScoped)
  yield* Effect.addFinalizer(() => Effect.sync(() => [...clients.keys()].forEach(drop)))

  const serve = (webSocket: WebSocket, backend: HostBackend): void => {
    const socket = hostSocket(webSocket, maxBuffered)
    const keyOf = (clientId: string): string => JSON.stringify([backend.caller.id, clientId])
    let key: string | undefined
    const connection = new Connection(
      {
        serverInfo: { name: "corral", version: VERSION },
        now,
        fork,
        begin: (clientId) => {
          const wanted = keyOf(clientId)
          drop(wanted)
          if (!makeRoom(backend.caller.id)) return undefined
          key = wanted
          const client = new HostClient({ clientId, backend, now, fork })
          new Dispatches(client).start()
          clients.set(key, { client, awaySince: undefined })
          return client
        },
        find: (clientId) => {
          const entry = clients.get(keyOf(clientId))
          if (entry === undefined || entry.client.hasEnded) return undefined
          key = keyOf(clientId)
          entry.awaySince = undefined
          return entry.client
        }
      },
      socket
    )
    open.add(webSocket)
    webSocket.on("message", (data, isBinary) => {
      // Messages are text frames, which arrive as one buffer.
      if (isBinary || !Buffer.isBuffer(data)) return socket.close(UNSUPPORTED_DATA, "text frames only")
      connection.receive(data.toString("utf8"))
    })
    webSocket.on("error", () => webSocket.terminate())
    webSocket.once("close", () => {
      open.delete(webSocket)
      connection.closed()
      const entry = key === undefined ? undefined : clients.get(key)
      if (entry !== undefined && !entry.client.isConnected) entry.awaySince = now()
    })
  }

  const host: AgentHost = {
    accept: ({ head, request, stream }, backend) =>
      handshakes.handleUpgrade(request, stream, head, (webSocket) => serve(webSocket, backend)),
    closeAll: Effect.sync(() => {
      for (const webSocket of open) {
        webSocket.close(GOING_AWAY, "the service stops")
        setTimeout(() => webSocket.terminate(), CLOSE_WITHIN_MS).unref()
      }
    })
  }
  return host
})

const UNSUPPORTED_DATA = 1003
