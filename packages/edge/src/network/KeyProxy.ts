/**
 * Connections of a run to the services of its keys. The proxy ends their TLS with a certificate of the run's authority, reads each request of
 * HTTP/1.1, and puts the key where its placeholder is. Keys in responses become asterisks.
 *
 * Guarantees: a request goes to the service of its connection, regardless of what it names. A key is sent only over a connection whose certificate was
 * verified, or to an address with `http` that the owner wrote. Bodies are streamed in both directions. A response contains no key.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { refuseRequest } from "@corral/service/http/Refusal"
import { Effect } from "effect"
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http"
import { type Duplex, Transform, type TransformCallback } from "node:stream"
import { pipeline } from "node:stream/promises"
import { type SecureContext, TLSSocket, connect, createSecureContext, rootCertificates } from "node:tls"
import { hopByHop, withoutHeaders } from "../preview/ProxyHeaders.ts"
import {
  ConnectionRefused,
  connectTarget,
  exchangeHttp,
  orRefused,
  type ProxyConnectionOptions
} from "./ProxyConnection.ts"
import { isSameTarget, type KeyedService, keyHeaders } from "./KeyServices.ts"
import { type RefusalReason, networkRefusal } from "./HostDecisions.ts"
import { type NetworkTarget, showTarget, targetOfAuthority } from "./NetworkTarget.ts"
import type { SignedCertificate } from "./RunAuthority.ts"
import { type Socket, isIP } from "node:net"

// Keys in responses, replaced by asterisks of the same length, also across the chunks of a stream.
//
// Guarantees: bytes wait only while they may be the beginning of a key, so at most the length of a key.
//
// Does not: find a key in another encoding. Compressed responses to requests with a key are refused.

const ASTERISK = 42

export class KeyRedaction extends Transform {
  readonly #keys: ReadonlyArray<Buffer>
  #waiting: Buffer = Buffer.alloc(0)

  constructor(keys: ReadonlyArray<string>) {
    super()
    this.#keys = keys.map((key) => Buffer.from(key))
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const bytes = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk])
    for (const key of this.#keys) {
      for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + key.length))
        bytes.fill(ASTERISK, at, at + key.length)
    }
    const ready = bytes.length - this.#unfinished(bytes)
    this.#waiting = bytes.subarray(ready)
    done(null, bytes.subarray(0, ready))
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#waiting)
  }

  /** Length of the end that may be the beginning of a key. */
  #unfinished(bytes: Buffer): number {
    const longest = Math.max(0, ...this.#keys.map(({ length }) => length - 1))
    for (let length = Math.min(longest, bytes.length); length > 0; length--) {
      const end = bytes.subarray(bytes.length - length)
      if (this.#keys.some((key) => key.length > length && key.subarray(0, length).equals(end))) return length
    }
    return 0
  }
}

/** A header's value without keys. */
export const redactedHeader = <A extends number | string | ReadonlyArray<string> | undefined>(
  keys: ReadonlyArray<string>,
  value: A
): A | string | ReadonlyArray<string> => {
  const redact = (text: string) =>
    keys.reduce((rest, key) => rest.replaceAll(key, "*".repeat(key.length)), text)
  if (typeof value === "string") return redact(value)
  return Array.isArray(value) ? value.map((each: string) => redact(each)) : value
}

// TLS on a connection of a run's proxy to a service. The certificate of the service is verified, regardless of the Edge's environment.

const WITHIN = "10 seconds"

/** What the Edge trusts. `authorities`: PEM, in addition to those that Node trusts. Reading them takes 40 ms, so contexts are shared. */
const trustingContext = (authorities: ReadonlyArray<string> | undefined): SecureContext =>
  createSecureContext({
    minVersion: "TLSv1.2",
    ...(authorities === undefined ? {} : { ca: [...rootCertificates, ...authorities] })
  })

/** Fails with `certificate` if the certificate is not valid for the host. */
const secureConnection = (
  socket: Socket,
  host: string,
  secureContext: SecureContext
): Effect.Effect<TLSSocket, RefusalReason> =>
  Effect.callback<TLSSocket, RefusalReason>((resume) => {
    const secured = connect({
      socket,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ALPNProtocols: ["http/1.1"],
      rejectUnauthorized: true,
      secureContext
    })
    secured.once("secureConnect", () => resume(Effect.succeed(secured)))
    secured.on("error", () => {
      // Set by Node if the verification failed. Its type lacks `null`.
      const reason: unknown = secured.authorizationError
      resume(Effect.fail(reason === undefined || reason === null ? "unreachable" : "certificate"))
    })
    return Effect.sync(() => void secured.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: WITHIN, orElse: () => Effect.fail("unreachable" as const) }))

export interface KeyProxyOptions extends ProxyConnectionOptions {
  readonly newId: () => RequestId
  /** Starts the effect of a request. */
  readonly fork: (effect: Effect.Effect<void>) => void
}

const MAX_HEAD_BYTES = 65_536
const WEB_PORTS = { http: 80, https: 443 }

const schemeOf = ({ isSecure }: KeyedService) => (isSecure ? "https" : "http")

/** Value of `host` for the service. */
const authorityOf = (service: KeyedService): string => {
  const shown = showTarget(service.target)
  const suffix = `:${WEB_PORTS[schemeOf(service)]}`
  return shown.endsWith(suffix) ? shown.slice(0, -suffix.length) : shown
}

const namesService = (service: KeyedService, host: string): boolean => {
  const target = targetOfAuthority(host) ?? targetOfAuthority(`${host}:${WEB_PORTS[schemeOf(service)]}`)
  return target !== undefined && isSameTarget(target, service.target)
}

/** Values of `content-encoding` whose bytes are the text. */
const isPlain = ({ headers }: IncomingMessage): boolean =>
  ["", "identity"].includes((headers["content-encoding"] ?? "").trim().toLowerCase())

export class KeyProxy {
  readonly #services: ReadonlyArray<KeyedService>
  readonly #contexts: ReadonlyMap<KeyedService, SecureContext>
  readonly #servers = new Map<KeyedService, Server>()
  readonly #options: KeyProxyOptions
  /** From the first request on. */
  #trusted: SecureContext | undefined

  /** `certificates`: for each service with TLS. */
  constructor(
    services: ReadonlyArray<KeyedService>,
    certificates: ReadonlyMap<KeyedService, SignedCertificate>,
    options: KeyProxyOptions
  ) {
    this.#services = services
    this.#contexts = new Map(
      [...certificates].map(([service, pair]) => [
        service,
        createSecureContext({ ...pair, minVersion: "TLSv1.2" })
      ])
    )
    this.#options = options
  }

  /** The service at a target, if the proxy reads its connections. */
  serviceAt(target: NetworkTarget): KeyedService | undefined {
    return this.#services.find((service) => isSameTarget(service.target, target))
  }

  /** Serves a connection until it closes. */
  serve(service: KeyedService, client: Duplex): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const end = () => resume(Effect.void)
      client.on("error", end)
      client.once("close", end)
      this.#server(service).emit("connection", this.#decrypted(service, client))
      return Effect.sync(() => void client.destroy())
    })
  }

  /** Forwards a request for the service with `path`, and answers it. */
  forward(
    service: KeyedService,
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    id: RequestId
  ): Effect.Effect<void> {
    return orRefused(
      this.#options,
      response,
      id,
      relay(this.#options, this.#trust(), service, path, request, response)
    )
  }

  #trust(): SecureContext {
    return (this.#trusted ??= trustingContext(this.#options.access.authorities))
  }

  #decrypted(service: KeyedService, client: Duplex): Duplex {
    const secureContext = this.#contexts.get(service)
    if (secureContext === undefined) return client
    const secured = new TLSSocket(client, {
      isServer: true,
      secureContext,
      ALPNProtocols: ["http/1.1"]
    })
    // Also a client that does not trust the certificate.
    secured.on("error", () => client.destroy())
    return secured
  }

  /** A server that listens nowhere: it reads the requests of the connections that it receives. */
  #server(service: KeyedService): Server {
    const present = this.#servers.get(service)
    if (present !== undefined) return present
    const { fork, newId } = this.#options
    const server = createServer({ maxHeaderSize: MAX_HEAD_BYTES, requestTimeout: 0, noDelay: true })
    server.on("request", (request, response) => {
      const { headers, url = "" } = request
      const { target } = service
      if (!url.startsWith("/") || !namesService(service, headers.host ?? ""))
        return void refuseRequest(response, networkRefusal("other_host", target), newId())
      if (headers.upgrade?.toLowerCase() === "websocket") return void response.writeHead(426).end()
      fork(this.forward(service, url, request, response, newId()))
    })
    this.#servers.set(service, server)
    return server
  }
}

/** Sends the request with the key where its placeholder is, and its response without keys. */
const relay = Effect.fnUntraced(function* (
  options: KeyProxyOptions,
  trusted: SecureContext,
  service: KeyedService,
  path: string,
  request: IncomingMessage,
  response: ServerResponse
) {
  const { isSecure, keys, target } = service
  const socket = yield* connectTarget(options, target)
  const refused = (reason: ConnectionRefused["reason"]) => new ConnectionRefused({ reason, target })
  const upstream = isSecure
    ? yield* Effect.mapError(secureConnection(socket, target.host, trusted), refused)
    : socket
  const secrets = keys.map(({ key }) => key)
  const headers = keyHeaders(service, request.headers)
  const isKeyed = Object.keys(headers).length > 0
  const answer = yield* exchangeHttp(upstream, request, {
    path,
    authority: authorityOf(service),
    // A key in a compressed response is not found.
    headers: isKeyed ? { ...headers, "accept-encoding": "identity" } : {}
  })
  if (answer === undefined) return yield* refused("unreachable")
  if (isKeyed && !isPlain(answer)) return yield* refused("encoded")
  const shown = Object.entries(withoutHeaders(answer.headers, hopByHop)).map(([name, value]) => [
    name,
    redactedHeader(secrets, value)
  ])
  yield* Effect.tryPromise(async (signal) => {
    response.writeHead(answer.statusCode ?? 502, Object.fromEntries(shown))
    // Before the first byte of the body: clients of event streams wait for it.
    response.flushHeaders()
    await pipeline(answer, new KeyRedaction(secrets), response, { signal })
  }).pipe(Effect.catch(() => Effect.sync(() => void response.destroy())))
})
