/**
 * Start of a run from the command line: its server, what the flags leave open, and the run that it continues. A failure that names an unknown
 * agent or workspace lists those that there are, at an Edge and at a Hub.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { AgentId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { namesSameAgent } from "@corral/domain/offer/Offer"
import { hasSameLimits, limitsOfTurn } from "@corral/domain/run/Budget"
import type { Isolation, Run, RunMode } from "@corral/domain/run/Run"
import { Effect, Option } from "effect"
import { CommandFailed, refused } from "../CommandFailed.ts"
import { durationMs } from "@corral/domain/run/LimitText"
import { escapeLine } from "../terminal/VisibleText.ts"
import { groupsOf, parseCandidates } from "./Candidates.ts"
import { resolveRunId } from "./IdArguments.ts"
import { type LimitFlags, limitsOfFlags } from "./TurnLimits.ts"
import { type RunChoices, type RunServer, type ServerCall, type StartRun, hasEnded } from "./RunServer.ts"
import { type StartServerChoice, onlyChoice, selectRunServer, selectStartServer } from "./SelectRunServer.ts"

const lists: ReadonlyMap<string | undefined, readonly [label: string, of: keyof RunChoices]> = new Map([
  ["invalid_agent_id", ["Available agents", "agents"]],
  ["workspace_outside_allowlist", ["Available workspaces", "workspaces"]]
])

/**
 * Start of a run that names an unknown agent or workspace: the failure lists those that there are, at an Edge and at a Hub. Adds the list to a
 * failure. Nothing is added where the list can't be read.
 */
export const withChoices = ({ choices }: Pick<RunServer, "choices">) => {
  const explained = Effect.fnUntraced(function* (refusal: CommandFailed) {
    const [label, of] = lists.get(refusal.code) ?? []
    const all = yield* Effect.orElseSucceed(choices, () => undefined)
    if (label === undefined || of === undefined || all === undefined) return refusal
    const names = all[of].map(escapeLine).join(", ") || "none"
    return new CommandFailed({ ...refusal, message: `${refusal.message} ${label}: ${names}.` })
  })
  return <A>(start: ServerCall<A>): ServerCall<A> =>
    start.pipe(
      Effect.catchIf(
        ({ code }) => lists.has(code),
        (refusal) => Effect.flatMap(explained(refusal), Effect.fail)
      )
    )
}

export interface StartRequest extends StartServerChoice, LimitFlags {
  readonly agent: Option.Option<AgentId>
  readonly workspace: Option.Option<WorkspaceId>
  readonly mode: Option.Option<RunMode>
  readonly model: Option.Option<string>
  readonly isolation?: Option.Option<Isolation>
  /** Durations, as typed. */
  readonly background: Option.Option<string>
  readonly inputTtl: Option.Option<string>
  readonly queue: boolean
  readonly resume: Option.Option<string>
  readonly continueLast: boolean
  readonly prompt: ReadonlyArray<string>
}

type EarlierRun = Run | HubRun

const latestRun = Effect.fnUntraced(function* (server: RunServer, { agent, workspace }: StartRequest) {
  const { items } = yield* server.runs({ limit: 200 })
  const found = items.find(
    (run) =>
      namesSameAgent(
        run.agentId,
        Option.getOrElse(agent, () => run.agentId)
      ) && run.workspace === Option.getOrElse(workspace, () => run.workspace)
  )
  return found ?? (yield* refused("There is no run to continue."))
})

/** The run that the new one continues. */
const earlierRun = Effect.fnUntraced(function* (request: StartRequest) {
  const { continueLast, edge: _, resume, ...choice } = request
  if (Option.isNone(resume) && !continueLast) return undefined
  if (Option.isSome(resume) && continueLast)
    return yield* refused("--resume and --continue can't be combined.")
  const server = yield* selectRunServer(choice)
  const run = Option.isSome(resume)
    ? yield* server.run(yield* resolveRunId(server)(resume.value))
    : yield* latestRun(server, request)
  for (const [name, flag] of [
    ["agent", "agentId"],
    ["workspace", "workspace"]
  ] as const) {
    const wanted: string | undefined = Option.getOrUndefined<string>(request[name])
    if (wanted !== undefined && wanted !== run[flag])
      return yield* refused(
        `Run ${run.id} belongs to ${name} ${run[flag]}. A conversation keeps its ${name}.`
      )
  }
  return run
})

/** The Hub knows a run of this machine only if it was started there. */
const serverFor = Effect.fnUntraced(function* (request: StartRequest, earlier: EarlierRun | undefined) {
  const selected = yield* selectStartServer(
    request,
    earlier?.workspace ?? Option.getOrUndefined(request.workspace)
  )
  if (earlier === undefined || selected.target === undefined) return selected
  return yield* selected.server.run(earlier.id).pipe(
    Effect.as(selected),
    Effect.catchIf(
      ({ code }) => code === "permission_denied" || code === "not_found",
      () => selectStartServer({ ...request, edge: true }, earlier.workspace)
    )
  )
})

/** Whether the message can be further input of the run: its agent has ended its turn, and nothing is to change. */
const takesMessage = (run: EarlierRun, request: StartRequest): boolean => {
  const { mode, model } = request
  return (
    !hasEnded(run.state) &&
    run.turn === "idle" &&
    Option.getOrElse(mode, () => run.mode) === run.mode &&
    Option.getOrElse(model, () => run.model) === run.model &&
    hasSameLimits(limitsOfTurn(limitsOfFlags(request), run), run)
  )
}

/** A run that is to be followed, from the events after `after`. */
export interface StartedRun {
  readonly runId: RunId
  readonly server: RunServer
  readonly after: number
}

/** Sends the message to a run that works in the background. */
const continueIdleRun = Effect.fnUntraced(function* (run: EarlierRun, server: RunServer, text: string) {
  yield* server.send(run.id, text).pipe(
    Effect.catchIf(
      ({ code }) => code === "conflict",
      (conflict) =>
        Effect.fail(
          new CommandFailed({
            ...conflict,
            message: `${conflict.message} Run ${run.id} works in the background. End it with \`corral finish ${run.id}${server.named}\`, then try again.`
          })
        )
    )
  )
  return { runId: run.id, server, after: run.lastSeq }
})

export const startRun = Effect.fn("StartRun.start")(function* (request: StartRequest) {
  const earlier = yield* earlierRun(request)
  const selected = yield* serverFor(request, earlier)
  const { server } = selected
  if (earlier !== undefined && takesMessage(earlier, request))
    return yield* continueIdleRun(earlier, server, request.prompt.join(" "))
  return yield* startNewRun(request, selected, earlier)
})

/** Milliseconds of a duration flag. */
const durationOf = <K extends string>(
  key: K,
  flag: Option.Option<string>
): { readonly [key in K]?: number } => {
  const ms = Option.match(flag, { onNone: () => undefined, onSome: durationMs })
  return ms === undefined ? {} : ({ [key]: ms } as { readonly [key in K]: number }) // one computed key
}

const startNewRun = Effect.fnUntraced(function* (
  request: StartRequest,
  selected: Effect.Success<ReturnType<typeof selectStartServer>>,
  earlier: EarlierRun | undefined
): Effect.fn.Return<StartedRun, CommandFailed> {
  const { server } = selected
  const run = yield* newRun(request, selected, earlier)
  const runId: RunId = yield* withChoices(server)(server.start(run))
  return { runId, server, after: 0 }
})

/** Starts several agents, such as `claude-code,codex:gpt-5`, on one task. */
export const startGroup = Effect.fn("StartRun.startGroup")(function* (request: StartRequest, agents: string) {
  const candidates = yield* parseCandidates(agents)
  if (Option.isSome(request.agent) || Option.isSome(request.model))
    return yield* refused("--agents names agents and models. Leave out --agent and --model.")
  if (Option.isSome(request.resume) || request.continueLast)
    return yield* refused(
      "--agents starts a new conversation. It can't be combined with --resume and --continue."
    )
  const selected = yield* serverFor(request, undefined)
  const { server } = selected
  const groups = yield* groupsOf(server)
  const agent = Option.fromNullishOr(candidates[0]?.agentId)
  const { model: _, ...run } = yield* newRun({ ...request, agent }, selected, undefined)
  return { groupId: yield* withChoices(server)(groups.start(run, candidates)), server }
})

/** The run that the flags describe, with what they leave open. */
const newRun = Effect.fnUntraced(function* (
  request: StartRequest,
  selected: Effect.Success<ReturnType<typeof selectStartServer>>,
  earlier: EarlierRun | undefined
): Effect.fn.Return<StartRun, CommandFailed> {
  const { server } = selected
  const { isolation = Option.none(), mode, model, prompt, queue, target } = request
  const choices = yield* Effect.cached(server.choices)
  const agent = yield* onlyChoice(
    "agent",
    "--agent",
    Option.getOrElse(request.agent, () => earlier?.agentId),
    Effect.map(choices, ({ agents }) => agents)
  )
  const workspace = yield* onlyChoice(
    "workspace",
    "--workspace",
    Option.getOrElse(request.workspace, () => earlier?.workspace ?? selected.workspace),
    Effect.map(choices, ({ workspaces }) => workspaces)
  )
  const device = Option.getOrElse(target, () => selected.target)
  const sessionId = earlier?.sessionId
  return {
    // The service validates both.
    agentId: agent as AgentId,
    workspace: workspace as WorkspaceId,
    mode: Option.getOrElse(mode, () => earlier?.mode ?? "ask"),
    input: { text: prompt.join(" ") },
    queue,
    ...Option.match(model, { onNone: () => ({}), onSome: (value) => ({ model: value }) }),
    ...Option.match(isolation, { onNone: () => ({}), onSome: (value) => ({ isolation: value }) }),
    ...(device === undefined ? {} : { target: device }),
    ...limitsOfFlags(request),
    ...durationOf("backgroundMs", request.background),
    ...durationOf("inputTtlMs", request.inputTtl),
    ...(earlier === undefined ? {} : { resume: earlier.id }),
    ...(sessionId === undefined ? {} : { sessionId })
  }
})
