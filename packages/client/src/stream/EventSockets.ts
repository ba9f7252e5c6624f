/**
 * Event stream of many runs over a WebSocket: all runs of an Edge, or the runs of a session at a Hub.
 *
 * Each connection starts with the stored events of all of these runs.
 *
 * Guarantees: the events of each run once and in their order, across lost connections; a jump is reported as `missing`. Close codes become
 * errors: 4401 `unauthorized`, 4403 `permission_denied`, 4410 `replay_gap`.
 * Does not: send a token to a Hub from a browser, which cannot set headers on a WebSocket; there the cookie of the page's origin authenticates. Follow
 * one run with its own stream, which resumes by position and slows the service down instead of filling memory.
 */
import { directOptions } from "@corral/domain/http/DirectConnection"
import { hubCloseCodes } from "@corral/domain/http/StreamEnd"
import { envelopeOf, EventSequence, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { CorralError } from "../http/CorralError.ts"
import type { Transport } from "../http/Transport.ts"
import { Reconnection, type ReconnectionOptions } from "./Reconnection.ts"
import type { EventDecoder } from "./RunEvents.ts"

export interface EventSocketSource {
  readonly transport: Transport
  /** Path and query of the WebSocket. */
  readonly path: string
  /** Parameter of the query in which the service takes a token where headers cannot be set. */
  readonly tokenParameter?: string
  /** A request with the same authority. A refused WebSocket has no readable reason; this request has. */
  readonly probe: (signal: AbortSignal | undefined) => Promise<unknown>
}

/** Frames that are buffered before the socket is closed and opened again. */
const MAX_BUFFERED_FRAMES = 20_000

const closeErrors: ReadonlyMap<number, CorralError["code"]> = new Map([
  [hubCloseCodes.signInEnded, "unauthorized"],
  [hubCloseCodes.accessLost, "permission_denied"],
  [hubCloseCodes.replayGap, "replay_gap"]
])

/** Frames of one connection. Returns whether it was opened, when it ends without an error. */
async function* framesOf(
  { path, tokenParameter, transport }: EventSocketSource,
  signal: AbortSignal | undefined,
  onOpen: () => void
): AsyncGenerator<ReadonlyArray<string>, void> {
  const address = (transport.options.url + path).replace(/^http/, "ws")
  const socket = openSocket(address, await transport.authorization(), tokenParameter)
  let frames: Array<string> = []
  let end: { readonly error: CorralError | undefined } | undefined
  let wake = Promise.withResolvers<void>()
  const close = () => socket.close()
  socket.addEventListener("open", onOpen)
  socket.addEventListener("message", ({ data }) => {
    frames.push(String(data))
    if (frames.length > MAX_BUFFERED_FRAMES) close()
    wake.resolve()
  })
  socket.addEventListener("close", ({ code, reason }) => {
    const errorCode = closeErrors.get(code)
    end = {
      error:
        errorCode && new CorralError(errorCode, { message: reason || `The stream was closed with ${code}.` })
    }
    wake.resolve()
  })
  signal?.addEventListener("abort", close)
  try {
    for (;;) {
      await wake.promise
      wake = Promise.withResolvers()
      signal?.throwIfAborted()
      const batch = frames
      frames = []
      if (batch.length > 0) yield batch
      else if (end?.error !== undefined) throw end.error
      else if (end !== undefined) return
      if (end !== undefined) wake.resolve()
    }
  } finally {
    signal?.removeEventListener("abort", close)
    close()
  }
}

const openSocket = (
  address: string,
  headers: Readonly<Record<string, string>>,
  tokenParameter: string | undefined
): WebSocket => {
  const direct = directOptions(address)
  if (Object.keys(headers).length === 0 && direct.dispatcher === undefined) return new WebSocket(address)
  try {
    // Node's WebSocket accepts headers, which the types of the web do not declare.
    return new WebSocket(address, { headers, ...direct } as unknown as Array<string>)
  } catch (cause) {
    const token = headers["authorization"]?.slice("Bearer ".length)
    if (tokenParameter !== undefined && token !== undefined)
      return new WebSocket(`${address}?${tokenParameter}=${encodeURIComponent(token)}`)
    const message =
      "A browser cannot send a token on a WebSocket. Follow single runs, or use the cookie of the Hub."
    throw new CorralError("unauthorized", { message, status: 401, cause })
  }
}

/** Runs whose last position is remembered. */
const MAX_RUNS = 10_000

/** Events in the groups in which they arrive. Ends when the caller stops. */
export async function* socketEventBatches(
  source: EventSocketSource,
  decode: EventDecoder,
  options: ReconnectionOptions
): AsyncGenerator<ReadonlyArray<SequencedEvent>> {
  const { signal } = options
  const reconnection = new Reconnection(options)
  const sequences = new Map<string, EventSequence>()
  const sequenced = (frame: string): ReadonlyArray<SequencedEvent> => {
    const decoded = decodedFrame(decode, frame)
    if (decoded === undefined) return []
    const { runId } = envelopeOf(decoded)
    const sequence = sequences.get(runId) ?? new EventSequence(decode)
    sequences.delete(runId)
    sequences.set(runId, sequence)
    const [oldest] = sequences.size > MAX_RUNS ? sequences.keys() : []
    if (oldest !== undefined) sequences.delete(oldest)
    const next = sequence.nextOf(decoded._tag === "KnownEvent" ? decoded.event : decoded.envelope)
    return next === undefined ? [] : [next]
  }
  for (;;) {
    let error: unknown
    let isOpen = false
    const onOpen = () => {
      isOpen = true
      reconnection.connected()
    }
    try {
      for await (const frames of framesOf(source, signal, onOpen)) {
        const batch = frames.flatMap(sequenced)
        if (batch.length > 0) yield batch
      }
      if (!isOpen) await source.probe(signal)
    } catch (cause) {
      error = cause
    }
    await reconnection.next(error)
  }
}

const decodedFrame = (decode: EventDecoder, frame: string) => {
  try {
    return decode(JSON.parse(frame))
  } catch {
    return undefined
  }
}
