/**
 * Private states of the confined runs of an Edge, in its home: made before a run's program starts, taken back when the run has ended.
 *
 * Guarantees: the user's state receives conversations and renewed sign-ins only (`StateReturn`, `CredentialExchange`). What a run left is taken back
 * once, by the Edge that ends the run or by the next one, before another run continues its conversation. What cannot be taken back stays.
 */
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Deferred, Effect, Layer, type Scope } from "effect"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { ownLife, type RunLife } from "../process/RunLife.ts"
import { removeTemporary } from "../process/TemporaryFolder.ts"
import { CredentialExchange } from "./CredentialExchange.ts"
import { type LayerRecord, readRecord, writeRecord } from "./LayerRecord.ts"
import { StateSettlement } from "./StateSettlement.ts"
import { type LayerRequest, makeLayer, type StateLayer } from "./StateLayer.ts"
import { WorkspaceDatabases } from "./WorkspaceDatabases.ts"

/** A run that needs the state of its runtime. */
export interface StateUser {
  readonly folders: RuntimeFolders | undefined
  readonly env: Readonly<Record<string, string>>
  readonly home: string
  /** Real path of the run's folder. */
  readonly root: string
  /** A run without ids leaves nothing. */
  readonly ids: { readonly run: RunId; readonly workspace: WorkspaceId } | undefined
  /** The conversation that the run continues, and the run before it. */
  readonly session?: string | undefined
  readonly resume?: RunId | undefined
  /** The run's temporary folder: the state of a run without ids is beside it. */
  readonly temporary: string
  readonly canMount: boolean
  readonly life?: RunLife | undefined
}

type OpenedState = Pick<StateLayer, "env" | "mounts">

export class RuntimeStates extends Context.Service<
  RuntimeStates,
  {
    /** The state of a run, which is taken back when the scope closes. Fails with the system's message. */
    readonly open: (user: StateUser) => Effect.Effect<OpenedState, string, Scope.Scope>
    /** Continues with the state of a run whose program an earlier Edge started. */
    readonly adopt: (user: StateUser) => Effect.Effect<void, never, Scope.Scope>
    /** Takes back what a run left, before its scope closes. */
    readonly takeBack: (run: RunId) => Effect.Effect<void>
    /** Takes back what earlier Edges left, except of `live` runs. */
    readonly recover: (live: ReadonlySet<string>) => Effect.Effect<void>
    /** Number of states that could not be taken back. */
    readonly unreturned: () => number
    /** Removes databases that no run used for the days of the retention. */
    readonly sweep: Effect.Effect<void>
  }
>()("corral/edge/RuntimeStates") {
  static readonly layer = Layer.effect(
    RuntimeStates,
    Effect.suspend(() => make())
  )
}

interface LiveState {
  readonly session: string | undefined
  /** Ends the exchange of sign-ins. */
  readonly stop: () => void
  readonly over: Deferred.Deferred<void>
}

const attempt = <A>(work: () => Promise<A>): Effect.Effect<A, string> =>
  Effect.tryPromise({ try: work, catch: (cause) => (cause instanceof Error ? cause.message : String(cause)) })

/** The state of a run that leaves nothing. */
const openUnnamed = (request: Omit<LayerRequest, "databaseOf" | "layer">, layer: string) =>
  Effect.andThen(
    Effect.addFinalizer(() => removeTemporary(layer)),
    attempt(() => makeLayer({ ...request, layer, databaseOf: () => join(layer, "databases") }))
  )

const make = Effect.fnUntraced(function* () {
  const { home: edgeHome, retention } = yield* EdgeConfig
  const clock = yield* Clock.Clock
  const exchange = new CredentialExchange(() => clock.currentTimeMillisUnsafe())
  const settlement = new StateSettlement(edgeHome, yield* CurrentMetrics)
  const live = new Map<string, LiveState>()
  const databases = new WorkspaceDatabases(edgeHome)

  const takeBack = Effect.fn("RuntimeStates.takeBack")(function* (run: string) {
    const state = live.get(run)
    if (state === undefined) return
    state.stop()
    yield* settlement.settle(run)
    live.delete(run)
    yield* Deferred.succeed(state.over, undefined)
  })

  /** Exchanges sign-ins, and takes back the state when the scope closes, unless that was done before. */
  const follow = (run: RunId, { folders, session }: LayerRecord, { isLeft }: RunLife) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const ends = folders.flatMap(({ folder, layer, root }) =>
          (folder.credentials ?? []).map((file) => exchange.join(root, layer, file))
        )
        const stop = () => ends.splice(0).forEach((end) => end())
        live.set(run, { session, stop, over: Deferred.makeUnsafe<void>() })
        return stop
      }),
      (stop) => (isLeft() ? Effect.sync(stop) : takeBack(run))
    )

  const openNamed = Effect.fn("RuntimeStates.open")(function* (
    request: Omit<LayerRequest, "databaseOf" | "layer">,
    { run, workspace }: NonNullable<StateUser["ids"]>,
    { life = ownLife, resume, root, session }: StateUser
  ) {
    // Runs that have ended, and whose conversation is not back yet.
    for (const [id, state] of live)
      if (id === resume || (session !== undefined && state.session === session))
        yield* Deferred.await(state.over)
    // Of a start that was not completed.
    yield* settlement.settle(run)
    const layer = settlement.layerOf(run)
    const databaseOf = (state: string) => databases.folderOf(workspace, root, state)
    const opened = attempt(async () => {
      const state = await makeLayer({ ...request, layer, databaseOf })
      await writeRecord(layer, { workspace: root, session, folders: state.folders })
      return state
    }).pipe(Effect.tapError(() => settlement.remove(layer)))
    // A run that is cancelled meanwhile would leave its state until the next start.
    return yield* Effect.uninterruptible(
      Effect.tap(opened, ({ folders }) => follow(run, { workspace: root, session, folders }, life))
    )
  })

  return RuntimeStates.of({
    open: (user) => {
      const { canMount, env, folders, home, ids, root: workspace, session } = user
      if (folders === undefined || folders.state.length === 0 || home === "")
        return Effect.succeed({ env: {}, mounts: [] })
      const request = { folders, env, home, edgeFolder: edgeHome, workspace, session, canMount }
      return ids === undefined
        ? openUnnamed(request, `${user.temporary}.state`)
        : openNamed(request, ids, user)
    },
    adopt: ({ ids, life = ownLife }) => {
      const record = ids === undefined ? undefined : readRecord(settlement.layerOf(ids.run))
      return ids !== undefined && typeof record === "object" ? follow(ids.run, record, life) : Effect.void
    },
    takeBack,
    recover: settlement.recover,
    unreturned: () => settlement.unreturned.size,
    sweep: Effect.suspend(() => databases.sweep(retention.days, clock.currentTimeMillisUnsafe()))
  })
})
