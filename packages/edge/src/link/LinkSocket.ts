/**
 * WebSocket of one link and the calls over it, until the scope closes, with its times and the reason for its end.
 *
 * Guarantees: when the socket closes, or the Hub is silent for too long, every call fails and `closed` has the reason.
 *
 * Does not: reconnect.
 */
import { EdgeLink, LinkFailure, MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import { firstCharacters } from "@corral/domain/text/Cut"
import { Data, Deferred, Effect, Schedule, Schema } from "effect"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { RpcClientError } from "effect/rpc/RpcClientError"
import { Socket } from "effect/socket"
import { WebSocket } from "ws"

export class LinkEnd extends Data.TaggedError("LinkEnd")<{
  /**
   * `fenced`: another Edge connected as the device. `unauthorized`: the Hub rejects the proof. `stopped`: the Hub stops, and another may be
   * available. `broken`: any other reason.
   */
  readonly why: "fenced" | "unauthorized" | "stopped" | "broken"
  readonly message: string
  /** Whether the Hub acknowledged an event over the link. */
  readonly useful: boolean
}> {}

/** Ends the link because of the Hub's behaviour. */
export const brokenLink = (message: string): Effect.Effect<never, LinkEnd> =>
  Effect.fail(new LinkEnd({ why: "broken", message, useful: false }))

/** Close codes of a Hub: of RFC 6455 when it stops, and the Hub's own. */
const FENCED = 4409
const STOPS = [1001, 1012]

export const endOfClose = ({ code, reason }: LinkClosed): Pick<LinkEnd, "why" | "message"> => {
  if (code === FENCED) return { why: "fenced", message: "a newer link has taken this device over" }
  if (STOPS.includes(code)) return { why: "stopped", message: "the Hub stops" }
  return { why: "broken", message: reason === "" ? `the Hub closed it (${code})` : oneLine(reason) }
}

const isFailure = Schema.is(LinkFailure)

/**
 * Refusal of a call, if `error` is one. `unknown`, because a Hub can send a frame that fails all calls with any JSON value, which the library
 * does not decode.
 */
export const failureOf = (error: unknown): LinkFailure | undefined =>
  isFailure(error) ? { code: error.code, message: oneLine(error.message) } : undefined

/** End of a link because of a failed call. */
export const endOfError = (error: unknown, proving: boolean): LinkEnd => {
  if (error instanceof LinkEnd) return error
  const failure = failureOf(error)
  if (failure !== undefined) return new LinkEnd({ ...endOfFailure(failure, proving), useful: false })
  if (!(error instanceof RpcClientError))
    return new LinkEnd({ why: "broken", message: "the Hub sent an invalid answer", useful: false })
  const { reason } = error
  if (reason._tag === "SocketCloseError")
    return new LinkEnd({
      ...endOfClose({ code: reason.code, reason: reason.closeReason ?? "" }),
      useful: false
    })
  return new LinkEnd({ why: "broken", message: "the Hub is not reached", useful: false })
}

/** Refusal code of a call. Only the refusal of a proof is final. */
const endOfFailure = (
  { code, message }: LinkFailure,
  proving: boolean
): Pick<LinkEnd, "why" | "message"> => ({
  why: code === "conflict" ? "fenced" : code === "unauthorized" && proving ? "unauthorized" : "broken",
  message: oneLine(message)
})

/** Text of the Hub, for the log. */
const oneLine = (text: string): string =>
  firstCharacters(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "), 300)

// Times of the link, in milliseconds.

export interface LinkTimes {
  /** Ping interval, and the silence after which the link counts as broken. */
  readonly ping: number
  readonly silence: number
  /** Maximum delay before a reconnection: after the first failure, and after many. */
  readonly minDelay: number
  readonly maxDelay: number
  /** Minimum delay before a reconnection after another Edge connected as the device. Up to a third is added. */
  readonly fenced: number
  /** Interval between checks of the device file. */
  readonly look: number
  /** Time for the acknowledgement of a push. A Hub whose database does not answer in time ends the link sooner than this. */
  readonly acknowledge: number
  /** Time for a stopping Edge to push remaining events. */
  readonly goodbye: number
}

export const defaultTimes: LinkTimes = {
  ping: 5_000,
  silence: 10_000,
  minDelay: 200,
  maxDelay: 10_000,
  fenced: 30_000,
  look: 1_000,
  acknowledge: 90_000,
  goodbye: 1_500
}

const OPEN_MS = 10_000
/** Timeout of the closing handshake. */
const CLOSE_MS = 1_000

/** Maximum bytes in the send buffer: many times the largest answer. */
const MAX_BUFFERED = 16 * MAX_FRAME_BYTES

/** `code` is RFC 6455's, 1006 without one. `reason` is from the Hub or the system. */
interface LinkClosed {
  readonly code: number
  readonly reason: string
}

/** `address` is the result of `linkAddressOf`. */
export const openLink = Effect.fnUntraced(function* (address: string, { ping, silence }: LinkTimes) {
  const closed = Deferred.makeUnsafe<LinkClosed>()
  let dialled: WebSocket | undefined
  const acquire = Effect.acquireRelease(
    Effect.sync(() => {
      const socket = new WebSocket(address, {
        maxPayload: MAX_FRAME_BYTES,
        perMessageDeflate: false,
        handshakeTimeout: OPEN_MS,
        followRedirects: false
      })
      dialled = socket
      let reason = ""
      socket.on("error", ({ message }) => (reason = message))
      socket.on("close", (code, closeReason) =>
        Deferred.doneUnsafe(closed, Effect.succeed({ code, reason: closeReason.toString() || reason }))
      )
      return socket
    }),
    (socket) =>
      Effect.suspend(() => {
        socket.close(1001)
        return Deferred.await(closed).pipe(
          Effect.timeoutOrElse({ duration: CLOSE_MS, orElse: () => Effect.sync(() => socket.terminate()) })
        )
      })
  )
  const socket = yield* Socket.fromWebSocket(acquire, { openTimeout: OPEN_MS })
  const protocol = yield* RpcClient.makeProtocolSocket({
    pingInterval: ping,
    pingTimeout: silence,
    retryPolicy: Schedule.recurs(0)
  }).pipe(Effect.provideService(Socket.Socket, socket), Effect.provide(RpcSerialization.layerJson))
  const calls = yield* RpcClient.make(EdgeLink, { disableTracing: true }).pipe(
    Effect.provideService(RpcClient.Protocol, protocol)
  )
  return {
    calls,
    closed: Deferred.await(closed),
    /** Whether the send buffer is larger than a Hub that reads would allow. */
    isCongested: () => (dialled?.bufferedAmount ?? 0) > MAX_BUFFERED
  }
})
