/**
 * Private states of the confined runs of an Edge, in its home: made before a run's program starts, taken back when the run has ended. Each has a
 * record for the next Edge, and is settled when its run has ended: conversations go to the user, the rest is compared. Instead of the user's own
 * database of all workspaces, the runs of one workspace share a database there.
 *
 * Guarantees: the user's state receives conversations and renewed sign-ins only (`StateReturn`, `CredentialExchange`). What a run left is taken
 * back once, by the Edge that ends the run or by the next one, before another run continues its conversation. What cannot be taken back stays.
 * Databases that no run used for the days of the retention are removed, except those of runs of this Edge.
 */
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import { type Counter, CurrentMetrics, type Metrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Deferred, Effect, Layer, type Scope } from "effect"
import { createHash } from "node:crypto"
import { existsSync, lstatSync, readdirSync, readFileSync, renameSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { ownLife, type RunLife, removeTemporary } from "../process/TemporaryFolder.ts"
import { CredentialExchange } from "./CredentialExchange.ts"
import { countFiles } from "./StateFiles.ts"
import { type LayerFolder, type LayerRequest, makeLayer, type StateLayer } from "./StateLayer.ts"
import { type PathReason, returnConversations } from "./StateReturn.ts"

const DAY_MS = 86_400_000

/** The newest change of a folder or an entry in it. Runs have made the entries: no link is followed. */
const usedAt = (folder: string): number =>
  Math.max(
    lstatSync(folder).mtimeMs,
    ...readdirSync(folder).map(
      (name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
    )
  )

/** Databases of runtimes for the confined runs of one workspace each. */
export class WorkspaceDatabases {
  readonly #around: string
  /** Those that runs of this Edge have used. */
  readonly #used = new Set<string>()

  constructor(edgeHome: string) {
    this.#around = join(edgeHome, "databases")
  }

  /** Folder of a workspace, and of the folder that its runs work in, for the runtime whose state is in a folder of the user. */
  folderOf(workspace: string, root: string, stateRoot: string): string {
    const name = createHash("sha256").update(`${workspace}\0${root}\0${stateRoot}`).digest("hex")
    const folder = join(this.#around, name.slice(0, 32))
    this.#used.add(folder)
    return folder
  }

  /** Removes those that no run used for the days. `days` of 0: none. */
  sweep(days: number, now: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (days === 0 || !existsSync(this.#around)) return Effect.void
      const old = readdirSync(this.#around)
        .map((name) => join(this.#around, name))
        .filter((folder) => !this.#used.has(folder) && usedAt(folder) < now - days * DAY_MS)
      return Effect.forEach(old, removeTemporary, { discard: true })
    }).pipe(Effect.catchCause((cause) => Effect.logWarning("failed to remove old databases", cause)))
  }
}

// What the Edge knows about the private state of a run, in a file next to it: the next Edge takes back what this one could not.
//
// The patterns are in it, because the next Edge may not have the adapter.

/** Another number means another shape. */
const FORMAT = 1
const NAME = "layer.json"

interface LayerRecord {
  /** Real path of the run's folder. */
  readonly workspace: string
  /** Conversation of the runtime that the run continues. */
  readonly session: string | undefined
  readonly folders: ReadonlyArray<LayerFolder>
}

const writeRecord = (layer: string, record: LayerRecord): Promise<void> =>
  writeFile(join(layer, NAME), JSON.stringify({ format: FORMAT, ...record }), { mode: 0o600 })

/** `missing`: the program has not started. `undefined`: it cannot be read. */
const readRecord = (layer: string): LayerRecord | "missing" | undefined => {
  try {
    // An Edge of this user wrote the file. No run sees it.
    const record = JSON.parse(readFileSync(join(layer, NAME), "utf8")) as LayerRecord & {
      readonly format: number
    }
    return record.format === FORMAT ? record : undefined
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "ENOENT" ? "missing" : undefined
  }
}

// Taking back of the private states in an Edge's home, with their removal and their reports.
//
// Guarantees: a state is removed once it was taken back, and not taken back again, also if the Edge ends meanwhile. One that could not be taken
// back stays, and is reported.

// What becomes of the private state of a run that has ended: conversations go to the user, everything else is counted.
//
// Does not: remove it.

interface LayerSettlement {
  /** Number of files that the user has. */
  readonly returned: number
  readonly discarded: number
  /** Files that may not come back. They are among the discarded. */
  readonly refused: ReadonlyArray<PathReason>
  /** Files that could not be taken back, so that the state stays. */
  readonly unreturned: ReadonlyArray<PathReason>
}

const nothing: LayerSettlement = { returned: 0, discarded: 0, refused: [], unreturned: [] }

const settleRecord = async ({ folders, workspace }: LayerRecord): Promise<LayerSettlement> => {
  let total = nothing
  for (const each of folders) {
    const { copied = [], credentials = [] } = each.folder
    const { refused, returned, unreturned } = await returnConversations(each, workspace)
    const accounted = new Set([
      ...returned,
      ...unreturned.map(([path]) => path),
      ...each.received.map(({ path }) => path),
      ...[...copied, ...credentials].map(({ path }) => path)
    ])
    const discarded = await countFiles(each.layer, (path) => !accounted.has(path))
    total = {
      returned: total.returned + returned.length,
      discarded: total.discarded + discarded,
      refused: [...total.refused, ...refused],
      unreturned: [...total.unreturned, ...unreturned]
    }
  }
  return total
}

/** Takes back what a run left. Throws if its record cannot be read. */
const settleLayer = async (layer: string): Promise<LayerSettlement> => {
  const record = readRecord(layer)
  if (record === undefined) throw new Error("its record cannot be read")
  return record === "missing" ? nothing : settleRecord(record)
}

/** States that are being removed. */
const REMOVED = "removed-"
const SHOWN_FILES = 20

const shown = (files: ReadonlyArray<PathReason>): ReadonlyArray<string> =>
  files.slice(0, SHOWN_FILES).map(([path, reason]) => `${path}: ${reason}`)

class StateSettlement {
  /** Runs whose state could not be taken back. */
  readonly unreturned = new Set<string>()
  readonly #around: string
  readonly #counters: Readonly<Record<"returned" | "discarded" | "refused" | "unreturned", Counter>>
  #removals = 0

  constructor(edgeHome: string, metrics: Metrics) {
    this.#around = join(edgeHome, "runtime-state")
    const counter = (outcome: string) => metrics.counter(edgeMetrics.stateFiles, { outcome })
    this.#counters = {
      returned: counter("returned"),
      discarded: counter("discarded"),
      refused: counter("refused"),
      unreturned: counter("unreturned")
    }
  }

  layerOf(run: string): string {
    return join(this.#around, run)
  }

  /** Takes back the state of a run, if it has one. */
  readonly settle = (run: string): Effect.Effect<void> => {
    const layer = this.layerOf(run)
    if (!existsSync(layer)) return Effect.void
    return Effect.tryPromise({
      try: () => settleLayer(layer),
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    }).pipe(
      Effect.matchEffect({
        onFailure: (cause) => this.#report(run, [cause]),
        onSuccess: ({ discarded, refused, returned, unreturned }) => {
          this.#counters.returned.add(returned)
          this.#counters.discarded.add(discarded)
          this.#counters.refused.add(refused.length)
          this.#counters.unreturned.add(unreturned.length)
          const end = unreturned.length > 0 ? this.#report(run, shown(unreturned)) : this.#finish(run)
          return refused.length === 0
            ? end
            : Effect.andThen(
                Effect.logWarning("refused files that a run left in its state", {
                  run,
                  files: shown(refused)
                }),
                end
              )
        }
      })
    )
  }

  /** Takes back all states, except those of live runs. */
  readonly recover = (live: ReadonlySet<string>): Effect.Effect<void> =>
    Effect.suspend(() =>
      Effect.forEach(
        existsSync(this.#around) ? readdirSync(this.#around).filter((name) => !live.has(name)) : [],
        (name) => (name.startsWith(REMOVED) ? removeTemporary(this.layerOf(name)) : this.settle(name)),
        { discard: true }
      )
    )

  readonly remove = (layer: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (!existsSync(layer)) return Effect.void
      const removed = this.layerOf(`${REMOVED}${process.pid}-${this.#removals++}`)
      renameSync(layer, removed)
      return removeTemporary(removed)
    })

  #finish(run: string): Effect.Effect<void> {
    this.unreturned.delete(run)
    return this.remove(this.layerOf(run))
  }

  #report(run: string, causes: ReadonlyArray<string>): Effect.Effect<void> {
    this.unreturned.add(run)
    const folder = this.layerOf(run)
    return Effect.logWarning("failed to take back the state of a run", { run, folder, causes })
  }
}

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
