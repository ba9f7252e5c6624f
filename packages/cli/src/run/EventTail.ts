/**
 * Events of one run from the stream of an Edge or a Hub.
 *
 * Guarantees: each event once and in order, across lost connections. A lost connection is opened again after the last event. The stream ends
 * with the run's last event.
 * Does not: continue when the service stays unreachable, refuses the stream or no longer keeps the next events. Then the stream fails.
 */
import { closeCodes, PING_EVERY_SECONDS } from "@corral/domain/http/StreamEnd"
import type { RunId } from "@corral/domain/identity/Ids"
import {
  type DecodedEvent,
  envelopeOf,
  EventSequence,
  type MissingEvents
} from "@corral/domain/run/EventSequence"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { type Cause, Data, Effect, Queue, Random, Redacted, Result, Stream } from "effect"
import { WebSocket } from "ws"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { failureFromResponse } from "../edge/EdgeClient.ts"
import { failureFromHub } from "../hub/HubRefusal.ts"
import type { EdgeEndpoint } from "../edge/EdgeLocation.ts"

/** Address of the stream and the service that serves it. */
export interface StreamEndpoint extends EdgeEndpoint {
  readonly service: "Edge" | "Hub"
}

export interface TailedEvent {
  /** The envelope as it was sent. */
  readonly text: string
  readonly decoded: DecodedEvent
}

export interface TailOptions {
  /** Resolved before every connection: a restarted Edge may have another address. */
  readonly endpoint: Effect.Effect<StreamEndpoint, CommandFailed>
  readonly runId: RunId
  /** The command that follows the run again, without `--after`. */
  readonly attach: string
  /** The last `seq` that the caller has; 0 is the start. */
  readonly after: number
  readonly onConnection: (state: "lost" | "restored") => void
  /** Called for events that the service did not send. */
  readonly onMissing?: (missing: MissingEvents) => void
}

/** A connection that may be opened again. */
class Lost extends Data.TaggedError("Lost")<{}> {}

const SILENCE_MS = PING_EVERY_SECONDS * 2_500
/** Frames that are buffered before the socket is paused. */
const MAX_BUFFERED_FRAMES = 1_024
const TRIES = 10
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 5_000

interface Connection {
  readonly endpoint: StreamEndpoint
  readonly runId: RunId
  readonly after: number
  /** The command that continues after this connection. */
  readonly attach: string
  readonly onActivity: () => void
}

const openSocket = ({ after, endpoint: { service, token, url }, runId }: Connection) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const path = service === "Hub" ? "client" : "v1"
      const address = `${url.replace(/^http/, "ws")}/${path}/events?runId=${runId}&after=${after}`
      const headers = { authorization: `Bearer ${Redacted.value(token)}` }
      return new WebSocket(address, { headers, perMessageDeflate: false, handshakeTimeout: 10_000 })
    }),
    (socket) => Effect.sync(() => socket.terminate())
  )

/** Frames of one connection, until the service ends the stream. */
const framesOf = (connection: Connection): Stream.Stream<string, Lost | CommandFailed> =>
  Stream.suspend(() => {
    let resume = () => {}
    return Stream.callback<string, Lost | CommandFailed>((queue) =>
      Effect.map(openSocket(connection), (socket) => {
        resume = () => socket.resume()
        receiveFrames(socket, connection, queue)
      })
    ).pipe(Stream.tap(() => Effect.sync(() => resume())))
  })

const receiveFrames = (
  socket: WebSocket,
  { after, attach, endpoint: { service, url }, onActivity, runId }: Connection,
  queue: Queue.Queue<string, Lost | CommandFailed | Cause.Done>
): void => {
  const fail = (error: Lost | CommandFailed) => Effect.runSync(Queue.fail(queue, error))
  const silence = setTimeout(() => socket.terminate(), SILENCE_MS)
  const noteActivity = () => {
    silence.refresh()
    onActivity()
  }
  socket.on("ping", noteActivity)
  socket.on("message", (data) => {
    noteActivity()
    Queue.offerUnsafe(queue, String(data))
    if (Queue.sizeUnsafe(queue) > MAX_BUFFERED_FRAMES) socket.pause()
  })
  socket.on("unexpected-response", (_request, response) => {
    let body = ""
    response.setEncoding("utf8").on("data", (part: string) => (body += part))
    response.on("end", () => {
      const status = response.statusCode ?? 0
      const refusal = () =>
        service === "Hub" ? failureFromHub(status, body, url) : failureFromResponse(status, body, service)
      fail(status === 429 || status >= 500 ? new Lost() : refusedStream(refusal(), status, attach))
    })
  })
  socket.on("error", () => fail(new Lost()))
  socket.on("close", (code) => {
    clearTimeout(silence)
    if (code === closeCodes.ended) Queue.endUnsafe(queue)
    else fail(code === closeCodes.replayGap ? replayGap(service, runId, after) : new Lost())
  })
}

const replayGap = (service: string, runId: RunId, after: number): CommandFailed =>
  new CommandFailed({
    message: `The ${service} no longer keeps the events of ${runId} after ${after} (replay_gap).`,
    exitCode: exitCodes.failed,
    code: "replay_gap"
  })

const connectionLost = (attach: string): CommandFailed =>
  new CommandFailed({
    message: `Lost connection to the server. The run may still be in progress. ${attach}`,
    exitCode: exitCodes.failed
  })

/** A refusal of the stream. The run continues, so a lost permission does not end the command as a refused run. */
const refusedStream = (refusal: CommandFailed, status: number, attach: string): CommandFailed =>
  status !== 401 && status !== 403
    ? refusal
    : new CommandFailed({
        ...refusal,
        message: `${refusal.message} The run is still in progress. ${attach}`,
        exitCode: exitCodes.failed
      })

/** The run's events after `after`, up to the last one. */
export const tail = ({
  after,
  attach,
  endpoint,
  onConnection,
  onMissing,
  runId
}: TailOptions): Stream.Stream<TailedEvent, CommandFailed> =>
  Stream.suspend(() => {
    const sequence = new EventSequence(decodeReceivedEvent, after)
    let failures = 0
    const attachCommand = () => `Follow it again: \`${attach} --after ${sequence.lastSeq}\``
    const onActivity = () => {
      if (failures > 0) onConnection("restored")
      failures = 0
    }
    const pause = Effect.gen(function* () {
      if (failures === 0) onConnection("lost")
      if (++failures > TRIES) return yield* connectionLost(attachCommand())
      const longest = Math.min(FIRST_DELAY_MS * 2 ** failures, LONGEST_DELAY_MS)
      yield* Effect.sleep(yield* Random.nextBetween(longest / 2, longest))
    })
    const eventIn = (text: string): Result.Result<TailedEvent, void> => {
      const next = sequence.next(text)
      if (next === undefined) return Result.failVoid
      if (next.missing !== undefined) onMissing?.(next.missing)
      return Result.succeed({ text, decoded: next.decoded })
    }
    const follow = (): Stream.Stream<TailedEvent, CommandFailed> =>
      Stream.unwrap(
        endpoint.pipe(
          Effect.mapError(() => new Lost()),
          Effect.map((at) =>
            framesOf({ endpoint: at, runId, after: sequence.lastSeq, attach: attachCommand(), onActivity })
          )
        )
      ).pipe(
        Stream.filterMap(eventIn),
        Stream.catchTag("Lost", () =>
          Stream.concat(Stream.drain(Stream.fromEffect(pause)), Stream.suspend(follow))
        )
      )
    return Stream.takeUntil(follow(), ({ decoded }) => isTerminalType(envelopeOf(decoded).type))
  })
