/**
 * What a run must pass before it is created: the agent exists, the workspace is allowed, its policy and the agent allow the mode,
 * the environment names are allowed, the program is there. Gives everything that starting it needs; has created nothing when it refuses.
 */
import type { AgentId, RunId, WorkspaceId } from "@corral/domain/Ids"
import {
  type InvalidAgentId,
  type NotFound,
  PermissionDenied,
  type RuntimeUnavailable,
  SchemaValidationFailed,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/Failures"
import type { CreateRun, Run } from "@corral/domain/Run"
import type { PayloadOf } from "@corral/domain/RunEvent"
import type { RunStart, RuntimeAdapter } from "@corral/domain/RuntimeAdapter"
import { Effect } from "effect"
import { childEnvironment } from "../process/ChildEnvironment.ts"
import { temporaryFolderOf } from "../process/TemporaryFolder.ts"
import type { EdgeConfig } from "../EdgeConfig.ts"
import { mint } from "../Identifiers.ts"
import { modeRefusal, modesOf, type OfferedAgent } from "../runtime/OfferedAgent.ts"
import type { Runtimes } from "../runtime/Runtimes.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { OpenWorkspace, Workspaces } from "../workspace/Workspaces.ts"

export type AdmissionFailure =
  | InvalidAgentId
  | WorkspaceOutsideAllowlist
  | PermissionDenied
  | RuntimeUnavailable
  | SchemaValidationFailed

export interface Admitted {
  readonly run: Run
  readonly created: PayloadOf<"run.created">
  readonly adapter: RuntimeAdapter
  readonly start: RunStart
  readonly command: SubprocessSpec
}

export interface Admission {
  readonly config: EdgeConfig
  readonly runtimes: Runtimes["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly find: (id: RunId) => Effect.Effect<Run, NotFound>
  /** Unix milliseconds. */
  readonly now: number
}

export const admit = Effect.fnUntraced(function* (
  request: CreateRun,
  { config, runtimes, workspaces, find, now }: Admission
): Effect.fn.Return<Admitted, AdmissionFailure> {
  const agent = yield* runtimes.get(request.agentId)
  const { adapter } = agent
  const workspace = yield* workspaces.open(request.workspace)
  yield* permitted(request, workspace, agent, config)
  const resumeSessionId = yield* resumedSession(request, adapter, find)
  const {
    budget,
    input,
    isolation,
    mode,
    model = agent.model,
    resume,
    sessionId,
    timeoutMs = config.runTimeoutMs
  } = request
  const start: RunStart = {
    prompt: request.input.text,
    mode: request.mode,
    workspacePath: workspace.path,
    model,
    resumeSessionId
  }
  const { file, args, env, stdin } = adapter.command(start)
  const program = yield* runtimes.locate(agent, file)
  const id = mint<RunId>("run", now)
  const temporary = temporaryFolderOf(config.home, id)
  const createdAt = new Date(now).toISOString()
  const resumed = resume === undefined ? {} : { resume }
  return {
    adapter,
    start,
    command: {
      file: program,
      args,
      cwd: workspace.path,
      stdin,
      temporary,
      env: childEnvironment({
        own: config.environment,
        pass: agent.passEnv,
        set: { ...env, ...request.env },
        cwd: workspace.path,
        temporary
      })
    },
    run: {
      id,
      workspace: request.workspace,
      agentId: request.agentId,
      mode,
      state: "created",
      input,
      timeoutMs: Math.min(timeoutMs, config.times.cap),
      lastSeq: 0,
      pendingApprovals: [],
      createdAt,
      updatedAt: createdAt,
      ...resumed,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(model === undefined ? {} : { model }),
      ...(isolation === undefined ? {} : { isolation }),
      ...(budget === undefined ? {} : { budget })
    },
    created: { workspace: request.workspace satisfies WorkspaceId, mode, input, ...resumed }
  }
})

const permitted = (
  request: CreateRun,
  workspace: OpenWorkspace,
  agent: OfferedAgent,
  config: EdgeConfig
): Effect.Effect<void, PermissionDenied | SchemaValidationFailed> => {
  if (!workspace.modes.includes(request.mode)) {
    return Effect.fail(
      new PermissionDenied({
        message: `The workspace's policy does not grant the mode ${request.mode}.`,
        details: { mode: request.mode, modes: workspace.modes }
      })
    )
  }
  const refusal = modeRefusal(agent, request.mode)
  if (refusal !== undefined) {
    const details = { mode: request.mode, modes: modesOf(agent) }
    return Effect.fail(new PermissionDenied({ message: refusal, details }))
  }
  const refused = Object.keys(request.env ?? {}).filter((name) => !config.allowedEnv.includes(name))
  if (refused.length > 0) {
    return Effect.fail(
      new PermissionDenied({
        message: "The Edge's policy does not let a run set these environment variables.",
        details: { names: refused.slice(0, 20) }
      })
    )
  }
  return request.isolation === "worktree"
    ? refuse("isolation", "This Edge runs in the workspace itself.")
    : Effect.void
}

/** The runtime's own conversation id of the run that is to go on. */
const resumedSession = Effect.fnUntraced(function* (
  request: CreateRun,
  adapter: RuntimeAdapter,
  find: Admission["find"]
): Effect.fn.Return<string | undefined, SchemaValidationFailed> {
  if (request.resume === undefined) return undefined
  if (!adapter.capabilities.resume) return yield* refuse("resume", "This agent cannot resume an earlier run.")
  const earlier = yield* Effect.option(find(request.resume))
  if (earlier._tag === "None") return yield* refuse("resume", "There is no such run.")
  const { agentId, runtimeSessionId, workspace } = earlier.value
  if (agentId !== (request.agentId satisfies AgentId))
    return yield* refuse("resume", "That run was of another agent.")
  if (workspace !== request.workspace) return yield* refuse("resume", "That run was in another workspace.")
  return runtimeSessionId ?? (yield* refuse("resume", "That run has no conversation to go on with."))
})

const refuse = (path: string, message: string) =>
  Effect.fail(new SchemaValidationFailed({ details: { issues: [{ path, message }] } }))
