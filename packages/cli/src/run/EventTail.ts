/**
 * Events of one run from the stream of an Edge or a Hub.
 *
 * Guarantees: each event once and in order, across lost connections. A lost connection is opened again after the last event. The stream ends
 * with the run's last event.
 * Does not: continue when the service stays unreachable, refuses the stream or no longer keeps the next events. Then the stream fails.
 */
import { edgeEventSource } from "@corral/client/Edge"
import { streamOfBatches } from "@corral/client/effect/EventStreams"
import { hubEventSource } from "@corral/client/Hub"
import { CorralError } from "@corral/client/http/CorralError"
import { Transport } from "@corral/client/http/Transport"
import type { ConnectionState } from "@corral/client/stream/Reconnection"
import { runEventBatches, type RunEventSource, type RunPosition } from "@corral/client/stream/RunEvents"
import type { RunId } from "@corral/domain/identity/Ids"
import { type DecodedEvent, envelopeOf, type MissingEvents } from "@corral/domain/run/EventSequence"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { Effect, Redacted, Stream } from "effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { commandFailure } from "../edge/EdgeClient.ts"
import { hubFailure } from "../hub/HubRefusal.ts"
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

const MAX_FAILURES = 10
const PAUSES_MS = [100, 5_000] as const
/** Longest time until the service accepts a connection. */
const CONNECT_WITHIN_MS = 10_000

const connectionLost = (attach: string): CommandFailed =>
  new CommandFailed({
    message: `Lost connection to the server. The run may still be in progress. ${attach}`,
    exitCode: exitCodes.failed
  })

/** A refusal of the stream. The run continues, so a lost permission does not end the command as a refused run. */
const refusedStream = (refusal: CommandFailed, status: number | undefined, attach: string): CommandFailed =>
  status !== 401 && status !== 403
    ? refusal
    : new CommandFailed({
        ...refusal,
        message: `${refusal.message} The run is still in progress. ${attach}`,
        exitCode: exitCodes.failed
      })

/** Events of the run at the endpoint as it is now. */
const sourceAt = ({ service, token, url }: StreamEndpoint, runId: RunId): RunEventSource<RunPosition> => {
  const transport = new Transport({
    url,
    token: () => Redacted.value(token),
    timeoutMs: CONNECT_WITHIN_MS
  })
  return service === "Hub" ? hubEventSource(transport, runId) : edgeEventSource(transport, runId)
}

/** Source that resolves the endpoint before every connection: a restarted Edge may have another address. */
export const locatedSource = (
  endpoint: TailOptions["endpoint"],
  runId: RunId,
  onLocated: (endpoint: StreamEndpoint) => void = () => undefined
): RunEventSource<RunPosition> => {
  const locate = async (): Promise<RunEventSource<RunPosition>> => {
    try {
      const current = await Effect.runPromise(endpoint)
      onLocated(current)
      return sourceAt(current, runId)
    } catch (cause) {
      throw new CorralError("unreachable", { message: "The service is not running.", cause })
    }
  }
  return {
    open: async (position, stop) => (await locate()).open(position, stop),
    run: async (stop) => (await locate()).run(stop)
  }
}

/** Decoder that remembers what was sent: output for programs contains fields of later versions. */
const rememberingDecoder = () => {
  const inputs = new WeakMap<DecodedEvent, unknown>()
  return {
    decode: (input: unknown) => {
      const decoded = decodeReceivedEvent(input)
      if (decoded !== undefined) inputs.set(decoded, input)
      return decoded
    },
    textOf: (decoded: DecodedEvent): string => JSON.stringify(inputs.get(decoded))
  }
}

/** Reports a lost connection, and a restored one after it. */
const reportConnection = (onConnection: TailOptions["onConnection"]) => {
  let wasLost = false
  return (state: ConnectionState) => {
    if (state === "lost") onConnection("lost")
    else if (wasLost) onConnection("restored")
    wasLost = state === "lost"
  }
}

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
    const { decode, textOf } = rememberingDecoder()
    let lastSeq = after
    let current: StreamEndpoint | undefined
    const source = locatedSource(endpoint, runId, (located) => {
      current = located
    })
    const failure = (error: CorralError): CommandFailed => {
      const { service = "Edge", url = "" } = current ?? {}
      const attachCommand = `Follow it again: \`${attach} --after ${lastSeq}\``
      const lost = connectionLost(attachCommand)
      if (error.isTransient) return lost
      if (error.code === "replay_gap") return replayGap(service, runId, lastSeq)
      const refusal = service === "Hub" ? hubFailure(error, lost, url) : commandFailure(service, error, lost)
      return refusedStream(refusal, error.status, attachCommand)
    }
    const batches = (signal: AbortSignal) =>
      runEventBatches(source, decode, {
        after,
        signal,
        maxFailures: MAX_FAILURES,
        pauses: PAUSES_MS,
        onConnection: reportConnection(onConnection)
      })
    return streamOfBatches(batches).pipe(
      Stream.map(({ decoded, missing }): TailedEvent => {
        if (missing !== undefined) onMissing?.(missing)
        lastSeq = envelopeOf(decoded).seq
        return {
          decoded,
          get text() {
            return textOf(decoded)
          }
        }
      }),
      Stream.mapError(({ error }) => failure(error))
    )
  })

const replayGap = (service: string, runId: RunId, after: number): CommandFailed =>
  new CommandFailed({
    message: `The ${service} no longer keeps the events of ${runId} after ${after} (replay_gap).`,
    exitCode: exitCodes.failed,
    code: "replay_gap"
  })
