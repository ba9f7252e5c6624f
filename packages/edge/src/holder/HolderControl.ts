/**
 * Control connection of an Edge to the holder of its home, and what a start of this version would find there. Also the failures of connections to a
 * holder.
 *
 * Does not: take a run over from a running Edge.
 */
import { Data, Effect, Option } from "effect"
import { VERSION } from "@corral/service/Version"
import { readdirSync, readFileSync, rmSync } from "node:fs"
import type { Socket } from "node:net"
import { connectSocket, frameOf, frameTypes, HOLDER_FORMAT, jsonFrame } from "./HolderFrames.ts"
import type { HeldRunSummary, HolderHello, HolderWelcome } from "./HolderMessages.ts"
import { holderKeyFile, type HolderPlace, holderPlaceOf } from "./HolderPlace.ts"

/** The holder cannot be started or reached, or refused a request. */
export class HolderFailed extends Data.TaggedError("HolderFailed")<{
  readonly message: string
  /** Code of the operating system. */
  readonly code?: string | undefined
}> {}

/** A holder of another format has runs of this home. */
export class HolderIncompatible extends Data.TaggedError("HolderIncompatible")<{
  readonly holderFormat: number
  readonly edgeFormat: number
  /** Version of the Edge that started the holder. */
  readonly holderBuild: string
  readonly holderPid: number
}> {
  override get message(): string {
    return `The runs of this home are held in format ${this.holderFormat} by version ${this.holderBuild}, and this version has format ${this.edgeFormat}.`
  }
}

const ANSWER_LIMIT = "10 seconds"

export class HolderControl {
  readonly pid: number
  /** Runs that the holder had when the Edge connected. */
  readonly runs: ReadonlyArray<HeldRunSummary>
  readonly #socket: Socket

  constructor(socket: Socket, { pid, runs }: HolderWelcome) {
    this.#socket = socket
    this.pid = pid
    this.runs = runs
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  /** Calls the listener when the holder is lost, or when the connection was closed. */
  onClosed(listener: () => void): void {
    this.#socket.once("close", listener)
  }

  /** The holder ends when it has no runs. */
  endWhenIdle(): void {
    if (this.#socket.writable) this.#socket.write(frameOf(frameTypes.endHolder))
  }

  /** From now on the holder's clocks run. */
  close(): void {
    this.#socket.destroy()
  }
}

const welcomeIn = (payload: Buffer): HolderWelcome | undefined => {
  try {
    return JSON.parse(payload.toString("utf8")) as HolderWelcome
  } catch {
    return undefined
  }
}

/** Code of a failure that the holder may correct: it writes its key again. */
export const KEY_FAILURE = "KEY"

const unreachable = (reason: string, code?: string): HolderFailed =>
  new HolderFailed({ message: `Can't reach the holder of runs: ${reason}.`, code })

/** A holder that died leaves its socket. */
const isAbsent = ({ code }: NodeJS.ErrnoException, { socket }: HolderPlace): boolean => {
  if (code === "ECONNREFUSED") rmSync(socket, { force: true })
  return code === "ECONNREFUSED" || code === "ENOENT"
}

/**
 * Connects to the holder if there is one; `undefined` if there is none, or if it ended during the attempt. Removes the socket of a dead
 * holder: the Edge has the lock of the home, so that no other one starts a holder meanwhile.
 */
export const connectControl = (
  place: HolderPlace,
  hello: Omit<HolderHello, "format" | "key">,
  format = HOLDER_FORMAT
): Effect.Effect<HolderControl | undefined, HolderFailed | HolderIncompatible> =>
  Effect.callback<HolderControl | undefined, HolderFailed | HolderIncompatible>((resume) => {
    const socket = connectSocket(place.socket, {
      onFrame: (type, payload) => {
        if (type !== frameTypes.welcome) return
        const welcome = welcomeIn(payload)
        if (welcome === undefined) return void socket.destroy(new Error("its answer is not JSON"))
        // Its format is compared before the rest is used.
        if (welcome.format === format) return resume(Effect.succeed(new HolderControl(socket, welcome)))
        resume(
          Effect.fail(
            new HolderIncompatible({
              holderFormat: welcome.format,
              edgeFormat: format,
              holderBuild: welcome.build,
              holderPid: welcome.pid
            })
          )
        )
        socket.destroy()
      },
      onClose: (reason) => {
        const hasEnded = reason.code === undefined || reason.code === "ECONNRESET" || reason.code === "EPIPE"
        resume(
          hasEnded || isAbsent(reason, place)
            ? Effect.undefined
            : Effect.fail(unreachable(reason.message, reason.code === "PROTOCOL" ? KEY_FAILURE : reason.code))
        )
      }
    })
    socket.once("connect", () => {
      try {
        const key = readFileSync(holderKeyFile(place.folder), "utf8")
        socket.write(jsonFrame(frameTypes.hello, { format, key, ...hello }))
      } catch (error) {
        resume(Effect.fail(unreachable(String(error), KEY_FAILURE)))
        socket.destroy()
      }
    })
    return Effect.sync(() => void socket.destroy())
  }).pipe(
    Effect.timeoutOption(ANSWER_LIMIT),
    Effect.flatMap(
      Option.match({
        onSome: Effect.succeed,
        onNone: () => Effect.fail(unreachable("it does not answer"))
      })
    )
  )

export interface HolderFound {
  /** Live runs. */
  readonly runs: number
  /** Version of the Edge that started the holder. */
  readonly build: string
  /** Whether this version can continue its runs. */
  readonly isCompatible: boolean
}

/** No holder has this format, so each one names its own and stays with its Edge. */
const INQUIRY = 0

const storedRuns = (folder: string): number => {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".out")).length
  } catch {
    return 0
  }
}

/** Asks the holder of a home; `undefined` without one: no run is live. */
export const inquireHolder = (home: string): Effect.Effect<HolderFound | undefined, HolderFailed> => {
  const place = holderPlaceOf(home)
  return connectControl(place, { build: VERSION, orphanMs: 0 }, INQUIRY).pipe(
    Effect.as(undefined),
    Effect.catchTag("HolderIncompatible", ({ holderBuild, holderFormat }) =>
      Effect.succeed({
        runs: storedRuns(place.folder),
        build: holderBuild,
        isCompatible: holderFormat === HOLDER_FORMAT
      })
    )
  )
}
