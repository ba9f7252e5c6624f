/**
 * Confinement of runs by the operating system: a run's processes can do only what its mode allows, also what its runtime does not report. A git
 * that reads the repository of a run is confined by the same means.
 *
 * Guarantees: the means is chosen once, at the start, by trying it. A run in `full_access` is never confined. With the setting `required`, a run
 * that cannot be confined is refused.
 *
 * The network of a run is closed, except for a proxy that decides about each connection (ADR 61).
 *
 * Does not: protect files by their names (ADR 60).
 */
import type { GrantRule } from "@corral/domain/approval/Grant"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { ConfinementReadiness } from "@corral/domain/http/Health"
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { RunConfinement } from "@corral/domain/run/Confinement"
import type { RunFailure, RunMode } from "@corral/domain/run/Run"
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { EdgeConfig, type KeyEntry } from "../config/EdgeConfig.ts"
import type { NetworkUser, RunNetworkOptions } from "../network/RunNetwork.ts"
import type { RunPorts } from "../preview/PortSource.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import { ownLife, type RunLife, openTemporary, removeTemporary } from "../process/TemporaryFolder.ts"
import { type IsolatedCommand, GitIsolation } from "../workspace/Git.ts"
import type { MountedCache } from "./ConfinedRoot.ts"
import { type GitSettingsFile, hasGitSettings, noGitSettings, writeGitSettings } from "./GitSettingsFile.ts"
import type { ConfinedCommand, ConfinementMeans } from "./Means.ts"
import { chooseMeans, type MeansFound, namedProxyProblem } from "./MeansChoice.ts"
import type { Mount } from "./Mount.ts"
import { toolMounts } from "./ProgramFolders.ts"
import { objectMounts } from "./RepositoryMounts.ts"
import { type ConfinedFiles, exposedPath, layeredMounts, mountsOfRun, type RunFolders } from "./RunMounts.ts"
import { RuntimeStates, type StateUser } from "./RuntimeStates.ts"
import { coverSpecialFiles, LargeFolders, SpecialFiles, type SpecialFileSearches } from "./SpecialFiles.ts"
import { systemMounts } from "./SystemFolders.ts"
import { WorkspaceCaches } from "./WorkspaceCaches.ts"

/** A run whose command is confined. */
export interface ConfinedRun extends ConfinedFiles {
  /** A run without ids has no ports for previews, and its caches are deleted with it. */
  readonly ids: { readonly run: RunId; readonly workspace: WorkspaceId } | undefined
  readonly network: RuntimeNetwork | undefined
  /** Rules of the configuration for its workspace and agent. */
  readonly grants: ReadonlyArray<GrantRule>
  readonly user: NetworkUser
  /** The setting for the keys of its adapter; `undefined` if the run receives its keys. */
  readonly keys?: KeyEntry | undefined
  readonly life?: RunLife | undefined
  /** Conversation of the runtime that it continues, and the run before it. */
  readonly session?: string | undefined
  readonly resume?: RunId | undefined
}

export class Confinement extends Context.Service<
  Confinement,
  {
    /** For health. */
    readonly readiness: ConfinementReadiness
    /** Confinement of a run in a mode; `undefined` if the setting is `off`. Fails if the setting requires what this machine does not have. */
    readonly admit: (mode: RunMode) => Effect.Effect<RunConfinement | undefined, PermissionDenied>
    /** The command in its confinement. Called before the start, when the run's folder exists. Its network ends with the scope. */
    readonly confine: (
      run: ConfinedRun,
      command: SubprocessSpec
    ) => Effect.Effect<SubprocessSpec, RunFailure, Scope.Scope>
    /** A command of the Edge with untrusted files, which sees the system, its program and these mounts. Unchanged on a machine without means. */
    readonly isolate: (command: IsolatedCommand, mounts: ReadonlyArray<Mount>) => IsolatedCommand
    /** Whether a run with this confinement, and with keys outside or not, can outlive its Edge. */
    readonly canOutlive: (confinement: RunConfinement | undefined, hasKeysOutside: boolean) => boolean
    /** The network of a run again, whose program an earlier Edge confined. */
    readonly adopt: (
      run: ConfinedRun,
      command: SubprocessSpec
    ) => Effect.Effect<SubprocessSpec, RunFailure, Scope.Scope>
    /** Takes back what a run left in the state of its runtime, when no process of it is alive. */
    readonly takeBackState: (id: RunId) => Effect.Effect<void>
    /** Ports of a confined run whose process is alive; `undefined` for other runs. */
    readonly portsOf: (id: RunId) => RunPorts | undefined
  }
>()("corral/edge/Confinement") {
  /** Also provides `WorkspaceCaches` and `RuntimeStates`. */
  static readonly layer = Layer.effect(
    Confinement,
    Effect.suspend(() => choose())
  ).pipe(Layer.provideMerge([WorkspaceCaches.layer, RuntimeStates.layer]))
}

const choose = Effect.fnUntraced(function* () {
  const config = yield* EdgeConfig
  const { confinement: setting } = config
  if (setting === "off") return unconfined
  const system = systemMounts(process.getuid?.() === 0)
  const unused = setting === "preferred" ? namedProxyProblem(config.environment) : undefined
  const found: MeansFound =
    unused === undefined
      ? yield* chooseMeans(setting, { path: config.environment["PATH"], system })
      : { means: undefined, missing: unused }
  const { means, missing } = found
  if (missing !== undefined)
    yield* Effect.logWarning(means === undefined ? "runs are not confined" : "runs are confined in part", {
      ...missing
    })
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const caches = yield* WorkspaceCaches
  const states = yield* RuntimeStates
  const searches = { files: new SpecialFiles(now), large: new LargeFolders(now, yield* Effect.scope) }
  // Others limit paths as they are.
  const canMount = means?.kind === "bubblewrap"
  const runs = new ConfinedRuns(system, config, caches, searches, states, canMount)
  return Confinement.of({
    readiness: {
      setting,
      kind: means?.kind ?? "none",
      network: means?.network ?? "open",
      ...missing
    },
    admit: (mode) => admit(setting, found, mode),
    confine: (run, command) =>
      means === undefined
        ? Effect.die("a run without means was admitted as confined")
        : Effect.mapError(runs.confine(means, run, command), notConfined),
    isolate: (command, mounts) => {
      const { file } = command
      const tools = toolMounts({ started: [{ file }], env: {}, home: NO_HOME, system })
      return means?.isolate(command, [...system, ...tools, ...mounts]) ?? command
    },
    canOutlive: (confinement, hasKeysOutside) =>
      (confinement?.kind ?? "none") === "none" || (means?.adopt !== undefined && !hasKeysOutside),
    adopt: (run, command) =>
      means?.adopt === undefined
        ? Effect.succeed(command)
        : Effect.mapError(runs.adopt(means.adopt, run, command), notConfined),
    takeBackState: states.takeBack,
    portsOf: (id) => runs.portsOf(id)
  })
})

/** A home that does not exist: a command of the Edge reads nothing of the user's. */
const NO_HOME = "/nonexistent"

const unconfined = Confinement.of({
  readiness: { kind: "none", setting: "off", network: "open" },
  admit: () => Effect.undefined,
  confine: (_, command) => Effect.succeed(command),
  isolate: (command) => command,
  canOutlive: () => true,
  adopt: (_, command) => Effect.succeed(command),
  takeBackState: () => Effect.void,
  portsOf: () => undefined
})

const admit = (
  setting: EdgeConfig["confinement"],
  { means, missing }: MeansFound,
  mode: RunMode
): Effect.Effect<RunConfinement, PermissionDenied> => {
  if (mode === "full_access")
    return Effect.succeed({ kind: "none", reason: "A run with full access is not confined." })
  if (means !== undefined) return Effect.succeed({ kind: means.kind })
  const { hint, problem } = missing
  return setting === "required"
    ? Effect.fail(
        new PermissionDenied({
          message: `This Edge runs agents in this mode only if it can confine them. ${problem}`,
          details: { reason: "not_confined", mode, hint }
        })
      )
    : Effect.succeed({ kind: "none", reason: problem })
}

const notConfined = (cause: string): RunFailure => ({
  code: "permission_denied",
  message: `The run could not be confined: ${cause}`,
  details: { reason: "not_confined" }
})

/** Confines the runs of an Edge. */
class ConfinedRuns {
  private readonly system: ReadonlyArray<Mount>
  private readonly config: EdgeConfig
  private readonly ports = new Map<RunId, RunPorts>()
  private readonly caches: WorkspaceCaches["Service"]
  private readonly searches: SpecialFileSearches
  private readonly states: RuntimeStates["Service"]
  /** Whether the means can show a file at another path. */
  private readonly canMount: boolean

  constructor(
    system: ReadonlyArray<Mount>,
    config: EdgeConfig,
    caches: WorkspaceCaches["Service"],
    searches: SpecialFileSearches,
    states: RuntimeStates["Service"],
    canMount: boolean
  ) {
    this.system = system
    this.config = config
    this.caches = caches
    this.searches = searches
    this.states = states
    this.canMount = canMount
  }

  portsOf(id: RunId): RunPorts | undefined {
    return this.ports.get(id)
  }

  readonly confine = Effect.fnUntraced(
    { self: this },
    function* (
      means: ConfinementMeans,
      run: ConfinedRun,
      unconfined: SubprocessSpec
    ): Effect.fn.Return<SubprocessSpec, string, Scope.Scope> {
      const { config, searches, states, system } = this
      const { copies, caches, git, network } = yield* this.openFolders(run, unconfined)
      const state = yield* states.open(this.stateUser(run, unconfined))
      const command = { ...unconfined, env: { ...unconfined.env, ...state.env } }
      const folders = { network: network.folder, copies, caches, state: state.mounts }
      if (run.layer !== undefined) {
        const { around, mounts } = yield* Effect.scoped(this.layered(run, run.layer, command, folders))
        return yield* this.listed(
          run,
          yield* means.confine({ command, mounts: [...mounts, ...git.mounts], network, around })
        )
      }
      const mounts = yield* Effect.try({
        try: () => [...mountsOfRun(system, config, run, command, folders), ...git.mounts],
        catch: messageOf
      })
      if (means.mounts !== true) {
        const named = { ...command, env: { ...command.env, ...git.env } }
        return yield* this.listed(run, yield* means.confine({ command: named, mounts, network }))
      }
      const { temporary } = command
      const { user, workspace } = run
      const covered = yield* coverSpecialFiles(searches, {
        workspace,
        mounts,
        system,
        temporary,
        report: user.report
      })
      return yield* this.listed(run, yield* means.confine({ command, mounts: covered, network }))
    }
  )

  /** Sockets and pipes of the workspace's folder lead to no program through a layer, so they are not covered. */
  private readonly layered = Effect.fnUntraced(
    { self: this },
    function* (
      run: ConfinedRun,
      layer: NonNullable<ConfinedRun["layer"]>,
      command: SubprocessSpec,
      folders: RunFolders
    ) {
      const { config, searches, system } = this
      const files = yield* layer
      const { workspace } = run
      const mounts = yield* Effect.try({
        try: () => {
          const all = mountsOfRun(system, config, run, command, folders, files)
          const exposed = exposedPath(all, workspace)
          if (exposed !== undefined) throw new Error(`its workspace is visible at ${exposed}, too`)
          return layeredMounts(all, workspace, files.source)
        },
        catch: messageOf
      })
      const { temporary } = command
      const { report } = run.user
      return {
        around: files.around,
        mounts: yield* coverSpecialFiles(searches, { workspace, mounts, system, temporary, report })
      }
    }
  )

  readonly adopt = Effect.fnUntraced(
    { self: this },
    function* (
      adopt: NonNullable<ConfinementMeans["adopt"]>,
      run: ConfinedRun,
      command: SubprocessSpec
    ): Effect.fn.Return<SubprocessSpec, string, Scope.Scope> {
      const { network } = yield* this.openFolders(run, command)
      yield* this.states.adopt(this.stateUser(run, command))
      return yield* this.listed(run, yield* adopt({ command, network }))
    }
  )

  /** Lists the ports of a run until the scope closes. */
  private listPorts(id: RunId, found: RunPorts) {
    const { ports } = this
    return Effect.acquireRelease(
      Effect.sync(() => ports.set(id, found)),
      () => Effect.sync(() => ports.delete(id))
    )
  }

  private stateUser(
    { folders, ids, life, resume, session, workspace }: ConfinedRun,
    { env, temporary = "" }: SubprocessSpec
  ): StateUser {
    const { canMount } = this
    return {
      folders,
      ids,
      life,
      resume,
      session,
      root: workspace,
      env,
      home: env["HOME"] ?? "",
      temporary,
      canMount
    }
  }

  private listed(
    { ids }: ConfinedRun,
    { command, ports }: ConfinedCommand
  ): Effect.Effect<SubprocessSpec, never, Scope.Scope> {
    return ids === undefined || ports === undefined
      ? Effect.succeed(command)
      : Effect.as(this.listPorts(ids.run, ports), command)
  }

  /** Caches, copies and network of a run, until the scope closes. */
  private readonly openFolders = Effect.fnUntraced(
    { self: this },
    function* (
      run: ConfinedRun,
      command: SubprocessSpec
    ): Effect.fn.Return<
      {
        readonly caches: ReadonlyArray<MountedCache>
        readonly copies: string
        readonly git: GitSettingsFile
        readonly network: RunNetworkOptions
      },
      string,
      Scope.Scope
    > {
      const { environment, runHosts: hosts } = this.config
      const { grants, ids, keys: entry, life = ownLife, mode, network: declared, user } = run
      const folder = `${command.temporary ?? ""}.net`
      const home = command.env["HOME"] ?? ""
      const caches = yield* this.caches.open({ workspace: ids?.workspace, root: run.workspace, mode, home })
      const copies = `${command.temporary ?? ""}.copies`
      if (run.copies !== undefined) yield* openRunFolder(copies, life)
      const settings = `${command.temporary ?? ""}.git`
      const hasSettings = hasGitSettings(home)
      if (hasSettings) yield* openRunFolder(settings, life)
      const git = yield* Effect.try({
        try: () => (hasSettings ? writeGitSettings(home, run.workspace, settings) : noGitSettings),
        catch: messageOf
      })
      const keys = entry && { entry, declared: declared?.keys ?? [], env: command.env }
      return {
        caches,
        copies,
        git,
        network: { folder, mode, declared, hosts, grants, environment, user, keys, life }
      }
    }
  )
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** A folder of the run, until the scope closes. */
const openRunFolder = (folder: string, life: RunLife) =>
  Effect.acquireRelease(Effect.try({ try: () => openTemporary(folder, life), catch: messageOf }), () =>
    life.isLeft() ? Effect.void : removeTemporary(folder)
  )

/** Confines a git that reads the repository of a run, by the means of this machine. */
export const isolatedGitLayer = Layer.effect(
  GitIsolation,
  Effect.map(
    Confinement,
    ({ isolate }): GitIsolation =>
      (command, { objects, repository }) =>
        isolate(command, [...objectMounts(objects), { kind: "write", path: repository }])
  )
)
