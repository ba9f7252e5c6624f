/**
 * Admission of a run: the agent exists, the workspace is allowed, its policy and the agent allow the mode, the environment names are
 * allowed, the program is installed, a worktree can be created.
 *
 * Returns everything that the start needs. Creates nothing when it refuses.
 */
import type { AgentId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import {
  type InvalidAgentId,
  type NotFound,
  type Overloaded,
  PermissionDenied,
  RuntimeUnavailable,
  SchemaValidationFailed,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import { namesSameAgent } from "@corral/domain/offer/Offer"
import { uncountedLimits, uncountedMessage } from "@corral/domain/run/Budget"
import { closesNetwork, type RunConfinement } from "@corral/domain/run/Confinement"
import { continuationRefusal } from "@corral/domain/run/Continuation"
import type { CreateRun, Isolation, Run, RunLayer, RunMode } from "@corral/domain/run/Run"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import type { WorktreeStart } from "@corral/domain/run/Worktree"
import type { AnyProtocol, AnyRuntimeAdapter, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { Effect, type Scope } from "effect"
import { existsSync } from "node:fs"
import {
  attachmentNote,
  existingAttachmentFolder,
  imagesFor,
  type TurnAttachments,
  withNote
} from "../../attachment/Attachments.ts"
import type { EdgeConfig } from "../../config/EdgeConfig.ts"
import type { Confinement } from "../../confinement/Confinement.ts"
import type { Layers } from "../../layer/Layers.ts"
import { mint } from "@corral/service/Identifiers"
import { type OfferedAgent, agentModes, isolationRefusal, modeRefusal } from "../../runtime/Offers.ts"
import type { Runtimes } from "../../runtime/Runtimes.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"
import type { Store, Write } from "../../store/Store.ts"
import type { OpenWorkspace, Workspaces } from "../../workspace/Workspaces.ts"
import type { Worktrees } from "../../workspace/Worktrees.ts"
import { plannedChecks } from "../../change/CheckRows.ts"
import { decidedNote, decisionsSince, loggedDecisions } from "../../change/DecidedNote.ts"
import { ProjectFiles } from "../../workspace/ProjectFiles.ts"
import { admitWithKeys, checkKeys, keyEntryOf } from "../../runtime/KeyAdmission.ts"
import { join } from "node:path"
import { childEnvironment } from "../../process/ChildEnvironment.ts"
import { ARTIFACTS_VARIABLE, artifactsFolderIn } from "../../process/ProgramFiles.ts"
import { temporaryFolderOf } from "../../process/TemporaryFolder.ts"

// Modes in which a plan of a run can be carried out: those that the Edge would admit for another run of the agent in the workspace.

/** Empty if the Edge no longer offers the agent or the workspace. */
export const planModes = (
  {
    config,
    confinement,
    runtimes,
    workspaces
  }: Pick<RunAdmission, "config" | "confinement" | "runtimes" | "workspaces">,
  { agentId, isolation, workspace: workspaceId }: Run
): Effect.Effect<ReadonlyArray<RunMode>> =>
  Effect.gen(function* () {
    const agent = yield* runtimes.get(agentId)
    const workspace = yield* workspaces.open(workspaceId)
    const keys = keyEntryOf(config, agent.adapter.id)
    const modes = agentModes(agent, closesNetwork(confinement.readiness.kind)).filter(
      (mode) => workspace.modes.includes(mode) && isolationRefusal(agent, mode, isolation) === undefined
    )
    return yield* Effect.filter(modes, (mode) =>
      Effect.isSuccess(
        Effect.flatMap(confinement.admit(mode), (admitted) => admitWithKeys(keys, agent, admitted))
      )
    )
  }).pipe(Effect.orElseSucceed(() => []))

// Command of a run, as its adapter writes it and as the Edge starts it. Starts nothing.

interface CommandContext {
  readonly config: EdgeConfig
  readonly runtimes: Runtimes["Service"]
  /** Trace context of the request, for the program. */
  readonly traceparent?: string | undefined
}

/** What a function of an adapter returns. An adapter from outside may throw. */
const callAdapter = <A>({ id }: OfferedAgent, call: () => A): Effect.Effect<A, RuntimeUnavailable> =>
  Effect.try({
    try: call,
    catch: (cause) =>
      new RuntimeUnavailable({
        message: cause instanceof Error ? cause.message : `The adapter of ${id} failed.`,
        details: { reason: "adapter_failed", agentId: id }
      })
  })

/** The command that starts the agent's program: its file, its arguments, and an environment of the allowed variables. */
const runtimeCommandOf = Effect.fnUntraced(function* (
  request: CreateRun,
  { config, runtimes, traceparent }: CommandContext,
  agent: OfferedAgent,
  start: RunStart,
  id: RunId
): Effect.fn.Return<SubprocessSpec, RuntimeUnavailable> {
  const {
    file,
    args,
    bridge,
    env,
    settingsFiles = [],
    stdin
  } = yield* callAdapter(agent, () => agent.adapter.command(start))
  const program = yield* runtimes.locate(agent, file)
  const cwd = start.workspacePath
  const temporary = temporaryFolderOf(config.home, id)
  const environment = childEnvironment({
    edge: config.environment,
    pass: agent.passEnv,
    set: {
      ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
      ...request.env,
      ...env,
      ...Object.fromEntries(settingsFiles.map((settings) => [settings.env, join(temporary, settings.name)]))
    },
    cwd,
    temporary
  })
  const [started, ...startArgs] = [...(bridge ?? []), program, ...args]
  return {
    file: started ?? program,
    args: startArgs,
    ...(bridge === undefined ? {} : { bridged: program }),
    cwd,
    stdin,
    temporary,
    settingsFiles,
    env: { ...environment, [ARTIFACTS_VARIABLE]: artifactsFolderIn(temporary) }
  }
})

// Folder of a run: the workspace, a new worktree or layer, or the folder of the run that it resumes. A request cannot change the folder of a resumed
// run, because runtimes find their conversations by it.

interface RunFolder {
  /** Real path. The path of a new worktree does not exist yet. */
  readonly path: string
  readonly isolation: Isolation
  readonly worktree?: WorktreeStart
  readonly layer?: RunLayer
  /** Rows to commit together with the run. */
  readonly rows: ReadonlyArray<Write>
}

/** What decides about the folder of a run. */
interface FolderFacts {
  readonly id: RunId
  readonly workspace: OpenWorkspace
  readonly resumed: Run | undefined
  readonly confinement: RunConfinement | undefined
}

/** Of a run that names none, that of the run that it resumes, or of its workspace. A run of a group has a layer or a worktree. */
const isolationOf = (
  { groupId, isolation }: CreateRun,
  { isolation: usual = "none" }: OpenWorkspace,
  resumed: Run | undefined
): Isolation => {
  if (isolation !== undefined) return isolation
  if (resumed !== undefined) return resumed.isolation ?? "none"
  return groupId !== undefined && usual === "none" ? "overlay" : usual
}

/** What only a run in a worktree or a layer can have. */
const separable = ({ checks, groupId, resume }: CreateRun, isolation: Isolation) => {
  if (groupId !== undefined && resume !== undefined)
    return refuse("groupId", "A run that resumes another one begins with the files of that one.")
  const hasChecks = checks !== undefined && checks.length > 0
  if (isolation !== "none" || (groupId === undefined && !hasChecks)) return Effect.void
  return groupId === undefined
    ? refuse("checks", "Checks need a run in a worktree or a layer.")
    : refuse("isolation", "Runs of a group need a worktree or a layer.")
}

/** Until the scope closes, no other run can use a resumed worktree or layer. */
const folderOf = Effect.fnUntraced(function* (
  request: CreateRun,
  { layers, worktrees }: Pick<RunAdmission, "layers" | "worktrees">,
  facts: FolderFacts
): Effect.fn.Return<RunFolder, SchemaValidationFailed | Overloaded | PermissionDenied, Scope.Scope> {
  const { id, resumed, workspace } = facts
  const isolation = isolationOf(request, workspace, resumed)
  if (resumed !== undefined && isolation !== (resumed.isolation ?? "none")) {
    const message = "A run that resumes another works where that one worked."
    return yield* new SchemaValidationFailed({ details: { issues: [{ path: "isolation", message }] } })
  }
  if (resumed?.worktree !== undefined) {
    const worktree = yield* worktrees.enter(resumed.worktree)
    return { path: worktrees.pathOf(resumed.worktree), isolation, worktree, rows: [] }
  }
  if (isolation === "none") return { path: workspace.path, isolation, rows: [] }
  if (isolation === "overlay") {
    const enforced = yield* layerEnforcement(request, facts)
    const { layer, path, row } =
      resumed?.layer === undefined
        ? yield* layers.plan({
            id,
            workspace: request.workspace,
            root: workspace.path,
            enforced,
            group: request.groupId
          })
        : yield* layers.enter(resumed.layer, id, workspace.path)
    return { path, isolation, layer, rows: [row] }
  }
  const { row, start } = yield* worktrees.plan(id, request.workspace, workspace.path, request.groupId)
  return { path: worktrees.pathOf(id), isolation, worktree: start, rows: [row] }
})

/** Whether the layer is enforced. A layer that a run could leave is refused, unless the owner of the workspace allows a mere copy. */
const layerEnforcement = (
  { mode }: CreateRun,
  { confinement, resumed, workspace }: FolderFacts
): Effect.Effect<boolean, PermissionDenied> => {
  const isConfined = confinement?.kind === "bubblewrap"
  const enforced = resumed?.layer?.enforced ?? isConfined
  const isAllowed = enforced ? isConfined : workspace.allowsCopy
  if (isAllowed) return Effect.succeed(enforced)
  const message =
    mode === "full_access"
      ? "A run with full access is not confined, so it cannot be kept in a layer. Choose another mode or another isolation."
      : "This Edge cannot keep a run in a layer: it does not confine runs with bubblewrap. Choose another isolation."
  return Effect.fail(new PermissionDenied({ message, details: { reason: "isolation", mode } }))
}

export type AdmissionFailure =
  | InvalidAgentId
  | Overloaded
  | WorkspaceOutsideAllowlist
  | PermissionDenied
  | RuntimeUnavailable
  | SchemaValidationFailed

export interface AdmittedRun {
  readonly run: Run
  readonly created: PayloadOf<"run.created">
  readonly agent: OfferedAgent
  readonly adapter: AnyRuntimeAdapter
  readonly protocol: AnyProtocol
  readonly start: RunStart
  readonly command: SubprocessSpec
  /** Files of the project that execute something; `undefined` if the adapter names none. */
  readonly project: ProjectFiles | undefined
  /** Rows to commit together with the run. */
  readonly rows: ReadonlyArray<Write>
}

export interface RunAdmission {
  readonly config: EdgeConfig
  readonly runtimes: Runtimes["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly worktrees: Worktrees["Service"]
  readonly layers: Layers["Service"]
  readonly confinement: Confinement["Service"]
  readonly store: Store["Service"]
  readonly find: (id: RunId) => Effect.Effect<Run, NotFound>
  /** Unix milliseconds. */
  readonly now: number
  /** The valid traceparent of the request. The runtime finds it in its environment. */
  readonly traceparent: string | undefined
  /** The id that the caller chose, or `undefined` for a new one. */
  readonly id: RunId | undefined
  readonly attachments?: TurnAttachments | undefined
}

const noFiles: TurnAttachments = { message: [], earlier: [] }

export const admitRun = Effect.fnUntraced(function* (
  request: CreateRun,
  admission: RunAdmission
): Effect.fn.Return<AdmittedRun, AdmissionFailure, Scope.Scope> {
  const { attachments = noFiles, config, runtimes, workspaces, find, now } = admission
  const agent = yield* runtimes.get(request.agentId)
  const { adapter } = agent
  const workspace = yield* workspaces.open(request.workspace)
  const isConfining = closesNetwork(admission.confinement.readiness.kind)
  yield* permitted(request, workspace, agent, config, isConfining)
  yield* countable(request, agent)
  const keys = keyEntryOf(config, adapter.id)
  const confinement = yield* admitWithKeys(keys, agent, yield* admission.confinement.admit(request.mode))
  const model = request.model ?? agent.model
  const earlier = yield* resumedRun({ ...request, model }, agent, find)
  const isolation = isolationOf(request, workspace, earlier)
  yield* isolated(request, agent, isolation)
  yield* separable(request, isolation)
  const id = admission.id ?? mint<RunId>("run", now)
  const folder = yield* folderOf(request, admission, { id, workspace, resumed: earlier, confinement })
  yield* requireQuestions(request, agent, folder.layer)
  const decided = decisionsSince(admission.store, earlier)
  const project = projectIn(folder.path, workspace, adapter)
  const start: RunStart = {
    prompt: promptOf(
      withNote(withNote(request.input.text, attachmentNote(attachments)), decidedNote(decided)),
      earlier,
      project
    ),
    mode: request.mode,
    workspacePath: folder.path,
    model,
    resumeSessionId: earlier?.runtimeSessionId,
    projectSettings: workspace.projectSettings,
    denyRules: project?.denyRules ?? [],
    images: yield* imagesFor(adapter, attachments),
    isConfined: confinement !== undefined && closesNetwork(confinement.kind),
    attachmentFolder:
      request.sessionId === undefined ? undefined : existingAttachmentFolder(config.home, request.sessionId)
  }
  const command = yield* runtimeCommandOf(request, admission, agent, start, id)
  const refusal = project?.refusal(agent.label, command.env)
  if (refusal !== undefined) return yield* refusal
  yield* checkKeys(keys, agent, confinement, command.env, config)
  return {
    protocol: yield* callAdapter(agent, () => adapter.protocol(start)),
    agent,
    adapter,
    start,
    rows: [...folder.rows, ...plannedChecks(id, request.checks)],
    command,
    project,
    run: newRun(request, admission, {
      id,
      agentId: agent.id,
      model,
      folder,
      confinement
    }),
    created: {
      ...createdPayload(request, folder, confinement),
      ...(decided.length === 0 ? {} : { decided: loggedDecisions(decided) })
    }
  }
})

/** A conversation that is resumed has received the project's instructions before. */
const promptOf = (text: string, earlier: Run | undefined, project: ProjectFiles | undefined): string =>
  earlier === undefined ? (project?.withInstructions(text) ?? text) : text

interface NewRunFacts extends Pick<Run, "agentId" | "id"> {
  readonly confinement: Run["confinement"]
  readonly model: string | undefined
  readonly folder: RunFolder
}

const newRun = (
  request: CreateRun,
  { config, now }: RunAdmission,
  { agentId, confinement, folder, id, model }: NewRunFacts
): Run => {
  const { backgroundMs, budget, groupId, input, inputTtlMs, mode, resume, sessionId, workspace } = request
  const { isolation, layer, worktree } = folder
  const createdAt = new Date(now).toISOString()
  return {
    id,
    workspace,
    agentId,
    mode,
    state: "created",
    input,
    timeoutMs: Math.min(request.timeoutMs ?? config.runTimeoutMs, config.times.cap),
    lastSeq: 0,
    pendingApprovals: [],
    createdAt,
    updatedAt: createdAt,
    ...(resume === undefined ? {} : { resume }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(model === undefined ? {} : { model }),
    ...(isolation === "none" && request.isolation === undefined ? {} : { isolation }),
    ...(groupId === undefined ? {} : { groupId }),
    ...(worktree === undefined ? {} : { worktree: worktree.runId }),
    ...(layer === undefined ? {} : { layer }),
    ...(confinement === undefined ? {} : { confinement }),
    ...(budget === undefined ? {} : { budget }),
    ...(backgroundMs === undefined ? {} : { backgroundMs }),
    ...(inputTtlMs === undefined ? {} : { inputTtlMs })
  }
}

const createdPayload = (
  { input, mode, resume, workspace }: CreateRun,
  { layer, worktree }: RunFolder,
  confinement: Run["confinement"]
): PayloadOf<"run.created"> => ({
  workspace: workspace satisfies WorkspaceId,
  mode,
  input,
  ...(resume === undefined ? {} : { resume }),
  ...(worktree === undefined ? {} : { worktree }),
  ...(layer === undefined ? {} : { layer }),
  ...(confinement === undefined ? {} : { confinement })
})

/** A new worktree contains the committed files only, so the run checks again once the folder exists. */
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
  config: EdgeConfig,
  isConfining: boolean
): Effect.Effect<void, PermissionDenied> => {
  if (!workspace.modes.includes(request.mode)) {
    return Effect.fail(
      new PermissionDenied({
        message: `The workspace's policy does not grant the mode ${request.mode}.`,
        details: { mode: request.mode, modes: workspace.modes }
      })
    )
  }
  const refusal = modeRefusal(agent, request.mode, isConfining)
  if (refusal !== undefined) {
    const details = { mode: request.mode, modes: agentModes(agent, isConfining) }
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

const isolated = (
  { mode }: CreateRun,
  agent: OfferedAgent,
  isolation: Isolation
): Effect.Effect<void, PermissionDenied> => {
  const message = isolationRefusal(agent, mode, isolation)
  return message === undefined
    ? Effect.void
    : Effect.fail(new PermissionDenied({ message, details: { reason: "isolation", mode } }))
}

/** An agent that does not ask is left alone only where it cannot leave. */
const requireQuestions = (
  { mode }: CreateRun,
  { adapter, label }: OfferedAgent,
  layer: RunLayer | undefined
): Effect.Effect<void, PermissionDenied> =>
  layer === undefined || layer.enforced || mode !== "ask" || adapter.capabilities.approvals
    ? Effect.void
    : Effect.fail(
        new PermissionDenied({
          message: `${label} does not ask for approval before it acts, so in ask it needs a layer that the Edge enforces.`,
          details: { reason: "isolation", mode }
        })
      )

/** A limit that the runtime does not count would have no effect. */
const countable = ({ budget }: CreateRun, { adapter, label }: OfferedAgent) => {
  const [limit] = uncountedLimits(budget, adapter.counts ?? [])
  return limit === undefined ? Effect.void : refuse(`budget.${limit}`, uncountedMessage(label, limit))
}

/** The run to resume. Its runtime has reported the id of its conversation. */
const resumedRun = Effect.fnUntraced(function* (
  request: Omit<CreateRun, "model"> & Pick<RunStart, "model">,
  { adapter, label }: OfferedAgent,
  find: RunAdmission["find"]
): Effect.fn.Return<Run | undefined, SchemaValidationFailed> {
  if (request.resume === undefined) return undefined
  if (!adapter.capabilities.resume) return yield* refuse("resume", "This agent cannot resume an earlier run.")
  const earlier = yield* Effect.option(find(request.resume))
  if (earlier._tag === "None") return yield* refuse("resume", "There is no such run.")
  const { agentId, runtimeSessionId, workspace } = earlier.value
  if (!namesSameAgent(agentId, request.agentId satisfies AgentId))
    return yield* refuse("resume", "That run was of another agent.")
  if (workspace !== request.workspace) return yield* refuse("resume", "That run was in another workspace.")
  if (runtimeSessionId === undefined)
    return yield* refuse("resume", "That run has no conversation to go on with.")
  const { continuation } = adapter
  const refusal = continuation && continuationRefusal(continuation, label, earlier.value, request)
  return refusal === undefined ? earlier.value : yield* refuse("resume", refusal)
})

const refuse = (path: string, message: string) =>
  Effect.fail(new SchemaValidationFailed({ details: { issues: [{ path, message }] } }))
