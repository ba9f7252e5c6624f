/** WebSocket through a preview's proxy: the upstream's handshake, then bytes in both directions until either side ends. */
import { Effect, type Scope } from "effect"
import { type IncomingMessage, request as httpRequest } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { handshakeProblem } from "@corral/service/http/Handshake"
import { refuseUpgrade } from "@corral/service/http/Refusal"
import { carryBytes } from "./CarriedBytes.ts"
import type { Unreachable } from "./Loopback.ts"
import type { toUpstreamHeaders } from "./ProxyHeaders.ts"
import type { PreviewRequest } from "./PreviewUpstream.ts"

/** Time until the upstream accepts. */
const HANDSHAKE_WITHIN = "10 seconds"

interface Upgraded {
  readonly answer: IncomingMessage
  readonly upstream: Duplex
  readonly rest: Buffer
}

export const proxyUpgrade = Effect.fnUntraced(function* (
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
