/** Which runs outlive their Edge, and their entry at the holder before they start. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { CreateRun } from "@corral/domain/run/Run"
import { type Clock, Effect } from "effect"
import type { HeldRunConnection } from "../../holder/HeldRunConnection.ts"
import { HeldProcess } from "../../holder/HeldProcess.ts"
import type { RunChild, RunChildHandlers } from "../../process/RunChild.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"
import { RUN_MARK } from "../../process/ProcessSweep.ts"
import { keyEntryOf } from "../../runtime/KeyAdmission.ts"
import type { LiveRuns, RunServices } from "../live/LiveRuns.ts"
import type { AdmittedRun } from "./RunAdmission.ts"
import { type HeldClocks, type RunHold, RunTimeLimits } from "../actor/RunSession.ts"
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"

// What the holder keeps of a run for the next Edge: everything that this Edge read from the request, the configuration and its environment.
//
// Does not: touch the disk. The environment of the program has keys.

/** The next Edge may have another version. Another number means another shape. */
const FORMAT = 1

export interface RunStartState {
  readonly request: CreateRun
  /** Id of the adapter that reads the program. Absent in the state of earlier versions. */
  readonly adapter?: string
  readonly start: RunStart
  /** The command without its confinement. */
  readonly command: Omit<SubprocessSpec, "control">
}

const encodeStartState = (run: RunStartState): Uint8Array =>
  Buffer.from(JSON.stringify({ format: FORMAT, ...run }))

/** `undefined` for the state of another version. */
export const decodeStartState = (bytes: Uint8Array): RunStartState | undefined => {
  try {
    // An Edge of this user wrote the bytes, and only such Edges reach the holder.
    const startState = JSON.parse(Buffer.from(bytes).toString()) as RunStartState & {
      readonly format: number
    }
    return startState.format === FORMAT ? startState : undefined
  } catch {
    return undefined
  }
}

/** Bytes of stdout that are stored for the next Edge, for each run. A run that prints more ends with its Edge. */
const MAX_OUTPUT = 67_108_864

/** The decoder of an external adapter runs in a thread, at its own pace: what it was told, and when, cannot be repeated. */
const canOutlive = ({ config, confinement }: RunServices, { adapter, protocol, run }: AdmittedRun): boolean =>
  config.orphanMs > 0 &&
  protocol.decode === undefined &&
  confinement.canOutlive(run.confinement, keyEntryOf(config, adapter.id) !== undefined)

/** How a run is held. Without a hold it ends with its Edge. */
export interface HeldOrNot {
  readonly hold: RunHold | undefined
  /** Whether the run would outlive its Edge, and the holder could not be reached. */
  readonly isFallback: boolean
}

/** Registers a run at the holder, with everything that the next Edge needs. */
export const holdRun = Effect.fn("HeldStart.hold")(function* (
  services: RunServices,
  request: CreateRun,
  admitted: AdmittedRun
): Effect.fn.Return<HeldOrNot> {
  if (!canOutlive(services, admitted)) return { hold: undefined, isFallback: false }
  const { adapter, command, run, start } = admitted
  const { containment, edgeId, holder, live } = services
  const groups = live.queue.isFree ? containment.groupsOf(edgeId) : undefined
  return yield* holder
    .open(run.id, encodeStartState({ request, adapter: adapter.id, start, command }), groups)
    .pipe(
      Effect.map((connection): HeldOrNot => ({
        hold: new OpenHold(services, admitted, connection),
        isFallback: false
      })),
      Effect.catch(({ message }) =>
        Effect.as(Effect.logWarning(`run ${run.id} ends with this Edge`, { cause: message }), {
          hold: undefined,
          isFallback: true
        })
      )
    )
})

/** The hold of a run whose connection is open. */
export class OpenHold implements RunHold {
  readonly maxOutput = MAX_OUTPUT
  readonly #live: LiveRuns
  readonly #clock: Clock.Clock
  readonly #runId: RunId
  readonly #limits: RunTimeLimits
  readonly #connection: HeldRunConnection

  constructor(
    { clock, config, live }: RunServices,
    { run }: Pick<AdmittedRun, "run">,
    connection: HeldRunConnection
  ) {
    this.#live = live
    this.#clock = clock
    this.#runId = run.id
    this.#limits = new RunTimeLimits(run, config.times.cap)
    this.#connection = connection
  }

  get group(): string | undefined {
    return this.#connection.opened.group
  }

  get isLeft(): boolean {
    return this.#live.isLeaving
  }

  get end(): Effect.Effect<void> {
    return this.#connection.end
  }

  start(spec: SubprocessSpec, handlers: RunChildHandlers): RunChild {
    const until = this.#limits.start(this.#now, 0)
    const options = { mark: `${RUN_MARK}=${this.#runId}`, maxBytes: MAX_OUTPUT, until }
    return HeldProcess.start(this.#connection, spec, options, handlers)
  }

  continueAfter(elapsed: number, clocks: HeldClocks): void {
    this.#connection.setUntil(this.#limits.start(this.#now, elapsed, clocks))
  }

  follow(clocks: HeldClocks): void {
    if (this.#limits.follow(clocks, this.#now)) this.#connection.setUntil(this.#limits.until)
  }

  keepKey(inputId: string, privateKey: string): void {
    this.#connection.keepKey(inputId, privateKey)
  }

  leave(): void {
    this.#connection.close()
  }

  get #now(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }
}
