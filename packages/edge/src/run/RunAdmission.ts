/**
 * What a run must pass before it is created: the agent exists, the workspace is allowed, its policy and the agent allow the mode,
 * the environment names are allowed, the program is there, a worktree can be made. Gives everything that starting it needs; has created
 * nothing when it refuses.
 */
import type { AgentId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import {
  type InvalidAgentId,
  type NotFound,
  PermissionDenied,
  type RuntimeUnavailable,
  SchemaValidationFailed,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import type { RunStart, AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Effect, type Scope } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { childEnvironment } from "../process/ChildEnvironment.ts"
import { temporaryFolderOf } from "../process/TemporaryFolder.ts"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { mint } from "@corral/service/Identifiers"
import { modeRefusal, offeredModes, type OfferedAgent } from "../runtime/OfferedAgent.ts"
import type { Runtimes } from "../runtime/Runtimes.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { Write } from "../store/Store.ts"
import type { OpenWorkspace, Workspaces } from "../workspace/Workspaces.ts"
import type { Worktrees } from "../workspace/Worktrees.ts"
import { ProjectFiles } from "./ProjectFiles.ts"
import { folderOf } from "./RunFolder.ts"

export type AdmissionFailure =
  | InvalidAgentId
  | WorkspaceOutsideAllowlist
  | PermissionDenied
  | RuntimeUnavailable
  | SchemaValidationFailed

export interface AdmittedRun {
  readonly run: Run
  readonly created: PayloadOf<"run.created">
  readonly agent: OfferedAgent
  readonly adapter: AnyRuntimeAdapter
  readonly start: RunStart
  readonly command: SubprocessSpec
  /** Files of the project that execute something; `undefined` where the adapter names none. */
  readonly project: ProjectFiles | undefined
  /** What is to be on disk together with the run. */
  readonly rows: ReadonlyArray<Write>
}

export interface RunAdmission {
  readonly config: EdgeConfig
  readonly runtimes: Runtimes["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly worktrees: Worktrees["Service"]
  readonly find: (id: RunId) => Effect.Effect<Run, NotFound>
  /** Unix milliseconds. */
  readonly now: number
  /** A good one, of the request that asks for the run: the runtime finds it in its environment. */
  readonly traceparent: string | undefined
  /** The id that it is to have; else it gets a new one. */
  readonly id: RunId | undefined
}

export const admitRun = Effect.fnUntraced(function* (
  request: CreateRun,
  { config, runtimes, workspaces, worktrees, find, now, traceparent, id: given }: RunAdmission
): Effect.fn.Return<AdmittedRun, AdmissionFailure, Scope.Scope> {
  const agent = yield* runtimes.get(request.agentId)
  const { adapter } = agent
  const workspace = yield* workspaces.open(request.workspace)
  yield* permitted(request, workspace, agent, config)
  const earlier = yield* resumedRun(request, adapter, find)
  const id = given ?? mint<RunId>("run", now)
  const { path, rows, worktree } = yield* folderOf(id, request, workspace.path, earlier, worktrees)
  const {
    budget,
    input,
    isolation = earlier?.isolation,
    mode,
    model = agent.model,
    resume,
    sessionId,
    timeoutMs = config.runTimeoutMs
  } = request
  const project = projectIn(path, workspace, adapter)
  const start: RunStart = {
    // A conversation that is resumed has been told the instructions.
    prompt: earlier === undefined ? (project?.withInstructions(input.text) ?? input.text) : input.text,
    mode: request.mode,
    workspacePath: path,
    model,
    resumeSessionId: earlier?.runtimeSessionId,
    projectSettings: workspace.projectSettings,
    denyRules: project?.denyRules ?? []
  }
  const { file, args, env, settingsFiles = [], stdin } = adapter.command(start)
  const program = yield* runtimes.locate(agent, file)
  const temporary = temporaryFolderOf(config.home, id)
  const environment = childEnvironment({
    own: config.environment,
    pass: agent.passEnv,
    set: {
      ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
      ...request.env,
      ...env,
      ...Object.fromEntries(settingsFiles.map((settings) => [settings.env, join(temporary, settings.name)]))
    },
    cwd: path,
    temporary
  })
  const refusal = project?.refusal(agent.label, environment)
  if (refusal !== undefined) return yield* refusal
  const createdAt = new Date(now).toISOString()
  const resumed = resume === undefined ? {} : { resume }
  return {
    agent,
    adapter,
    start,
    rows,
    command: {
      file: program,
      args,
      cwd: path,
      stdin,
      temporary,
      settingsFiles,
      env: environment
    },
    project,
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
      ...(worktree === undefined ? {} : { worktree: worktree.runId }),
      ...(budget === undefined ? {} : { budget })
    },
    created: {
      workspace: request.workspace satisfies WorkspaceId,
      mode,
      input,
      ...resumed,
      ...(worktree === undefined ? {} : { worktree })
    }
  }
})

/** A worktree that is yet to be made holds what is committed in the workspace: the supervisor looks again once it is there. */
const projectIn = (
  path: string,
  workspace: OpenWorkspace,
  { projectSettings }: AnyRuntimeAdapter
): ProjectFiles | undefined =>
  projectSettings === undefined
    ? undefined
    : new ProjectFiles(projectSettings, existsSync(path) ? path : workspace.path, workspace.projectSettings)

const permitted = (
  request: CreateRun,
  workspace: OpenWorkspace,
  agent: OfferedAgent,
  config: EdgeConfig
): Effect.Effect<void, PermissionDenied> => {
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
    const details = { mode: request.mode, modes: offeredModes(agent) }
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
  return Effect.void
}

/** The run that is to go on; its runtime has told an id of its conversation. */
const resumedRun = Effect.fnUntraced(function* (
  request: CreateRun,
  adapter: AnyRuntimeAdapter,
  find: RunAdmission["find"]
): Effect.fn.Return<Run | undefined, SchemaValidationFailed> {
  if (request.resume === undefined) return undefined
  if (!adapter.capabilities.resume) return yield* refuse("resume", "This agent cannot resume an earlier run.")
  const earlier = yield* Effect.option(find(request.resume))
  if (earlier._tag === "None") return yield* refuse("resume", "There is no such run.")
  const { agentId, runtimeSessionId, workspace } = earlier.value
  if (agentId !== (request.agentId satisfies AgentId))
    return yield* refuse("resume", "That run was of another agent.")
  if (workspace !== request.workspace) return yield* refuse("resume", "That run was in another workspace.")
  if (runtimeSessionId === undefined)
    return yield* refuse("resume", "That run has no conversation to go on with.")
  return earlier.value
})

const refuse = (path: string, message: string) =>
  Effect.fail(new SchemaValidationFailed({ details: { issues: [{ path, message }] } }))
