/**
 * Confinement of runs by the operating system: a run's processes can do only what its mode allows, also what its runtime does not report.
 *
 * Guarantees: the means is chosen once, at the start, by trying it. A run in `full_access` is never confined. With the setting `required`, a run
 * that cannot be confined is refused.
 *
 * The network of a run is closed, except for a proxy that decides about each connection (ADR 61).
 *
 * Does not: protect files by their names (ADR 60).
 */
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { ConfinementReadiness } from "@corral/domain/http/Health"
import type { RunConfinement } from "@corral/domain/run/Confinement"
import type { RunFailure, RunMode } from "@corral/domain/run/Run"
import type { GrantRule } from "@corral/domain/approval/Grant"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import { Context, Effect, Layer, type Scope } from "effect"
import { existsSync } from "node:fs"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import type { KeyEntry } from "../config/KeyEntries.ts"
import { type NetworkUser, openRunNetwork, PROXY_SOCKET } from "../network/RunNetwork.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import { bubblewrapArguments } from "./BubblewrapCommand.ts"
import { type BubblewrapFound, type MissingMeans, probeBubblewrap } from "./BubblewrapProbe.ts"
import { canWrite, mountsOf } from "./ConfinedRoot.ts"
import type { Mount } from "./Mount.ts"
import { bridgedCommand, NETWORK_FOLDER, PROXY_PORT, proxyVariables } from "./NetworkBridge.ts"
import { foldersOfTools } from "./ProgramFolders.ts"
import { protectedFolders } from "./ProtectedFolders.ts"
import { repositoryMounts } from "./RepositoryMounts.ts"
import { resolveState } from "./RuntimeState.ts"
import { systemMounts } from "./SystemFolders.ts"

/** A run whose command is confined. */
export interface ConfinedRun {
  readonly mode: RunMode
  /** Real path of its folder, which exists. */
  readonly workspace: string
  readonly attachments: string | undefined
  readonly folders: RuntimeFolders | undefined
  readonly network: RuntimeNetwork | undefined
  /** Rules of the configuration for its workspace and agent. */
  readonly grants: ReadonlyArray<GrantRule>
  readonly user: NetworkUser
  /** The setting for the keys of its adapter; `undefined` if the run receives its keys. */
  readonly keys?: KeyEntry | undefined
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
  }
>()("corral/edge/Confinement") {
  static readonly layer = Layer.effect(
    Confinement,
    Effect.suspend(() => choose())
  )
}

const choose = Effect.fnUntraced(function* () {
  const config = yield* EdgeConfig
  const { confinement: setting } = config
  if (setting === "off") return unconfined
  const system = systemMounts(process.getuid?.() === 0)
  const found = yield* probeBubblewrap(config.environment["PATH"], system)
  if ("problem" in found) yield* Effect.logWarning("runs are not confined", { ...found })
  return Confinement.of({
    readiness: readinessOf(setting, found),
    admit: (mode) => admit(setting, found, mode),
    confine: (run, command) =>
      "problem" in found
        ? Effect.die("a run without means was admitted as confined")
        : confine(found, system, config, run, command)
  })
})

const unconfined = Confinement.of({
  readiness: { kind: "none", setting: "off", network: "open" },
  admit: () => Effect.undefined,
  confine: (_, command) => Effect.succeed(command)
})

const readinessOf = (
  setting: ConfinementReadiness["setting"],
  found: BubblewrapFound
): ConfinementReadiness => ({
  setting,
  ...("problem" in found
    ? { kind: "none", network: "open", ...found }
    : { kind: "bubblewrap", network: "closed" })
})

const admit = (
  setting: EdgeConfig["confinement"],
  found: BubblewrapFound,
  mode: RunMode
): Effect.Effect<RunConfinement, PermissionDenied> => {
  if (mode === "full_access")
    return Effect.succeed({ kind: "none", reason: "A run with full access is not confined." })
  if (!("problem" in found)) return Effect.succeed({ kind: "bubblewrap" })
  const { hint, problem } = found
  return setting === "required"
    ? Effect.fail(
        new PermissionDenied({
          message: `This Edge runs agents in this mode only if it can confine them. ${problem}`,
          details: { reason: "not_confined", mode, hint }
        })
      )
    : Effect.succeed({ kind: "none", reason: problem })
}

const notConfined = (cause: unknown): RunFailure => ({
  code: "permission_denied",
  message: `The run could not be confined: ${cause instanceof Error ? cause.message : String(cause)}`,
  details: { reason: "not_confined" }
})

const confine = Effect.fnUntraced(function* (
  { bridge, program }: Exclude<BubblewrapFound, MissingMeans>,
  system: ReadonlyArray<Mount>,
  config: EdgeConfig,
  run: ConfinedRun,
  command: SubprocessSpec
): Effect.fn.Return<SubprocessSpec, RunFailure, Scope.Scope> {
  const { environment, runHosts } = config
  const { grants, keys: entry, mode, network: declared, user } = run
  const folder = `${command.temporary ?? ""}.net`
  const keys = entry && { entry, declared: declared?.keys ?? [], env: command.env }
  const { environmentOf, ports } = yield* Effect.mapError(
    openRunNetwork({ folder, mode, declared, hosts: runHosts, grants, environment, user, keys }),
    notConfined
  )
  const bridged = bridgedCommand(
    bridge,
    [{ port: PROXY_PORT, socket: PROXY_SOCKET }, ...ports.map((port) => ({ port, socket: String(port) }))],
    command
  )
  return yield* Effect.try({
    try: () => {
      const mounts = mountsOfRun(system, config, run, command, folder)
      const args = bubblewrapArguments({ cwd: command.cwd, ...bridged, mounts })
      const env = { ...environmentOf(command.env, NETWORK_FOLDER), ...proxyVariables }
      return { ...command, file: program, args, env, isConfined: true }
    },
    catch: notConfined
  })
})

const mountsOfRun = (
  system: ReadonlyArray<Mount>,
  { configFile, deviceFile, home: edgeFolder, tokenFile }: EdgeConfig,
  { attachments, folders, mode, workspace }: ConfinedRun,
  { env, file, temporary }: SubprocessSpec,
  network: string
): ReadonlyArray<Mount> => {
  const { HOME: home } = env
  if (home === undefined || temporary === undefined)
    throw new Error("it has no home directory or no temporary folder")
  return mountsOf({
    mode,
    workspace,
    temporary,
    home,
    system,
    readable: [...foldersOfTools(file, env, home), ...(folders?.reads ?? [])],
    state: resolveState(folders, env, home, edgeFolder),
    protected: protectedFolders(workspace),
    repository: repositoryMounts(workspace, canWrite(mode)),
    attachments,
    network,
    edgeFolder,
    edgeFiles: [tokenFile, configFile, deviceFile].flatMap((path) =>
      path !== undefined && existsSync(path) ? [path] : []
    )
  })
}
