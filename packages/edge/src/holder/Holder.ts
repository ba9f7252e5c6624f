/**
 * The holder of this home's runs: one small process that owns their processes and pipes, so that they outlive the Edge.
 *
 * Guarantees: a living holder is found when the layer is built, and none is started then. The first run starts one, and so does the first
 * run after it died.
 *
 * Does not: end runs when the layer closes. The holder's clocks run from then on.
 */
import { VERSION } from "@corral/service/Version"
import { Context, Effect, Layer, type Scope, Semaphore } from "effect"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { HeldRunConnection } from "./HeldRunConnection.ts"
import { connectControl, type HolderControl } from "./HolderControl.ts"
import { HolderFailed, type HolderIncompatible } from "./HolderFailures.ts"
import type { HeldRunSummary } from "./HolderMessages.ts"
import { holderPlaceOf } from "./HolderPlace.ts"
import { startHolder } from "./HolderStart.ts"

/** Milliseconds after which the holder ends all runs if no Edge returns. */
const ORPHAN_MS = 1_800_000
/** A holder without runs ends at any moment. */
const ATTEMPTS = 5

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

const hasNoHolder = (failure: HolderFailed | HolderIncompatible): boolean =>
  failure._tag === "HolderFailed" && (failure.code === "ENOENT" || failure.code === "ECONNREFUSED")

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
  yield* connect.pipe(
    Effect.catchTag("HolderIncompatible", (failure) => Effect.sync(() => (incompatible = failure)))
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
        Effect.retry({ times: 2, while: hasNoHolder }),
        Effect.tap((connection) =>
          Effect.sync(() => {
            connections.add(connection)
            connection.onClosed(() => connections.delete(connection))
          })
        )
      ),
    pid: () => (control?.isOpen === true ? control.pid : undefined),
    endWhenIdle: Effect.sync(() => control?.endWhenIdle())
  })
})
