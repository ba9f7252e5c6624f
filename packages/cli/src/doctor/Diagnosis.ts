/**
 * Diagnosis of `corral doctor`: this program, the Edge, its files, the holder of its runs, the Hub and the agents of this machine. Loaded on
 * demand.
 */
import type {
  ConfigReadiness,
  ConfinementReadiness,
  LayerReadiness,
  EdgeReadiness,
  GitFound,
  HealthProblem,
  LinkReadiness,
  RuntimeReadiness
} from "@corral/domain/http/Health"
import type { Agent, Runner } from "@corral/domain/run/Agent"
import { readEdgeConfig } from "@corral/edge/EdgeSettings"
import { EdgeConfig, edgeDefaults } from "@corral/edge/config/EdgeConfig"
import { Confinement } from "@corral/edge/confinement/Confinement"
import { type HolderFound, inquireHolder } from "@corral/edge/holder/HolderControl"
import { examineStore } from "@corral/edge/log/StoreExamination"
import { Containment } from "@corral/edge/process/Containment"
import { LOW_DISK_BYTES, diskOf, findGit } from "@corral/edge/runtime/Programs"
import { ReadsPresets } from "@corral/edge/runtime/Presets"
import { Runtimes } from "@corral/edge/runtime/Runtimes"
import { VERSION } from "@corral/service/Version"
import { Effect, Layer, Result } from "effect"
import { statSync } from "node:fs"
import { join } from "node:path"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import type { EdgeChoice } from "../Flags.ts"
import { connectToEdge, fetchEdgeHealth } from "../edge/EdgeClient.ts"
import { corralHome, locateEdge } from "../edge/EdgeLocation.ts"
import { LOCAL_DEVICE_FILE, readSignIn, RESTING_FILE, SIGN_IN_FILE } from "../hub/SignInFile.ts"
import { Host } from "../terminal/Host.ts"
import { type HubStatus, inspectHub } from "./HubHealth.ts"

/** An adapter, or a profile if `runtime` is another id. */
export type AgentStatus = Pick<
  Agent,
  "id" | "label" | "runtime" | "available" | "version" | "signedIn" | "modes" | "reason" | "hint"
> &
  Pick<RuntimeReadiness, "path" | "drift">

export type RunnerStatus = Pick<Runner, "id" | "label" | "command" | "available" | "reason" | "hint">

/** Combines an agent of `/v1/agents` with its runtime health. */
const agentStatus = (agent: Agent, readiness: ReadonlyArray<RuntimeReadiness>): AgentStatus => {
  const { id, label, runtime, available, version, signedIn, modes, reason, hint } = agent
  const { path, drift } = readiness.find((runtime) => runtime.id === id) ?? {}
  return {
    id,
    label,
    runtime,
    available,
    ...(path === undefined ? {} : { path }),
    ...(version === undefined ? {} : { version }),
    ...(signedIn === undefined ? {} : { signedIn }),
    ...(modes === undefined ? {} : { modes }),
    ...(reason === undefined ? {} : { reason }),
    ...(hint === undefined ? {} : { hint }),
    ...(drift === undefined ? {} : { drift })
  }
}

const runnerStatus = ({ id, label, command, available, reason, hint }: Runner): RunnerStatus => ({
  id,
  label,
  command,
  available,
  ...(reason === undefined ? {} : { reason }),
  ...(hint === undefined ? {} : { hint })
})

/** The holder of this home's runs, for `corral doctor --upgrade`. Loaded on demand. */
export const findHolder: Effect.Effect<HolderFound | undefined, CommandFailed, Host> = Effect.gen(
  function* () {
    const { environment } = yield* Host
    const { home } = yield* Effect.mapError(readEdgeConfig(environment), ({ message }) => refused(message))
    return yield* Effect.mapError(
      inquireHolder(home),
      ({ message }) => new CommandFailed({ message, exitCode: exitCodes.failed })
    )
  }
)

export type EdgeStatus =
  | {
      readonly running: true
      readonly url: string
      readonly status: "ok" | "degraded"
      readonly version: string
      readonly runs: number
      /** Runs that wait for another run to end. */
      readonly queued: number
      readonly workspaces: number
      readonly store: string
      readonly containment: string
      /** Problems reported by the Edge, each with a hint. */
      readonly problems: ReadonlyArray<HealthProblem>
      /** Link to a Hub. */
      readonly link?: LinkReadiness | undefined
    }
  | {
      readonly running: false
      readonly reason: string
      /** Settings that prevent a start. */
      readonly problem?: string | undefined
      /** Problem of the store that prevents a start, with a hint. */
      readonly store?: string | undefined
    }

/** One of Corral's own files. `mode` is as in `chmod`. Not ok if other users can read it. */
export interface FileStatus {
  readonly name: string
  readonly mode: string
  readonly ok: boolean
  readonly hint?: string
}

export interface Diagnosis {
  readonly corral: string
  readonly node: { readonly version: string; readonly ok: boolean }
  readonly home: { readonly path: string; readonly files: ReadonlyArray<FileStatus> }
  readonly edge: EdgeStatus
  /** Hub that this machine is linked to or signed in to. */
  readonly hub?: HubStatus | undefined
  /** File of profiles and runners. */
  readonly config?: ConfigReadiness | undefined
  readonly git: GitFound
  readonly disk?: { readonly freeBytes: number; readonly ok: boolean } | undefined
  readonly containment: string
  /** Absent for an Edge of an earlier version. */
  readonly confinement?: ConfinementReadiness | undefined
  /** Absent for an Edge of an earlier version, and without a running Edge. */
  readonly layers?: LayerReadiness | undefined
  readonly agents: ReadonlyArray<AgentStatus>
  readonly runners: ReadonlyArray<RunnerStatus>
  /** Sentences about configured adapters that do not work. */
  readonly adapterProblems: ReadonlyArray<string>
}

/** Part of the diagnosis that comes from the Edge if it runs, otherwise from this machine. */
type MachineStatus = Pick<
  Diagnosis,
  | "edge"
  | "config"
  | "git"
  | "disk"
  | "containment"
  | "confinement"
  | "layers"
  | "agents"
  | "runners"
  | "adapterProblems"
>

const diskStatus = (disk: { readonly freeBytes: number } | undefined): Diagnosis["disk"] =>
  disk === undefined ? undefined : { freeBytes: disk.freeBytes, ok: disk.freeBytes >= LOW_DISK_BYTES }

const CORRAL_FILES = [
  "",
  "edge.json",
  "edge.token",
  "edge.db",
  "device.json",
  LOCAL_DEVICE_FILE,
  SIGN_IN_FILE,
  RESTING_FILE
]

/** `undefined` if there is no file, or if this user cannot see it: `examineStore` reports a home that cannot be read. */
const statOf = (path: string) => {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const fileStatuses = (home: string): ReadonlyArray<FileStatus> =>
  CORRAL_FILES.flatMap((name) => {
    const path = join(home, name)
    const stat = statOf(path)
    if (stat === undefined) return []
    const mode = (stat.mode & 0o777).toString(8).padStart(3, "0")
    const ok = (stat.mode & 0o077) === 0
    const hint = `Other users can read it. Run chmod ${stat.isDirectory() ? "700" : "600"} ${path}`
    return [{ name: name === "" ? "." : name, mode, ok, ...(ok ? {} : { hint }) }]
  })

const isNewEnough = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major > 22 || (major === 22 && minor >= 19)
}

const formatStore = (store: EdgeReadiness["store"]): string => {
  if (store === undefined) return "unknown"
  const { status, engine, message } = store
  return `${status} (${engine})${message === undefined ? "" : `: ${message}`}`
}

/** Reads the status from the running Edge. */
const inspectRunningEdge = Effect.fnUntraced(function* (choice: EdgeChoice) {
  const endpoint = yield* locateEdge(choice)
  const calls = yield* connectToEdge(endpoint)
  // Before health: the list waits for version checks of the agents, health does not.
  const { items } = yield* calls.agents.list()
  const { items: runners } = yield* calls.agents.listRunners()
  const health = yield* fetchEdgeHealth(endpoint)
  const { status, process: edgeProcess, runs, store, workspaces, containment, runtimes = [] } = health
  const edge: EdgeStatus = {
    running: true,
    url: endpoint.url,
    status,
    version: edgeProcess?.version ?? "(unknown version)",
    runs: runs?.live ?? 0,
    queued: runs?.queued ?? 0,
    workspaces: workspaces?.count ?? 0,
    store: formatStore(store),
    containment: containment?.kind ?? "unknown",
    problems: health.problems ?? [],
    link: health.link
  }
  return {
    edge,
    config: health.config,
    git: health.git ?? { found: false },
    disk: diskStatus(health.disk),
    containment: edge.containment,
    confinement: health.confinement,
    layers: health.layers,
    agents: items.map((agent) => agentStatus(agent, runtimes)),
    runners: runners.map(runnerStatus),
    adapterProblems: edge.problems.flatMap(({ message, part }) => (part === "adapters" ? [message] : []))
  } satisfies MachineStatus
})

/** Inspects what an Edge would find if it started here. */
const inspectMachine = Effect.fnUntraced(function* (reason: string) {
  const { environment } = yield* Host
  const settings = yield* Effect.result(readEdgeConfig(environment))
  const home = yield* corralHome
  const edge = (problem?: string): EdgeStatus => ({
    running: false,
    reason: problem === undefined ? reason : `${reason} It can't start: ${problem}`,
    problem,
    store: examineStore(home)
  })
  const config: EdgeConfig = Result.getOrElse(settings, () => ({
    ...edgeDefaults,
    home,
    tokenFile: "",
    environment
  }))
  const inspect = Effect.gen(function* () {
    const { kind } = yield* Containment
    const { readiness: confinement } = yield* Confinement
    const runtimes = yield* Runtimes
    const agents = yield* runtimes.list
    const readiness = yield* runtimes.readiness
    return {
      edge: edge(Result.isFailure(settings) ? settings.failure.message : undefined),
      config: yield* runtimes.config,
      git: yield* findGit,
      disk: diskStatus(yield* diskOf(home)),
      containment: kind,
      confinement,
      agents: agents.map((agent) => agentStatus(agent, readiness)),
      runners: (yield* runtimes.runners).map(runnerStatus),
      adapterProblems: yield* runtimes.adapterProblems
    } satisfies MachineStatus
  })
  const inspectWith = (config: EdgeConfig) =>
    Effect.provide(
      inspect,
      Layer.provide(
        Layer.merge(Runtimes.layer, Containment.layer).pipe(Layer.provideMerge(Confinement.layer)),
        Layer.succeed(EdgeConfig, config)
      )
    )
  return yield* inspectWith(config).pipe(
    // Without the invalid file, the built-in agents can still be inspected.
    Effect.catch(({ file = config.configFile ?? "", message: problem }) =>
      inspectWith({ ...config, configFile: undefined }).pipe(
        Effect.provideService(ReadsPresets, false),
        Effect.map((found): MachineStatus => ({
          ...found,
          edge: edge(problem),
          config: { status: "degraded", path: file, problem }
        }))
      )
    )
  )
})

/** Runs the diagnosis. Never fails: parts that can't be inspected are reported as such. */
export const diagnose = Effect.fn("Diagnosis.diagnose")(function* (choice: EdgeChoice) {
  const path = yield* corralHome
  const found: MachineStatus = yield* inspectRunningEdge(choice).pipe(
    Effect.catch(({ message }) => Effect.orDie(inspectMachine(message)))
  )
  const { environment } = yield* Host
  const signIn = yield* Effect.orElseSucceed(readSignIn, () => undefined)
  const hubUrl = (found.edge.running ? found.edge.link?.hub : undefined) ?? signIn?.hub
  const hub = hubUrl === undefined ? undefined : yield* inspectHub(hubUrl, signIn, environment)
  return {
    corral: VERSION,
    node: { version: process.versions.node, ok: isNewEnough(process.versions.node) },
    home: { path, files: fileStatuses(path) },
    hub,
    ...found
  } satisfies Diagnosis
})
