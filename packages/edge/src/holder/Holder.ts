/**
 * The holder of this home's runs: one small process that owns their processes and pipes, so that they outlive the Edge.
 *
 * Guarantees: a living holder is found when the layer is built, and none is started then. `prepare` starts one, and so do the first run and the first run after it died. It has its own session, an
 * almost empty environment without this Edge's marks, and no open file of the Edge, so that nothing that ends the Edge ends it.
 *
 * Does not: end runs when the layer closes. The holder's clocks run from then on.
 */
import { VERSION } from "@corral/service/Version"
import { Context, Effect, Layer, Option, Schedule, type Scope, Semaphore } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, existsSync, lstatSync, renameSync } from "node:fs"
import { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { EDGE_MARK, RUN_MARK } from "../process/ProcessSweep.ts"
import { isOurFolder } from "../process/PrivateFolder.ts"
import { CONNECTION_LOST, HeldRunConnection } from "./HeldRunConnection.ts"
import {
  connectControl,
  type HolderControl,
  KEY_FAILURE,
  HolderFailed,
  type HolderIncompatible
} from "./HolderControl.ts"
import type { HeldRunSummary } from "./HolderMessages.ts"
import { type HolderPlace, holderPlaceOf } from "./HolderPlace.ts"

const START_LIMIT = "10 seconds"
const MAX_ANSWER = 4_096

/** Next to this file in the sources, and `holder.cjs` next to the entry in a build. */
const program = (): string => {
  const built = fileURLToPath(new URL("./holder.cjs", import.meta.url))
  return existsSync(built) ? built : fileURLToPath(new URL("./main.ts", import.meta.url))
}

/** A small heap: the holder's objects are few, and live as long as their runs. */
const FLAGS = ["--max-semi-space-size=1", "--no-warnings"]

export interface HolderStartOptions {
  readonly home: string
  /** Version of the Edge. */
  readonly build: string
  /** The Edge's own environment. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * Marks of a run of another Edge in which this Edge runs: that run's sweep has to find the holder. And the folder of compiled code, with which
 * the holder starts sooner.
 */
const passedOn = (environment: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    [RUN_MARK, EDGE_MARK, "NODE_COMPILE_CACHE"].flatMap((name) => {
      const value = environment[name]
      return value === undefined ? [] : [[name, value]]
    })
  )

const start = ({ build, environment, home }: HolderStartOptions): ChildProcess =>
  spawn(process.execPath, [...FLAGS, program(), home, build], {
    cwd: "/",
    env: { ...passedOn(environment), PATH: "/usr/bin:/bin", UV_THREADPOOL_SIZE: "1" },
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"]
  })

const failed = (reason: string): HolderFailed =>
  new HolderFailed({ message: `Can't start the holder of runs: ${reason}.` })

interface Answer {
  readonly ready?: true
  readonly error?: string
}

const answerIn = (text: string): Answer => {
  try {
    return JSON.parse(text) as Answer
  } catch {
    return { error: "its process ended" }
  }
}

/** Starts a holder. Succeeds when it listens, or when another one does. */
export const startHolder = (options: HolderStartOptions): Effect.Effect<void, HolderFailed> =>
  Effect.callback<void, HolderFailed>((resume) => {
    let child: ChildProcess
    try {
      child = start(options)
    } catch (error) {
      return resume(Effect.fail(failed(String(error))))
    }
    child.unref()
    child.once("error", ({ message }) => resume(Effect.fail(failed(message))))
    const ready = child.stdio[3]
    if (!(ready instanceof Readable)) return resume(Effect.fail(failed("it has no pipe")))
    let text = ""
    ready.setEncoding("utf8")
    ready.on("data", (more: string) => (text = (text + more).slice(0, MAX_ANSWER)))
    ready.on("error", () => undefined)
    ready.once("close", () => {
      const { error, ready: isReady } = answerIn(text)
      const isServed = isReady === true || error === "EADDRINUSE"
      resume(isServed ? Effect.void : Effect.fail(failed(error ?? "its process ended")))
    })
    return Effect.sync(() => ready.destroy())
  }).pipe(
    Effect.timeoutOption(START_LIMIT),
    Effect.flatMap(
      Option.match({
        onSome: () => Effect.void,
        onNone: () => Effect.fail(failed("it did not listen in time"))
      })
    )
  )

// Folder of held runs that is not a private folder of this user: it is moved away, so that the next holder can make its own.

/** A path with this beginning that does not exist. */
const freeName = (path: string): string => {
  for (let number = 1; ; number++) {
    const name = `${path}.damaged-${number}`
    if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name
  }
}

/** Where a damaged folder is now; `undefined` if there was none. A folder without permissions gets them back. */
const setDamagedAside = ({ folder }: Pick<HolderPlace, "folder">): string | undefined => {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return undefined
  try {
    if (isOurFolder(folder)) return void chmodSync(folder, 0o700)
    const name = freeName(folder)
    renameSync(folder, name)
    return name
  } catch {
    // The home is not writable, which the Edge reports.
    return undefined
  }
}

/** Milliseconds after which the holder ends all runs if no Edge returns. */
const ORPHAN_MS = 1_800_000
/** A holder without runs ends at any moment, and one that waits closes connections. */
const ATTEMPTS = 5
const lostCodes = new Set(["ECONNRESET", "EPIPE", CONNECTION_LOST])

export interface HolderOptions {
  readonly home: string
  readonly orphanMs?: number | undefined
  /** Version of the Edge. */
  readonly build?: string | undefined
  /** The Edge's own environment. */
  readonly environment?: Readonly<Record<string, string>> | undefined
}

export class Holder extends Context.Service<
  Holder,
  {
    /** Runs of the holder that an earlier Edge started. */
    readonly found: ReadonlyArray<HeldRunSummary>
    /** A living holder of another format. No run can be opened until it has ended. */
    readonly incompatible: HolderIncompatible | undefined
    /**
     * Opens a run in the holder, which starts if there is none. The run is created if it is new. Replaces its state by `state`, if given. `groups`:
     * folder of control groups, of a run that starts at once.
     */
    readonly open: (
      run: string,
      state?: Uint8Array,
      groups?: string
    ) => Effect.Effect<HeldRunConnection, HolderFailed | HolderIncompatible>
    /** Starts the holder if there is none, so that the first run finds one. */
    readonly prepare: Effect.Effect<void, HolderFailed | HolderIncompatible>
    /** The holder's process; `undefined` if none is connected. */
    readonly pid: () => number | undefined
    /** The holder ends when it has no runs. */
    readonly endWhenIdle: Effect.Effect<void>
  }
>()("corral/edge/Holder") {
  static readonly layerOf = (options: HolderOptions) => Layer.effect(Holder, make(options))

  static readonly layer = Layer.unwrap(
    Effect.map(EdgeConfig, ({ environment, home, orphanMs }) =>
      Holder.layerOf({ environment, home, orphanMs })
    )
  )
}

/** A holder writes its key again within a second, or later on a busy machine. */
const KEY_RETRY = { times: 12, schedule: Schedule.spaced("500 millis") }

const isKeyFailure = (failure: object): boolean => "code" in failure && failure.code === KEY_FAILURE

const hasNoHolder = (failure: HolderFailed | HolderIncompatible): boolean =>
  failure._tag === "HolderFailed" && (failure.code === "ENOENT" || failure.code === "ECONNREFUSED")

/**
 * Whether another attempt may succeed: the holder has ended, or it has closed the connection because this process stood still for longer than the holder
 * waits for a first frame.
 */
const isLost = (failure: HolderFailed | HolderIncompatible): boolean =>
  hasNoHolder(failure) || (failure._tag === "HolderFailed" && lostCodes.has(failure.code ?? ""))

const make = Effect.fnUntraced(function* ({
  build = VERSION,
  environment = {},
  home,
  orphanMs = ORPHAN_MS
}: HolderOptions): Effect.fn.Return<Holder["Service"], HolderFailed, Scope.Scope> {
  const place = holderPlaceOf(home)
  const connectOnce = connectControl(place, { build, orphanMs })
  const oneAtATime = yield* Semaphore.make(1)
  let control: HolderControl | undefined
  let incompatible: HolderIncompatible | undefined
  const connections = new Set<HeldRunConnection>()
  let isClosed = false
  const connect = Effect.tap(connectOnce, (found) =>
    Effect.sync(() => {
      control = found
      // A run whose output is not read would not notice.
      found?.onClosed(() => {
        if (!isClosed) for (const connection of connections) connection.abandon("the holder was lost")
      })
    })
  )

  const connected = Effect.gen(function* () {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (control?.isOpen === true || (yield* connect) !== undefined) return
      yield* startHolder({ home, build, environment })
    }
    return yield* new HolderFailed({ message: "Can't start the holder of runs: it ends again." })
  }).pipe(oneAtATime.withPermit)

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      for (const connection of connections) connection.close()
      control?.close()
    })
  )
  const moved = setDamagedAside(place)
  if (moved !== undefined)
    yield* Effect.logWarning("moved a damaged folder of held runs away: its runs cannot continue", { moved })
  yield* connect.pipe(
    Effect.retry({ ...KEY_RETRY, while: ({ _tag, ...failure }) => isKeyFailure(failure) }),
    Effect.catchTags({
      HolderIncompatible: (failure) => Effect.sync(() => (incompatible = failure)),
      HolderFailed: ({ message }) =>
        Effect.logError("runs of the Edge before cannot continue: their holder cannot be reached", {
          cause: message,
          next: "They end now. Start them again."
        })
    })
  )
  return Holder.of({
    found: control === undefined ? [] : (control as HolderControl).runs,
    incompatible,
    open: (run, state, groups) =>
      Effect.andThen(connected, HeldRunConnection.open(place, run, state, groups)).pipe(
        // The holder has ended, and the control connection has not noticed yet.
        Effect.tapError((failure) =>
          Effect.sync(() => (hasNoHolder(failure) ? control?.close() : undefined))
        ),
        Effect.retry({ times: ATTEMPTS - 1, while: isLost }),
        Effect.tap((connection) =>
          Effect.sync(() => {
            connections.add(connection)
            connection.onClosed(() => connections.delete(connection))
          })
        )
      ),
    prepare: connected,
    pid: () => (control?.isOpen === true ? control.pid : undefined),
    endWhenIdle: Effect.sync(() => control?.endWhenIdle())
  })
})
