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
  /** Milliseconds within which a connection has to begin. */
  readonly beginWithinMs?: number
}

const KEEP_MS = 600_000
const MAX_BUFFERED = 33_554_432
const MAX_CLIENTS = 1_000
/** Of one user, over all workspaces. */
const MAX_CLIENTS_OF_USER = 128
const BEGIN_WITHIN_MS = 30_000
const GOING_AWAY = 1001
const TRY_AGAIN = 1013
const POLICY_VIOLATION = 1008
const NORMAL = 1000
/** Longest reason of a close frame, in bytes. */
const MAX_REASON = 120

interface ClientEntry {
  readonly client: HostClient
  /** Unix milliseconds since when the client is away. */
  awaySince: number | undefined
}

interface OpenConnection {
  readonly connection: Connection
  readonly socket: HostSocket
  /** Unix milliseconds. */
  readonly since: number
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
  beginWithinMs = BEGIN_WITHIN_MS,
  keepMs = KEEP_MS,
  maxBuffered = MAX_BUFFERED
}: AgentHostOptions = {}) {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const services = yield* Effect.context<never>()
  const fork = Effect.runForkWith(services)
  const handshakes = handshakeServer()
  const clients = new Map<string, ClientEntry>()
  const open = new Set<OpenConnection>()

  const drop = (key: string): void => {
    const entry = clients.get(key)
    clients.delete(key)
    entry?.client.close()
  }

  /** Room for one more client of a user: of those that are away, the one that has been away longest leaves. */
  const makeRoom = (userId: string): boolean => {
    const ofUser = [...clients].filter(([, { client }]) => client.backend.caller.userId === userId)
    const crowded = ofUser.length >= MAX_CLIENTS_OF_USER ? ofUser : [...clients]
    if (crowded.length < MAX_CLIENTS && crowded !== ofUser) return true
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
    for (const { connection, since, socket } of open)
      if (connection.isUnused && now() - since > beginWithinMs)
        socket.close(POLICY_VIOLATION, "the client did not begin")
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
          clients.get(wanted)?.client.end(NORMAL, "another connection of this client")
          drop(wanted)
          if (!makeRoom(backend.caller.userId)) return undefined
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
    const opened: OpenConnection = { connection, socket, since: now() }
    open.add(opened)
    webSocket.on("message", (data, isBinary) => {
      // Messages are text frames, which arrive as one buffer.
      if (isBinary || !Buffer.isBuffer(data)) return socket.close(UNSUPPORTED_DATA, "text frames only")
      connection.receive(data.toString("utf8"))
    })
    webSocket.on("error", () => webSocket.terminate())
    webSocket.once("close", () => {
      open.delete(opened)
      connection.closed()
      const entry = key === undefined ? undefined : clients.get(key)
      if (entry !== undefined && !entry.client.isConnected) entry.awaySince = now()
    })
  }

  const host: AgentHost = {
    accept: ({ head, request, stream }, backend) =>
      handshakes.handleUpgrade(request, stream, head, (webSocket) => serve(webSocket, backend)),
    closeAll: Effect.sync(() => {
      for (const { socket } of open) socket.close(GOING_AWAY, "the service stops")
    })
  }
  return host
})

const UNSUPPORTED_DATA = 1003
