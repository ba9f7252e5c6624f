/**
 * One run's events from the stream of an Edge or a Hub, each once and in order, whatever happens to the connection.
 *
 * A connection that breaks is made anew with `after` = the last seq that was had; what comes twice is dropped. It ends after the run's
 * last event. It gives up when the service stays away, when it refuses, and when it no longer keeps what comes next.
 */
import { closeCodes, PING_EVERY_SECONDS } from "@corral/domain/http/EventStream"
import type { RunId } from "@corral/domain/identity/Ids"
import {
  decodeEvent,
  isTerminalType,
  type Envelope,
  type KnownEvent,
  type UnknownEvent
} from "@corral/domain/run/RunEvent"
import { Data, Effect, Queue, Random, Redacted, Result, Stream } from "effect"
import { WebSocket } from "ws"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { failureFromResponse } from "../edge/EdgeClient.ts"
import { failureFromHub } from "../hub/HubRefusal.ts"
import type { EdgeEndpoint } from "../edge/EdgeLocation.ts"

/** Where the stream is, and whose it is. */
export interface StreamEndpoint extends EdgeEndpoint {
  readonly service: "Edge" | "Hub"
}

export interface TailedEvent {
  /** The envelope as it was sent. */
  readonly text: string
  readonly read: KnownEvent | UnknownEvent
}

export interface TailOptions {
  /** Asked before every connection: an Edge that was started anew may have another address. */
  readonly endpoint: Effect.Effect<StreamEndpoint, CommandFailed>
  readonly runId: RunId
  /** The command that follows the run again, less `--after`. */
  readonly attach: string
  /** The last seq that is known already; 0 is the start. */
  readonly after: number
  /** Told when the connection is lost, and when it is there again. */
  readonly onConnection: (state: "lost" | "restored") => void
}

/** Worth another try. */
class Lost extends Data.TaggedError("Lost")<{}> {}

const SILENCE_MS = PING_EVERY_SECONDS * 2_500
/** Events that wait to be shown before the socket is told to hold. */
const AHEAD = 1_024
const TRIES = 10
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 5_000

export const envelopeOf = ({ read }: TailedEvent): Pick<Envelope, "seq" | "type"> =>
  read._tag === "KnownEvent" ? read.event : read.envelope

/** One connection: the events after `after`, until the Edge says that there are no more. */
const connection = (
  { url, token, service }: StreamEndpoint,
  runId: RunId,
  after: number,
  alive: () => void,
  again: (after: number) => string
): Stream.Stream<TailedEvent, Lost | CommandFailed> =>
  Stream.suspend(() => {
    const address = `${url.replace(/^http/, "ws")}/${service === "Hub" ? "client" : "v1"}/events?runId=${runId}&after=${after}`
    const headers = { authorization: `Bearer ${Redacted.value(token)}` }
    const open = Effect.acquireRelease(
      Effect.sync(
        () => new WebSocket(address, { headers, perMessageDeflate: false, handshakeTimeout: 10_000 })
      ),
      (socket) => Effect.sync(() => socket.terminate())
    )
    let release = () => {}
    return Stream.callback<TailedEvent, Lost | CommandFailed>((queue) =>
      Effect.map(open, (socket) => {
        const fail = (error: Lost | CommandFailed) => Effect.runSync(Queue.fail(queue, error))
        const silence = setTimeout(() => socket.terminate(), SILENCE_MS)
        const heard = () => {
          silence.refresh()
          alive()
        }
        release = () => socket.resume()
        socket.on("ping", heard)
        socket.on("message", (data) => {
          heard()
          const text = String(data)
          const read = readFrame(text)
          // Not an envelope: nothing that this reader could show or keep.
          if (read !== undefined) Queue.offerUnsafe(queue, { text, read })
          if (Queue.sizeUnsafe(queue) > AHEAD) socket.pause()
        })
        socket.on("unexpected-response", (_request, response) => {
          let body = ""
          response.setEncoding("utf8").on("data", (part: string) => (body += part))
          response.on("end", () => {
            const status = response.statusCode ?? 0
            const refusal = () =>
              service === "Hub"
                ? failureFromHub(status, body, url)
                : failureFromResponse(status, body, service)
            fail(status === 429 || status >= 500 ? new Lost() : turnedAway(refusal(), status, again(after)))
          })
        })
        socket.on("error", () => fail(new Lost()))
        socket.on("close", (code) => {
          clearTimeout(silence)
          if (code === closeCodes.ended) Queue.endUnsafe(queue)
          else fail(code === closeCodes.replayGap ? gap(service, runId, after) : new Lost())
        })
      })
    ).pipe(Stream.tap(() => Effect.sync(() => release())))
  })

const readFrame = (text: string): TailedEvent["read"] | undefined => {
  try {
    return Result.getOrUndefined(decodeEvent(JSON.parse(text)))
  } catch {
    return undefined
  }
}

const gap = (service: string, runId: RunId, after: number): CommandFailed =>
  new CommandFailed({
    message: `The ${service} no longer keeps the events of ${runId} after ${after}, so what is missing cannot be shown (replay_gap).`,
    exitCode: exitCodes.failed,
    code: "replay_gap"
  })

const away = (again: string): CommandFailed =>
  new CommandFailed({
    message: `Nobody answers there any more. The run may go on without being seen: ${again}`,
    exitCode: exitCodes.failed
  })

/** That one may not see the run any more is no refusal of the run. */
const turnedAway = (refusal: CommandFailed, status: number, again: string): CommandFailed =>
  status !== 401 && status !== 403
    ? refusal
    : new CommandFailed({
        ...refusal,
        message: `${refusal.message} The run goes on without being seen: ${again}`,
        exitCode: exitCodes.failed
      })

/** The events after `after`, to the last one of the run. */
export const tail = ({
  endpoint,
  runId,
  attach,
  after,
  onConnection
}: TailOptions): Stream.Stream<TailedEvent, CommandFailed> =>
  Stream.suspend(() => {
    let last = after
    let failures = 0
    const again = (seq: number) => `\`${attach} --after ${seq}\` follows it again.`
    const alive = () => {
      if (failures > 0) onConnection("restored")
      failures = 0
    }
    const pause = Effect.gen(function* () {
      if (failures === 0) onConnection("lost")
      if (++failures > TRIES) return yield* away(again(last))
      const longest = Math.min(FIRST_DELAY_MS * 2 ** failures, LONGEST_DELAY_MS)
      yield* Effect.sleep(yield* Random.nextBetween(longest / 2, longest))
    })
    const follow = (): Stream.Stream<TailedEvent, CommandFailed> =>
      Stream.unwrap(
        endpoint.pipe(
          Effect.mapError(() => new Lost()),
          Effect.map((where) => connection(where, runId, last, alive, again))
        )
      ).pipe(
        Stream.filter((event) => {
          const { seq } = envelopeOf(event)
          if (seq <= last) return false
          last = seq
          return true
        }),
        Stream.catchTag("Lost", () =>
          Stream.concat(Stream.drain(Stream.fromEffect(pause)), Stream.suspend(follow))
        )
      )
    return Stream.takeUntil(follow(), (event) => isTerminalType(envelopeOf(event).type))
  })
