/**
 * Connection of a run's proxy to a target, if the run may have one, to an address that was judged, and one request on a separate connection. Also
 * the credentials of a run for its proxy.
 */
import { hopByHop, withoutHeaders } from "../preview/ProxyHeaders.ts"
import { type HostPermission, networkRefusal, type RefusalReason } from "./HostDecisions.ts"
import { reachableAddresses } from "./HostEntry.ts"
import type { NetworkAccess } from "./NetworkAccess.ts"
import type { NetworkTarget } from "./NetworkTarget.ts"
import type { RequestId } from "@corral/domain/identity/Ids"
import { refuseRequest } from "@corral/service/http/Refusal"
import { Data, Effect, type Scope } from "effect"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse
} from "node:http"
import { isIP, type Socket } from "node:net"
import type { Duplex } from "node:stream"

// Credentials of one run for its proxy, where the proxy is on a port that other programs of this machine reach, too.
//
// Guarantees: two runs have different credentials. The comparison takes the same time for every candidate.
//
// Does not: hide them from programs that can read the environment of the run.

const USER = "run"
const SECRET_BYTES = 24

const hash = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Response to a request without credentials, and the end of its connection. Some clients send them only after it. */
export const refuseStranger = (client: Duplex): void => {
  const head = [
    "HTTP/1.1 407 Proxy Authentication Required",
    'Proxy-Authenticate: Basic realm="corral"',
    "Content-Length: 0",
    "Connection: close"
  ]
  client.end([...head, "", ""].join("\r\n"))
  // The client may send more, or nothing. Its end is not seen without reading.
  client.once("finish", () => client.destroy()).resume()
}

export class ProxyCredentials {
  readonly #secret = randomBytes(SECRET_BYTES).toString("hex")
  readonly #header = hash(`Basic ${Buffer.from(`${USER}:${this.#secret}`).toString("base64")}`)

  /** Address of the proxy on this port of the machine, for the variables of the run. */
  addressOf(port: number): string {
    return `http://${USER}:${this.#secret}@127.0.0.1:${port}`
  }

  /** Whether a request has the credentials. */
  admits({ "proxy-authorization": header = "" }: IncomingHttpHeaders): boolean {
    return timingSafeEqual(hash(header), this.#header)
  }
}

export interface ProxyConnectionOptions {
  readonly access: NetworkAccess
  readonly permissionFor: (target: NetworkTarget) => Effect.Effect<HostPermission>
  readonly onRefused: (reason: RefusalReason, target: NetworkTarget | undefined) => void
}

export class ConnectionRefused extends Data.TaggedError("ConnectionRefused")<{
  readonly reason: RefusalReason
  readonly target: NetworkTarget | undefined
}> {}

/** A connection to the target, if it is allowed. */
export const connectTarget = Effect.fnUntraced(function* (
  { access, permissionFor }: ProxyConnectionOptions,
  target: NetworkTarget | undefined
): Effect.fn.Return<Socket, ConnectionRefused, Scope.Scope> {
  const refuse = (reason: RefusalReason) => new ConnectionRefused({ reason, target })
  if (target === undefined) return yield* refuse("malformed")
  const permission = yield* permissionFor(target)
  if (permission._tag === "Refused") return yield* refuse(permission.reason)
  const connection = Effect.gen(function* () {
    const addresses = isIP(target.host) === 0 ? yield* access.resolve(target.host) : [target.host]
    const reachable = reachableAddresses(target, permission.reach, addresses, access.ownAddresses())
    return reachable.length === 0 ? undefined : yield* access.connect(reachable, target.port)
  })
  const socket = yield* Effect.mapError(connection, ({ reason }) => refuse(reason))
  return socket ?? (yield* refuse("local_address"))
})

/** Carries out a request, with its refusal as the response. */
export const orRefused = (
  { onRefused }: ProxyConnectionOptions,
  response: ServerResponse,
  id: RequestId,
  exchange: Effect.Effect<void, ConnectionRefused, Scope.Scope>
): Effect.Effect<void> =>
  exchange.pipe(
    Effect.scoped,
    Effect.catchTag("ConnectionRefused", ({ reason, target }) =>
      Effect.sync(() => {
        onRefused(reason, target)
        refuseRequest(response, networkRefusal(reason, target), id)
      })
    ),
    Effect.onInterrupt(() => Effect.sync(() => void response.destroy()))
  )

/** One request of a run's proxy. */
interface ForwardedRequest {
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
