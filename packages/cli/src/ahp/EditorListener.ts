/**
 * Listener of `corral ahp`: takes an editor's connections on this machine, and opens one connection of the Agent Host Protocol to an Edge or a Hub for
 * each.
 *
 * Guarantees: it listens on loopback only. A connection needs the listener's token, is refused before the upgrade without it, and is refused from web
 * pages with it. An editor's connection is accepted only when that of the service is open: a refusal of the service is the refusal of the upgrade.
 * The terminal has one line for each reason, regardless of how often an editor tries, and another line when a connection succeeds again.
 * Its token is in `ahp.token` of the Corral home, the same for each start, because editors store it in their settings: a file that others can read is refused.
 * Does not: decide anything. The service authorizes each message by the sign-in of this terminal.
 */
import { MAX_MESSAGE_BYTES } from "@corral/agent-host/protocol/Messages"
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { RequestId } from "@corral/domain/identity/Ids"
import { fileReason } from "@corral/edge/store/FileReason"
import { mint } from "@corral/service/Identifiers"
import { makeFolder } from "@corral/service/MakeFolder"
import { isSameSecret } from "@corral/service/SecretComparison"
import { handshakeProblem } from "@corral/service/http/Connections"
import { type HttpRefusal, refuseUpgrade } from "@corral/service/http/Refusal"
import { loopbackHosts } from "@corral/service/http/RequestGuard"
import { Clock, Effect, FiberSet } from "effect"
import { randomBytes } from "node:crypto"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { WebSocket, WebSocketServer } from "ws"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { corralHome } from "../edge/EdgeLocation.ts"

// Token of the listener.

const TOKEN_FILE = "ahp.token"

const isToken = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

/** Reads the token. The first start of a home writes it. */
export const listenerToken: Effect.Effect<string, CommandFailed> = Effect.flatMap(corralHome, (home) => {
  const path = join(home, TOKEN_FILE)
  const stored = Effect.try({
    try: () => {
      const stat = statSync(path, { throwIfNoEntry: false })
      if (stat !== undefined) return { mode: stat.mode, text: readFileSync(path, "utf8").trim() }
      makeFolder(home)
      const text = randomBytes(32).toString("base64url")
      writeFileSync(path, `${text}\n`, { mode: 0o600, flag: "wx" })
      return { mode: 0o600, text }
    },
    catch: (cause) => refused(`Can't use ${path}: ${fileReason(cause)}.`)
  })
  return Effect.flatMap(stored, ({ mode, text }) => {
    if ((mode & 0o077) !== 0)
      return Effect.fail(
        refused(`Other users can read ${path}. Delete it: the next start writes another one.`)
      )
    return isToken(text)
      ? Effect.succeed(text)
      : Effect.fail(refused(`${path} is damaged. Delete it: the next start writes another one.`))
  })
})

// Two WebSockets joined as one: what an editor sends goes to the service, and the other way around, message by message. Memory is bounded, because a
// side is not read while the other one is full. When one side ends, the other one ends with the same code. A service that is silent for two checks
// ends both.

/** Bytes that wait for a side. Beyond the first, the other side is not read until there are fewer than the second. */
const FULL_BYTES = 4 * 1_048_576
const ROOM_BYTES = 1_048_576

/** No answer from the other side: a code that only programs see, never the wire. */
const NO_CODE = 1005
const ABNORMAL = 1006

/** RFC 6455: codes that an endpoint may send. */
const isSendable = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && code !== 1004 && code !== NO_CODE && code !== ABNORMAL) ||
  (code >= 3000 && code <= 4999)

const closeLike = (socket: WebSocket, code: number, reason: Buffer): void => {
  if (code === ABNORMAL) socket.terminate()
  else if (isSendable(code)) socket.close(code, reason)
  else socket.close()
}

const forward = (from: WebSocket, to: WebSocket): void => {
  const resume = () => {
    if (from.isPaused && to.bufferedAmount <= ROOM_BYTES) from.resume()
  }
  // Either side reports its errors by its end.
  from.on("error", () => undefined)
  from.on("message", (data, isBinary) => {
    to.send(data, { binary: isBinary }, resume)
    if (to.bufferedAmount > FULL_BYTES) from.pause()
  })
  from.once("close", (code: number, reason: Buffer) => closeLike(to, code, reason))
}

export class EditorBridge {
  private readonly editor: WebSocket
  private readonly service: WebSocket
  private isAlive = true

  constructor(editor: WebSocket, service: WebSocket) {
    this.editor = editor
    this.service = service
    forward(editor, service)
    forward(service, editor)
    service.on("pong", () => (this.isAlive = true))
  }

  /** Ends the connection of a service that has not answered since the last check. Called regularly. */
  check(): void {
    if (!this.isAlive) return this.service.terminate()
    this.isAlive = false
    // A paused socket reads no answer either.
    if (this.service.isPaused) this.isAlive = true
    else this.service.ping()
  }

  /** Ends both sides. Succeeds when the editor has answered. */
  end(code: number, reason: string): Effect.Effect<void> {
    return Effect.callback((resume) => {
      this.editor.once("close", () => resume(Effect.void))
      this.service.close(code)
      this.editor.close(code, reason)
    })
  }

  terminate(): void {
    this.service.terminate()
    this.editor.terminate()
  }
}

/** Where one connection of an editor goes. */
export interface EditorService {
  /** As lines of the terminal name it, such as `the Hub at https://corral.example`. */
  readonly name: string
  /** `ws:` or `wss:`. */
  readonly url: string
  /** Value of the header `Authorization`. */
  readonly authorization: string
}

export interface EditorListenerOptions {
  /** 0 takes any free port. */
  readonly port: number
  readonly token: string
  /** Finds the service again for each connection: a restarted Edge has another address, a renewed sign-in another token. */
  readonly service: Effect.Effect<EditorService, CommandFailed>
  /** Called with a line for the user of the terminal. */
  readonly report: (line: string) => void
}

const HOST = "127.0.0.1"
/** Connections at a time. A window of an editor has one. */
const MAX_CONNECTIONS = 32
const FULL = `${MAX_CONNECTIONS} connections are open, as many as one listener has.`
/** Largest message of a service. That of an editor is the host's. */
const MAX_SERVICE_BYTES = 64 * 1_048_576
const CONNECT_WITHIN_MS = 15_000
/** RFC 6455: the program ends. */
const GOING_AWAY = 1001

const denied = (message: string): HttpRefusal => ({ code: "permission_denied", message })

/** Why an editor's request for a connection is refused, if it is. */
const refusalOf = (
  { headers, url = "" }: IncomingMessage,
  hosts: ReadonlySet<string>,
  token: string
): HttpRefusal | undefined => {
  // Another name for this address could be a page's.
  if (!hosts.has(headers.host ?? "")) return denied(`The address is not one of ${[...hosts].join(", ")}.`)
  const { origin } = headers
  if (origin !== undefined && /^(?:https?:|null$)/iu.test(origin))
    return denied("Web pages can't connect to the listener.")
  const target = URL.parse(url, `http://${HOST}`)
  if (target?.pathname !== "/") return { code: "not_found", message: "The address has a path." }
  return isSameSecret(target.searchParams.get("tkn") ?? "", token)
    ? undefined
    : denied("The token is missing or wrong. Use the one that `corral ahp` prints.")
}

const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  401: "unauthorized",
  403: "permission_denied",
  404: "not_found",
  422: "schema_validation_failed",
  429: "rate_limited"
}

/** What the service has refused, as the editor and the terminal receive it. */
interface Refused {
  readonly refusal: HttpRefusal
  readonly line: string
}

const refusedBy = (service: string, status: number): Refused => {
  const code = codeOfStatus[status] ?? "overloaded"
  const result = `An editor was refused by ${service}`
  return {
    refusal: { code },
    line:
      code === "unauthorized"
        ? `${result}, which does not accept the sign-in of this terminal. Sign in again with \`corral login\`.`
        : `${result} with status ${status}.`
  }
}

const unreachable = (service: string): Refused => ({
  refusal: { code: "overloaded" },
  line: `Can't reach ${service}. Check that it is running. The editor tries again.`
})

/** Connects to the service. The socket is paused until the editor's is open. */
const connectTo = ({ authorization, name, url }: EditorService): Effect.Effect<WebSocket, Refused> =>
  Effect.callback((resume) => {
    const socket = new WebSocket(url, {
      headers: { authorization },
      maxPayload: MAX_SERVICE_BYTES,
      perMessageDeflate: false,
      handshakeTimeout: CONNECT_WITHIN_MS
    })
    socket.once("open", () => {
      socket.pause()
      resume(Effect.succeed(socket))
    })
    socket.once("unexpected-response", (request, response) => {
      resume(Effect.fail(refusedBy(name, response.statusCode ?? 0)))
      request.destroy()
    })
    socket.on("error", () => resume(Effect.fail(unreachable(name))))
    return Effect.sync(() => socket.terminate())
  })

const listening = (server: Server, port: number): Effect.Effect<number, CommandFailed> =>
  Effect.callback((resume) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      resume(
        Effect.fail(
          new CommandFailed({
            message:
              error.code === "EADDRINUSE"
                ? `Port ${port} is in use. Choose another one with --port; 0 takes any free port.`
                : `Can't listen on ${HOST}: ${error.code ?? "unknown error"}.`,
            exitCode: exitCodes.failed
          })
        )
      )
    )
    server.listen({ host: HOST, port }, () =>
      // Listening on a TCP port, a server has this kind of address.
      resume(Effect.succeed((server.address() as AddressInfo).port))
    )
  })

/** Ends every connection, by force after a second. */
const endAll = (bridges: ReadonlySet<EditorBridge>): Effect.Effect<void> =>
  Effect.forEach([...bridges], (bridge) => bridge.end(GOING_AWAY, "corral ahp has ended"), {
    concurrency: "unbounded",
    discard: true
  }).pipe(
    Effect.timeoutOption("1 second"),
    Effect.andThen(Effect.sync(() => bridges.forEach((bridge) => bridge.terminate())))
  )

/** Lines for the terminal: each reason once, until a connection succeeds. */
const refusalLines = (report: (line: string) => void) => {
  const shown = new Set<string>()
  return {
    refused: (line: string): void => {
      if (shown.has(line)) return
      shown.add(line)
      report(line)
    },
    connected: (): void => {
      if (shown.size > 0) report("An editor is connected.")
      shown.clear()
    }
  }
}

/** Serves editors until the scope closes. Returns the port. */
export const serveEditors = Effect.fn("EditorListener.serve")(function* (options: EditorListenerOptions) {
  const { port, report, service, token } = options
  const clock = yield* Clock.Clock
  const run = yield* FiberSet.makeRuntime()
  const bridges = new Set<EditorBridge>()
  const lines = refusalLines(report)
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_MESSAGE_BYTES
  })
  const newRequestId = () => mint<RequestId>("req", clock.currentTimeMillisUnsafe())
  let connecting = 0

  const join = (request: IncomingMessage, stream: Duplex, head: Buffer, socket: WebSocket): void => {
    if (stream.destroyed) return socket.terminate()
    handshakes.handleUpgrade(request, stream, head, (editor) => {
      const bridge = new EditorBridge(editor, socket)
      bridges.add(bridge)
      lines.connected()
      editor.once("close", () => bridges.delete(bridge))
      socket.resume()
    })
  }

  const accept = (
    request: IncomingMessage,
    stream: Duplex,
    head: Buffer,
    hosts: ReadonlySet<string>
  ): void => {
    stream.on("error", () => undefined)
    const full: HttpRefusal | undefined =
      bridges.size + connecting < MAX_CONNECTIONS ? undefined : { code: "overloaded", message: FULL }
    const refusal = refusalOf(request, hosts, token) ?? handshakeProblem(request) ?? full
    if (refusal !== undefined) {
      lines.refused(`A connection was refused. ${refusal.message ?? "It is not one of an editor."}`)
      return refuseUpgrade(stream, refusal, newRequestId())
    }
    connecting++
    const connected = service.pipe(
      Effect.mapError(({ message }): Refused => ({
        refusal: { code: "overloaded", message },
        line: message
      })),
      Effect.flatMap(connectTo),
      Effect.match({
        onSuccess: (socket) => join(request, stream, head, socket),
        onFailure: ({ line, refusal }) => {
          lines.refused(line)
          refuseUpgrade(stream, refusal, newRequestId())
        }
      }),
      Effect.ensuring(Effect.sync(() => connecting--))
    )
    run(connected)
  }

  const server = createServer((_, response) => void response.writeHead(426, { Upgrade: "websocket" }).end())
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      Effect.sync(() => server.close()),
      endAll(bridges)
    )
  )
  const bound = yield* listening(server, port)
  const hosts = new Set(loopbackHosts(bound))
  server.on("upgrade", (request, stream, head) => accept(request, stream, head, hosts))
  yield* Effect.sync(() => bridges.forEach((bridge) => bridge.check())).pipe(
    Effect.delay("20 seconds"),
    Effect.forever,
    Effect.forkScoped
  )
  return bound
})
