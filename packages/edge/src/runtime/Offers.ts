/**
 * All offers of this Edge by id: adapters, profiles over them, and runners, each as an agent of one shape that runs can use. Finds unknown adapters
 * and duplicate ids of a configuration.
 *
 * Runners that come with Corral are the documented command lines with which these tools do one task and exit. None of them asks before it acts. A
 * runner with the same id in the configuration replaces it.
 */
import { makeAcp } from "@corral/adapters/Acp"
import type { CommandLine } from "@corral/adapters/CommandLine"
import { makeJsonLines } from "@corral/adapters/JsonMapping"
import { aiderProject, gooseProject } from "@corral/adapters/ProjectFiles"
import { makeText } from "@corral/adapters/Text"
import type { AgentId } from "@corral/domain/identity/Ids"
import { currentAgentId, needsIsolation, replacedAdapters } from "@corral/domain/offer/Offer"
import type { Runner } from "@corral/domain/run/Agent"
import { type Run, RunMode } from "@corral/domain/run/Run"
import type { AnyRuntimeAdapter, Capabilities } from "@corral/domain/run/RuntimeAdapter"
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import type { ConfigProblem } from "./ConfigContent.ts"
import {
  acpAgentOf,
  type EdgeConfigFile,
  type Profile,
  type ProfileGrant,
  type RunnerEntry
} from "./ConfigSchema.ts"

/** An agent that runs can use: an adapter, a profile over an adapter, or a runner. */
export interface OfferedAgent {
  readonly id: AgentId
  readonly label: string
  readonly adapter: AnyRuntimeAdapter
  /** The adapter that its profile names, if `adapter` replaced it. */
  readonly replaced?: string | undefined
  /** Name or absolute path of a program that replaces the adapter's. */
  readonly program?: string | undefined
  readonly widestMode?: RunMode | undefined
  /** Default for runs that name none. */
  readonly model?: string | undefined
  /** Names of the Edge's variables that its runs receive, with `*` at the end for a prefix: the adapter's and the profile's. */
  readonly passEnv: ReadonlyArray<string>
  readonly grants: ReadonlyArray<ProfileGrant>
}

/** Network of the agent's runs. What an adapter says about its own program is not true of another. */
export const networkOf = ({
  adapter: { network },
  program
}: Pick<OfferedAgent, "adapter" | "program">): RuntimeNetwork | undefined =>
  network === undefined || program === undefined ? network : { ...network, isNodeClient: undefined }

/** Modes from the narrowest to the widest. */
const byWidth: ReadonlyArray<RunMode> = RunMode.literals

/** A runtime without approvals runs only with full access, in its own read-only mode, or where the kernel confines its runs. */
const enforceable = ({ approvals, readOnly }: Capabilities, mode: RunMode, isConfining: boolean): boolean =>
  approvals ||
  isConfining ||
  mode === "full_access" ||
  (readOnly && (mode === "read_only" || mode === "plan"))

/**
 * Modes that the agent supports, before the workspace's limits: up to its widest mode, and only modes that are enforced. `isConfining`: whether
 * the kernel confines the runs of this Edge.
 */
export const agentModes = (
  { adapter, widestMode = "full_access" }: OfferedAgent,
  isConfining = false
): ReadonlyArray<RunMode> =>
  byWidth
    .slice(0, byWidth.indexOf(widestMode) + 1)
    .filter((mode) => enforceable(adapter.capabilities, mode, isConfining))

/** Reason why the agent does not run in a mode, as a sentence; `undefined` if it does. */
export const modeRefusal = (agent: OfferedAgent, mode: RunMode, isConfining = false): string | undefined => {
  const modes = agentModes(agent, isConfining)
  if (modes.includes(mode)) return undefined
  const only = modes.length === 0 ? "in no mode" : `only in ${modes.join(", ")}`
  return enforceable(agent.adapter.capabilities, mode, isConfining)
    ? `${agent.label} runs ${only}.`
    : `${agent.label} does not ask for approval before it acts, so it runs ${only}.`
}

/** Reason why a run in `ask` needs an isolation: no user is asked before the agent changes something, so it changes a copy. */
export const isolationRefusal = (
  { adapter, label }: OfferedAgent,
  mode: RunMode,
  isolation: Run["isolation"]
): string | undefined =>
  needsIsolation(adapter, mode, isolation)
    ? `${label} does not ask for approval before it acts, so in ask it runs only in a worktree or a layer.`
    : undefined

/** Offer of an adapter without a profile. */
export const fromAdapter = (adapter: AnyRuntimeAdapter): OfferedAgent => ({
  id: adapter.id as AgentId, // the ids of adapters are agent ids
  label: adapter.label,
  adapter,
  passEnv: adapter.passEnv ?? [],
  grants: []
})

interface BuiltInRunner extends CommandLine {
  readonly id: string
}

/** Variables with keys and addresses of model services. */
const MODELS = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "OPENAI_API_BASE",
  "OPENAI_BASE_URL",
  "GEMINI_API_KEY",
  "GOOGLE_API_KEY",
  "OPENROUTER_API_KEY",
  "DEEPSEEK_API_KEY",
  "OLLAMA_HOST",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY"
]

export const builtInRunners: ReadonlyArray<BuiltInRunner> = [
  {
    id: "aider",
    label: "Aider",
    command: [
      "aider",
      "--yes-always",
      "--no-auto-commits",
      "--no-pretty",
      "--no-check-update",
      "--message={prompt}"
    ],
    stdin: "none",
    install: "Install Aider: python -m pip install aider-install && aider-install",
    passEnv: ["AIDER_*", ...MODELS],
    projectSettings: aiderProject
  },
  {
    id: "goose",
    label: "Goose",
    command: ["goose", "run", "--no-session", "--quiet", "--instructions", "-"],
    stdin: "prompt",
    install: "Install the Goose command line, then run `goose configure`.",
    passEnv: ["GOOSE_*", ...MODELS],
    projectSettings: gooseProject
  },
  {
    id: "llm",
    label: "LLM",
    command: ["llm", "prompt"],
    stdin: "prompt",
    install: "Install LLM: pipx install llm",
    passEnv: ["LLM_*", ...MODELS]
  }
]

export interface OfferedRunner extends OfferedAgent {
  readonly command: Runner["command"]
}

export interface Offers {
  /** Adapters, then profiles. */
  readonly agents: ReadonlyArray<OfferedAgent>
  readonly runners: ReadonlyArray<OfferedRunner>
  readonly byId: ReadonlyMap<string, OfferedAgent>
  /** A sentence about each profile that is not offered, because its external adapter is not loaded. */
  readonly left: ReadonlyArray<string>
}

type Adapters = ReadonlyMap<string, AnyRuntimeAdapter>

/** The adapter that a profile names, or the one that replaced it. */
const adapterNamed = (adapters: Adapters, id: string): AnyRuntimeAdapter | undefined =>
  adapters.get(id) ?? adapters.get(currentAgentId(id))

const fromProfile = (profile: Profile, adapter: AnyRuntimeAdapter): OfferedAgent => {
  const { id, label, program, model, grants = [], env = [] } = profile
  return {
    id,
    label,
    adapter,
    ...(profile.adapter === adapter.id ? {} : { replaced: profile.adapter }),
    program,
    model,
    grants,
    widestMode: profile.mode ?? (grants.includes("full_access") ? "full_access" : "auto_edit"),
    passEnv: [...(adapter.passEnv ?? []), ...env]
  }
}

const fromCommandLine = (
  id: string,
  { command }: Pick<Runner, "command">,
  adapter: AnyRuntimeAdapter
): OfferedRunner => ({
  ...fromAdapter(adapter),
  id: id as AgentId, // checked as one by the schema, or ours and of the form of agent ids
  command
})

const fromBuiltIn = (runner: BuiltInRunner): OfferedRunner =>
  fromCommandLine(runner.id, runner, makeText(runner))

const fromEntry = (entry: RunnerEntry): OfferedRunner => {
  const { id, label, command, stdin = "none", env = [], map } = entry
  const [program] = command
  const install = `Install ${program}, or correct its path in the configuration.`
  const options = { label, command, stdin, install, passEnv: env }
  return fromCommandLine(
    id,
    entry,
    map === undefined ? makeText(options) : makeJsonLines({ ...options, map })
  )
}

const offersOf = ({ profiles = [], runners = [] }: EdgeConfigFile, adapters: Adapters): Offers => {
  const runnerIds = new Set<string>(runners.map(({ id }) => id))
  const usedBuiltIns = builtInRunners.filter(({ id }) => !runnerIds.has(id) && !adapters.has(id))
  const offered = {
    agents: [
      ...[...adapters.values()].map(fromAdapter),
      ...profiles.flatMap((profile) => {
        const adapter = adapterNamed(adapters, profile.adapter)
        return adapter === undefined ? [] : [fromProfile(profile, adapter)]
      })
    ],
    runners: [...usedBuiltIns.map(fromBuiltIn), ...runners.map(fromEntry)]
  }
  const all = [...offered.agents, ...offered.runners]
  const left = profiles
    .filter(({ adapter }) => adapterNamed(adapters, adapter) === undefined)
    .map(({ adapter, id }) => `The profile ${id} is not offered: its adapter ${adapter} is not loaded.`)
  return { ...offered, byId: new Map(all.map((agent) => [agent.id, agent])), left }
}

/** Whether a profile's adapter may be one of the listed adapters that are not loaded. */
const isExternal = ({ adapters: listed = [] }: EdgeConfigFile, { adapter }: Profile): boolean =>
  listed.length > 0 && adapter.startsWith("custom:")

const configProblems = (file: EdgeConfigFile, adapters: Adapters): Array<ConfigProblem> => {
  const { profiles = [], runners = [] } = file
  const problems: Array<ConfigProblem> = []
  const usedIds = new Set<string>([...adapters.keys(), ...replacedAdapters.keys()])
  const take = (id: string, path: string) => {
    if (usedIds.has(id)) problems.push({ path, message: "this id is taken" })
    usedIds.add(id)
  }
  runners.forEach(({ id }, at) => take(id, `runners.${at}.id`))
  for (const { id } of builtInRunners) usedIds.add(id)
  profiles.forEach((profile, at) => {
    take(profile.id, `profiles.${at}.id`)
    const adapter = adapterNamed(adapters, profile.adapter)
    if (adapter === undefined) {
      if (isExternal(file, profile)) return
      const message = `there is no such adapter; there are ${[...adapters.keys()].join(", ")}`
      problems.push({ path: `profiles.${at}.adapter`, message })
    } else if (agentModes(fromProfile(profile, adapter)).length === 0) {
      problems.push({ path: `profiles.${at}.mode`, message: "this adapter cannot be held to such a mode" })
    }
  })
  return problems
}

/** Adapters for the Agent Client Protocol agents of the file. */
const acpOf = ({ acp = [] }: EdgeConfigFile): ReadonlyArray<AnyRuntimeAdapter> =>
  (isList(acp) ? acp : [acp]).map((entry) => makeAcp(acpAgentOf(entry)))

const isList = <A>(value: A | ReadonlyArray<A>): value is ReadonlyArray<A> => Array.isArray(value)

/** The offers of a configuration, or the path of a value that does not match these adapters. */
export const makeOffers = (
  file: EdgeConfigFile,
  installed: Adapters
): Offers | ReadonlyArray<ConfigProblem> => {
  const adapters = new Map(installed)
  for (const [at, adapter] of acpOf(file).entries()) {
    if (adapters.has(adapter.id)) return [{ path: `acp.${at}.name`, message: "this name is taken" }]
    adapters.set(adapter.id, adapter)
  }
  const problems = configProblems(file, adapters)
  return problems.length > 0 ? problems : offersOf(file, adapters)
}
