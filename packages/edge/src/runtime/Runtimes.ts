/**
 * Runtimes of this machine as agents: offers, paths of programs, versions and sign-ins. Outputs without a name in an adapter since the
 * Edge started, which show that a runtime has changed. Stores counts, names and one sample per kind, in bounded memory.
 *
 * Does not: call a model. A program that is found and signed in may still fail in a run.
 */
import { InvalidAgentId, RuntimeUnavailable } from "@corral/domain/errors/Failures"
import type { ConfigReadiness, RuntimeDrift, RuntimeReadiness } from "@corral/domain/http/Health"
import type { AgentId } from "@corral/domain/identity/Ids"
import { currentAgentId, namesSameAgent } from "@corral/domain/offer/Offer"
import type { Agent, Runner } from "@corral/domain/run/Agent"
import { closesNetwork } from "@corral/domain/run/Confinement"
import type { AnyRuntimeAdapter, Probe } from "@corral/domain/run/RuntimeAdapter"
import { firstCharacters } from "@corral/domain/text/Cut"
import { Context, Effect, Layer } from "effect"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { Confinement } from "../confinement/Confinement.ts"
import { ConfigFileInvalid } from "./ConfigContent.ts"
import { agentModes, type OfferedAgent, type OfferedRunner } from "./Offers.ts"
import { Presets } from "./Presets.ts"
import { type ProgramAnswer, type ProgramQuestion, Programs, versionIn } from "./Programs.ts"

const MAX_KINDS = 1_000
const MAX_CHARACTERS = 200
const MAX_RAW = 2_000
const REPORTED_KINDS = 20
const MAX_VERSIONS = 20

interface Kind {
  count: number
  /** The first sample. */
  raw: string | undefined
}

interface Counted {
  unknown: number
  readonly kinds: Map<string, Kind>
}

class Drift {
  readonly #counted = new Map<string, Counted>()
  readonly #versions = new Map<string, Set<string>>()

  /** `what` is a name of the runtime's protocol, `raw` the printed text, both without secrets. Kinds over the limit count in the total only. */
  count(runtime: string, what: string, raw?: string): void {
    const counted = this.#counted.get(runtime) ?? { unknown: 0, kinds: new Map<string, Kind>() }
    this.#counted.set(runtime, counted)
    counted.unknown++
    const name = what.slice(0, MAX_CHARACTERS).replaceAll(/[^\w .:/-]/g, "?")
    const kind = counted.kinds.get(name) ?? { count: 0, raw: undefined }
    kind.count++
    kind.raw ??= raw === undefined ? undefined : firstCharacters(raw, MAX_RAW)
    if (kind.count > 1 || counted.kinds.size < MAX_KINDS) counted.kinds.set(name, kind)
  }

  /** Records the version of a runtime's program. */
  record(runtime: string, version: string): void {
    const versions = this.#versions.get(runtime) ?? new Set()
    this.#versions.set(runtime, versions)
    if (versions.size < MAX_VERSIONS) versions.add(version)
  }

  /** `undefined` if every output had a name. */
  of(runtime: string): RuntimeDrift | undefined {
    const counted = this.#counted.get(runtime)
    if (counted === undefined) return undefined
    const kinds = [...counted.kinds].map(([what, { count, raw }]) => ({
      what,
      count,
      ...(raw === undefined ? {} : { raw })
    }))
    return {
      unknown: counted.unknown,
      kinds: kinds.toSorted((a, b) => b.count - a.count).slice(0, REPORTED_KINDS),
      versionsSeen: [...(this.#versions.get(runtime) ?? [])]
    }
  }
}

export class Runtimes extends Context.Service<
  Runtimes,
  {
    /** An adapter, a profile or a runner, by id, also by that of an adapter that it replaced. */
    readonly get: (id: AgentId) => Effect.Effect<OfferedAgent, InvalidAgentId>
    /** Absolute path of the agent's program. Fails if it is not installed. */
    readonly locate: (agent: OfferedAgent, file: string) => Effect.Effect<string, RuntimeUnavailable>
    /** Adapters and profiles, with the answers of their programs. */
    readonly list: Effect.Effect<ReadonlyArray<Agent>>
    readonly runners: Effect.Effect<ReadonlyArray<Runner>>
    /** Cached readiness of adapters and profiles. Refreshes it in the background, and waits up to a second for unknown readiness. */
    readonly readiness: Effect.Effect<ReadonlyArray<RuntimeReadiness>>
    /** State of the file of profiles and runners; `undefined` without one. */
    readonly config: Effect.Effect<ConfigReadiness | undefined>
    /** A sentence about each configured adapter and preset that does not work. */
    readonly adapterProblems: Effect.Effect<ReadonlyArray<string>>
    /** Counts an output without a name in the adapter. `raw`: the printed text, without secrets. */
    readonly countUnknown: (adapter: AnyRuntimeAdapter, what: string, raw?: string) => void
  }
>()("corral/edge/Runtimes") {
  /**
   * Also provides `Programs` and `Presets`.
   *
   * @internal
   */
  static readonly layer = Layer.effect(
    Runtimes,
    Effect.suspend(() => make())
  ).pipe(
    Layer.provideMerge([
      Layer.unwrap(Effect.map(EdgeConfig, ({ environment }) => Programs.layer(environment))),
      Presets.layer
    ])
  )
}

/** Questions to the program of an agent. */
interface Questions {
  readonly version: ProgramQuestion
  readonly signedIn?: ProgramQuestion | undefined
}

const SIGN_IN_HOLDS_MS = 60_000
const ANSWER_TIMEOUT = "1 second"

const make = Effect.fnUntraced(function* () {
  const config = yield* EdgeConfig
  const presets = yield* Presets
  const isConfining = closesNetwork((yield* Confinement).readiness.kind)
  const scope = yield* Effect.scope
  yield* checkProxyKeys(config, (yield* presets.look).offers.agents)
  const drift = new Drift()
  const probed = new ProbedPrograms(yield* Programs, drift, isConfining)
  const offers = Effect.map(presets.look, (state) => state.offers)
  return Runtimes.of({
    get: (id) =>
      Effect.flatMap(offers, ({ byId }) => {
        const agent = byId.get(id) ?? byId.get(currentAgentId(id))
        return agent === undefined ? Effect.fail(new InvalidAgentId()) : Effect.succeed(agent)
      }),
    locate: (agent, command) => probed.locate(agent, command),
    list: Effect.gen(function* () {
      const { agents } = yield* offers
      yield* probed.refresh(agents)
      return agents.map((agent) => probed.agentOf(agent))
    }),
    runners: Effect.map(offers, ({ runners }) => runners.map((runner) => probed.runnerOf(runner))),
    readiness: Effect.gen(function* () {
      const { agents } = yield* offers
      const refreshing = probed.refresh(agents)
      const isKnown = agents.every((agent) => probed.readinessOf(agent).isKnown)
      yield* isKnown ? Effect.forkIn(refreshing, scope) : Effect.timeoutOption(refreshing, ANSWER_TIMEOUT)
      return agents.map((agent) => {
        const { isKnown: _, ...readiness } = probed.readinessOf(agent)
        return readiness
      })
    }),
    config: Effect.map(presets.look, ({ problem }): ConfigReadiness | undefined => {
      const path = config.configFile
      if (path === undefined) return undefined
      return problem === undefined ? { status: "ok", path } : { status: "degraded", path, problem }
    }),
    adapterProblems: presets.problems,
    countUnknown: (adapter, what, raw) => drift.count(adapter.id, what, raw)
  })
})

/** A misspelled adapter would run with its keys. Adapters of packages may be missing for a time. */
const checkProxyKeys = (
  { proxyKeys }: EdgeConfig,
  agents: ReadonlyArray<OfferedAgent>
): Effect.Effect<void, ConfigFileInvalid> => {
  const wrong = proxyKeys.find(
    (entry) =>
      !entry.adapter.startsWith("custom:") &&
      !agents.some(({ adapter }) => namesSameAgent(adapter.id, entry.adapter))
  )
  if (wrong === undefined) return Effect.void
  const message = `CORRAL_EDGE_PROXY_KEYS names the adapter ${wrong.adapter}, which this Edge does not have.`
  return Effect.fail(new ConfigFileInvalid({ message }))
}

/** What the programs of agents answer about themselves. */
class ProbedPrograms {
  private readonly programs: Programs["Service"]
  private readonly drift: Drift
  private readonly isConfining: boolean

  constructor(programs: Programs["Service"], drift: Drift, isConfining: boolean) {
    this.programs = programs
    this.drift = drift
    this.isConfining = isConfining
  }

  private pathOf({ adapter, program }: OfferedAgent): string | undefined {
    return this.programs.find(program ?? adapter.probe.command)
  }

  locate(agent: OfferedAgent, command: string): Effect.Effect<string, RuntimeUnavailable> {
    return Effect.suspend(() => {
      const { id, label, program } = agent
      const path = this.programs.find(program ?? command)
      return path === undefined
        ? Effect.fail(
            new RuntimeUnavailable({
              message: `${label} is not installed. ${installHint(agent)}`,
              details: { reason: "command_missing", agentId: id }
            })
          )
        : Effect.succeed(path)
    })
  }

  /** Current readiness. `isKnown`: whether every question has an answer. */
  readinessOf(agent: OfferedAgent): RuntimeReadiness & { readonly isKnown: boolean } {
    const { drift, programs } = this
    const { id, label, adapter } = agent
    const base = { id, label, runtime: adapter.id }
    const path = this.pathOf(agent)
    const drifted = adapter.id === id ? drift.of(id) : undefined
    const more = drifted === undefined ? {} : { drift: drifted }
    if (path === undefined) {
      const hint = installHint(agent)
      return { ...base, installed: false, reason: "command_missing", hint, ...more, isKnown: true }
    }
    const questions = questionsOf(agent, path)
    const versionAnswer = programs.lastAnswer(questions.version)
    const version = versionIn(versionAnswer?.answer)
    if (version !== undefined) drift.record(adapter.id, version)
    const signInAnswer =
      questions.signedIn === undefined ? undefined : programs.lastAnswer(questions.signedIn)
    const isSilent = [versionAnswer, signInAnswer].some(
      (result) => result !== undefined && result.answer === undefined
    )
    return {
      ...base,
      installed: true,
      path,
      ...(version === undefined ? {} : { version }),
      ...signInOf(adapter.probe, signInAnswer?.answer, isSilent),
      ...more,
      isKnown: versionAnswer !== undefined && (questions.signedIn === undefined || signInAnswer !== undefined)
    }
  }

  /** Asks every installed program with an expired answer again. */
  refresh(agents: ReadonlyArray<OfferedAgent>) {
    return Effect.forEach(
      agents,
      (agent) => {
        const path = this.pathOf(agent)
        return path === undefined ? Effect.void : this.ask(questionsOf(agent, path))
      },
      { concurrency: "unbounded", discard: true }
    )
  }

  private ask({ version, signedIn }: Questions) {
    const { programs } = this
    return Effect.all([
      programs.ask(version),
      signedIn === undefined ? Effect.undefined : programs.ask(signedIn)
    ])
  }

  runnerOf(runner: OfferedRunner): Runner {
    const { id, label, adapter, command } = runner
    const base = {
      id,
      label,
      runtime: adapter.id,
      command: [...command],
      counts: adapter.counts ?? [],
      modes: agentModes(runner, this.isConfining)
    }
    return this.pathOf(runner) === undefined
      ? { ...base, available: false, reason: "command_missing", hint: installHint(runner) }
      : { ...base, available: true }
  }

  agentOf(agent: OfferedAgent): Agent {
    const { hint, installed, reason, signedIn, version } = this.readinessOf(agent)
    const { id, label, adapter, model } = agent
    return {
      id,
      label,
      runtime: adapter.id,
      counts: adapter.counts ?? [],
      capabilities: adapter.capabilities,
      modes: agentModes(agent, this.isConfining),
      available: installed,
      ...(model === undefined ? {} : { model }),
      ...(version === undefined ? {} : { version }),
      ...(signedIn === undefined ? {} : { signedIn }),
      ...(reason === undefined ? {} : { reason }),
      ...(hint === undefined ? {} : { hint })
    }
  }
}

const signInOf = (
  { signIn, signedIn: reader }: Probe,
  answer: ProgramAnswer,
  isSilent: boolean
): Pick<RuntimeReadiness, "signedIn" | "reason" | "hint"> => {
  const signedIn = answer === undefined ? undefined : reader?.read(answer)
  const missing = { reason: "not_signed_in", ...(signIn === undefined ? {} : { hint: signIn }) }
  return {
    ...(signedIn === undefined ? {} : { signedIn }),
    ...(signedIn === false ? missing : isSilent ? noAnswer : {})
  }
}

const installHint = ({ program, adapter }: OfferedAgent): string =>
  program === undefined ? adapter.probe.install : "The program that its profile names is not on this machine."

/** Offered, because it may work without an answer. */
const noAnswer = { reason: "no_answer", hint: "Its program gave no answer about itself within 10 seconds." }

const questionsOf = ({ adapter, passEnv }: OfferedAgent, program: string): Questions => {
  const { versionArgs, signedIn } = adapter.probe
  return {
    version: { program, args: versionArgs, pass: [], holds: Infinity },
    // The sign-in may depend on the environment, so the question uses that of a run.
    ...(signedIn === undefined
      ? {}
      : { signedIn: { program, args: signedIn.args, pass: passEnv, holds: SIGN_IN_HOLDS_MS } })
  }
}
