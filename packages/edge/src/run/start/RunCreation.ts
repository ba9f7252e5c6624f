/**
 * Creation of a run: admission, its actor, and its first event.
 *
 * Guarantees: `run.created` is on disk before the run is supervised, and a run that is on disk is supervised.
 */
import { Overloaded, type Overloaded as OverloadedFailure } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { secretsOf } from "@corral/redaction/Redaction"
import type { CreateRun, Run, RunFailure } from "@corral/domain/run/Run"
import { Effect, type Scope } from "effect"
import type { TurnAttachments } from "../../attachment/Attachments.ts"
import { canWrite } from "../../confinement/ConfinedRoot.ts"
import type { ConfinedRun } from "../../confinement/Confinement.ts"
import { LayerEdits } from "../../confinement/LayerEdits.ts"
import { ProtectedRecord } from "../../confinement/ProtectedRecord.ts"
import { ProtectedWatch, type RunProtection } from "../../confinement/ProtectedWatch.ts"
import { RepositoryRecord } from "../../confinement/RepositoryRecord.ts"
import type { RunPolicy } from "../../approval/RunPolicy.ts"
import type { EdgeConfig } from "../../config/EdgeConfig.ts"
import type { RawRun } from "../../raw/RawRun.ts"
import type { NetworkUser } from "../../network/RunNetwork.ts"
import { join } from "node:path"
import type { AdoptedRun, RunActorOptions, RunHold } from "../actor/RunSession.ts"
import { holdRun } from "./HeldStart.ts"
import type { LiveRuns, RunServices } from "../live/LiveRuns.ts"
import type { ResultRows } from "../../log/EdgeIdempotency.ts"
import { EDGE_MARK, RUN_MARK } from "../../process/ProcessSweep.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"
import { networkOf } from "../../runtime/Offers.ts"
import { replacementRows } from "../../log/Runs.ts"
import type { StoreFailed } from "../../store/Store.ts"
import { EdgeRefs } from "../../workspace/EdgeRefs.ts"
import { keyEntryOf, keyValues } from "../../runtime/KeyAdmission.ts"
import type { CallPrice } from "../kernel/BudgetMeter.ts"
import { OutputRedaction } from "../kernel/OutputRedaction.ts"
import { ProjectFiles } from "../../workspace/ProjectFiles.ts"
import { type AdmittedRun, admitRun } from "./RunAdmission.ts"
import { RunActor } from "../actor/RunActor.ts"
import { RunRecorder } from "../kernel/RunRecorder.ts"
import {
  type RunWorkspace,
  StartSnapshot,
  TurnCommits,
  markRunStart,
  reviewRunChanges
} from "../actor/RunWorkspace.ts"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { draft } from "@corral/domain/run/RunEvent"
import type { HostAnswer } from "../../network/HostDecisions.ts"
import { type NetworkTarget, showTarget } from "../../network/NetworkTarget.ts"

// Connections of a confined run that need a decision of its user, and lines about refused ones in its timeline.

/** The request as the user sees it. Its address is what a grant names: a host, with its port unless it is that of HTTP or HTTPS. */
const connectionRequest = (target: NetworkTarget): ApprovalRequest => ({
  action: "network",
  risk: "medium",
  title: `Connect to ${showTarget(target)}`,
  url: new URL(`${target.port === 80 ? "http" : "https"}://${showTarget(target)}/`).href,
  reason:
    "A program of this run wants to connect. The decision is for this host and port, until the run ends.",
  editable: false,
  scopes: ["once", "run", "session", "always"]
})

/** The user of a live run. */
const networkUser = ({ actors }: Pick<LiveRuns, "actors">, id: RunId): NetworkUser => ({
  ask: (target) =>
    Effect.suspend((): Effect.Effect<HostAnswer> => {
      const actor = actors.get(id)
      if (actor === undefined) return Effect.succeed("unavailable")
      return actor.requestConnection(showTarget(target), connectionRequest(target)).pipe(
        Effect.map((answer) =>
          answer === undefined ? "unavailable" : answer.decision === "allow" ? "allowed" : "denied"
        ),
        Effect.catchTag("RunGone", () => Effect.succeed("unavailable" as const))
      )
    }),
  report: (messageId, text) =>
    actors
      .get(id)
      ?.announce(draft("run.message.completed", { messageId, role: "system", channel: "text", text }))
})

export interface RunCreation {
  readonly request: CreateRun
  /** Rows to commit together with the run. */
  readonly keep: ResultRows<Run>
  readonly traceparent: string | undefined
  readonly id: RunId | undefined
  readonly attachments: TurnAttachments | undefined
}

export const createSupervisedRun = Effect.fnUntraced(function* (
  services: RunServices,
  { attachments, id, keep, request, traceparent }: RunCreation
) {
  const { clock, find, live, log, stopped, store, supervise, traces } = services
  // The span of a run that is not admitted is never sent.
  const span = traces.start("run", "internal", traceparent, {
    "corral.run.agent": request.agentId,
    "corral.run.mode": request.mode
  })
  const { config, confinement, layers, runtimes, workspaces, worktrees } = services
  const admitted = yield* admitRun(request, {
    config,
    confinement,
    layers,
    runtimes,
    workspaces,
    worktrees,
    store,
    find,
    now: clock.currentTimeMillisUnsafe(),
    traceparent: span?.traceparent ?? traceparent,
    id,
    attachments
  })
  const { resumeSessionId } = admitted.start
  if (resumeSessionId !== undefined) yield* live.reserve(resumeSessionId)
  span?.put({ "corral.run.id": admitted.run.id })
  const { hold, isFallback } = yield* holdRun(services, request, admitted)
  const life = isFallback ? { endsWithEdge: true as const } : {}
  const recorder = new RunRecorder({ ...admitted.run, ...life })
  recorder.apply({ _tag: "Created", payload: { ...admitted.created, ...life } })
  const batch = recorder.take()
  if (batch === undefined) return yield* Effect.die("a new run has nothing to write")
  const actor = new RunActor(actorOptions(services, request, admitted, recorder, { hold }))
  // An interruption between the commit and the supervision would leave a run without an actor.
  yield* Effect.uninterruptible(
    Effect.gen(function* () {
      const rows = [
        ...batch.projections,
        ...admitted.rows,
        ...replacementRows(store, batch.run),
        ...keep(batch.run)
      ]
      yield* log.append(batch.events, rows).pipe(
        // The run may be on disk. If so, it ends like a run whose store failed.
        Effect.tapError(() =>
          Effect.andThen(
            Effect.sync(() => stopped.add(batch.run.id)),
            hold?.end ?? Effect.void
          )
        ),
        Effect.mapError(storeUnavailable)
      )
      recorder.committed(batch.run)
      live.actors.set(batch.run.id, actor)
      supervise(actor, span)
    })
  )
  return batch.run
}, Effect.scoped)

/** The part of an actor that concerns an earlier or a later Edge. */
export interface ActorLife {
  readonly hold: RunHold | undefined
  readonly adopted?: AdoptedRun | undefined
  /** Answers to what the run's connections have asked. */
  readonly answers?: NetworkUser["answers"]
  /** The watch over protected names, if the actor does not make it. */
  readonly protection?: RunProtection | undefined
  readonly redaction?: OutputRedaction | undefined
  /** The recorder of the raw output, if the actor does not make it. */
  readonly raw?: RawRun | undefined
  readonly policy?: RunPolicy | undefined
}

export const protectionOf = (
  { clock, config, layers }: RunServices,
  { run, start }: Pick<AdmittedRun, "run" | "start">,
  hold: RunHold | undefined
): RunProtection | undefined => {
  if (!isConfined(run) || !canWrite(run.mode)) return undefined
  const { layer } = run
  const root = start.workspacePath
  const file = hold && join(config.home, "held", `${run.id}.names.json`)
  if (layer === undefined)
    return new ProtectedWatch(root, clock, file === undefined ? undefined : new ProtectedRecord(file), {
      home: config.environment["HOME"],
      repository: run.worktree === undefined ? new RepositoryRecord(config.home, run.id) : undefined,
      edgeRefs: new EdgeRefs(config.home),
      canSetIds: run.confinement?.kind !== "bubblewrap"
    })
  // A layer leaves the workspace as it is. What reaches it is decided by its changes.
  return layer.enforced
    ? new LayerEdits(root, clock, file === undefined ? undefined : new ProtectedRecord(file), (use) =>
        layers.written(layer.owner, use)
      )
    : undefined
}

export const redactionOf = (
  config: EdgeConfig,
  { adapter, command }: Pick<AdmittedRun, "adapter" | "command">
): OutputRedaction =>
  new OutputRedaction([
    ...secretsOf(command.env),
    ...keyValues(keyEntryOf(config, adapter.id), adapter, command.env)
  ])

const isConfined = ({ confinement }: Run): boolean => confinement !== undefined && confinement.kind !== "none"

const workspaceOf = ({ run, start }: AdmittedRun): RunWorkspace => ({
  runId: run.id,
  mode: run.mode,
  root: start.workspacePath,
  worktree: run.worktree,
  layer: run.layer?.owner
})

/** Only of a run with a separate repository. */
const turnCommits = (
  { layers, worktrees }: RunServices,
  { layer, worktree }: Run
): TurnCommits | undefined => {
  if (layer !== undefined) return new TurnCommits(layers, layer.owner)
  return worktree === undefined ? undefined : new TurnCommits(worktrees, worktree)
}

/** A program that reports its cost needs no prices but those of the owner. */
export const loadPrices = (
  { prices }: Pick<RunServices, "prices">,
  { adapter }: Pick<AdmittedRun, "adapter">
): Effect.Effect<void> => prices.load(adapter.reportsCost !== true)

/** Prices of the run's model calls. */
export const callPrices = (
  { prices }: Pick<RunServices, "prices">,
  { adapter, run }: Pick<AdmittedRun, "adapter" | "run">
): CallPrice => {
  const [createdAt, isOwn] = [new Date(run.createdAt), adapter.reportsCost === true]
  return (call) => prices.costOf(call, createdAt, isOwn)
}

export const actorOptions = (
  services: RunServices,
  request: CreateRun,
  admitted: AdmittedRun,
  recorder: RunRecorder,
  life: ActorLife
): RunActorOptions => {
  const { artifacts, config, containment, edgeId, grants, live, log, rawOutputs } = services
  const { layers, runtimes, snapshots, worktrees } = services
  const { adapter, agent, protocol, run, start } = admitted
  const { adopted, hold } = life
  const { layer, worktree } = run
  const folder = workspaceOf(admitted)
  const command = { ...admitted.command, group: hold?.group ?? containment.groupOf(edgeId, run.id) }
  // That of a layer was taken before.
  const firstState = layer === undefined ? snapshots.before(run.id, folder.root) : Effect.void
  const snapshot = new StartSnapshot(firstState)
  const protection = life.protection ?? protectionOf(services, admitted, hold)
  const redaction = life.redaction ?? redactionOf(config, admitted)
  const confined: ConfinedRun | undefined = isConfined(run)
    ? {
        ids: { run: run.id, workspace: run.workspace },
        mode: request.mode,
        workspace: folder.root,
        attachments: start.attachmentFolder,
        folders: adapter.folders,
        repository: worktree === undefined ? undefined : () => worktrees.repositoryOf(worktree),
        // A copy that is not enforced is a folder like any other.
        layer: layer?.enforced === true ? layers.files(layer.owner) : undefined,
        network: networkOf(agent),
        grants: grants.configuredFor(run.workspace, agent.grants),
        user: { ...networkUser(live, run.id), answers: life.answers },
        // Other means do not mount: their runs write these folders themselves.
        copies: run.confinement?.kind === "bubblewrap" ? protection?.copies : undefined,
        keys: keyEntryOf(config, adapter.id),
        session: start.resumeSessionId,
        resume: request.resume,
        life: { isAdopted: adopted !== undefined, isLeft: () => hold?.isLeft === true }
      }
    : undefined
  return {
    recorder,
    protocol,
    specificationVersion: adapter.specificationVersion,
    priceOf: callPrices(services, admitted),
    hold,
    adopted,
    prepare:
      adopted === undefined
        ? prepareRun(services, request, { admitted, recorder, command, folder, confined, snapshot })
        : continueRun(services, { command, confined, protection }),
    snapshot: Effect.all([snapshot.taken, protection?.start ?? Effect.void], {
      concurrency: 2,
      discard: true
    }),
    review: reviewRunChanges({ snapshots, worktrees, layers }, folder, protection),
    takeBackState: confined === undefined ? undefined : services.confinement.takeBackState(run.id),
    commits: turnCommits(services, run),
    protection,
    policy: life.policy ?? grants.forRun(run, folder.root, agent.grants, start.attachmentFolder),
    root: folder.root,
    redaction,
    raw: life.raw ?? (adopted === undefined ? rawOutputs.record(run.id, redaction) : undefined),
    edgeId,
    find: containment.find,
    continues: start.resumeSessionId,
    times: config.times,
    log,
    artifacts,
    onUnknown: (what, raw) => runtimes.countUnknown(adapter, what, raw)
  }
}

interface RunPreparation {
  readonly admitted: AdmittedRun
  readonly recorder: RunRecorder
  readonly command: SubprocessSpec
  readonly folder: RunWorkspace
  readonly confined: ConfinedRun | undefined
  readonly snapshot: StartSnapshot
}

/** The command of a run whose turn has come, when its folder exists. */
const prepareRun = (
  services: RunServices,
  request: CreateRun,
  { admitted, command, confined, folder, recorder, snapshot }: RunPreparation
) => {
  const { confinement, edgeId, layers, live, snapshots, worktrees } = services
  const { id, layer, worktree = id } = admitted.run
  const mark = { [RUN_MARK]: id, [EDGE_MARK]: edgeId }
  const report = (text: string) => live.actors.get(id)?.announce(draft("run.notice", { kind: "other", text }))
  const check =
    layer === undefined
      ? checkProjectFiles(admitted, recorder, admitted.start.workspacePath)
      : Effect.scoped(
          Effect.flatMap(Effect.mapError(layers.files(layer.owner), layerUnreadable), ({ look }) =>
            checkProjectFiles(admitted, recorder, look)
          )
        )
  return commandWhenFree(live, request.sessionId ?? request.workspace, command).pipe(
    Effect.tap(() =>
      worktrees
        .make(worktree, mark)
        .pipe(
          Effect.andThen(layers.open(admitted.run, mark, report)),
          Effect.andThen(check),
          Effect.andThen(markRunStart(snapshots, folder)),
          Effect.andThen(snapshot.begin),
          Effect.andThen(loadPrices(services, admitted))
        )
    ),
    Effect.flatMap((unconfined) =>
      confined === undefined ? Effect.succeed(unconfined) : confinement.confine(confined, unconfined)
    )
  )
}

/** The command of a run whose process an earlier Edge started. */
const continueRun = (
  { confinement, live }: RunServices,
  {
    command,
    confined,
    protection
  }: Pick<RunPreparation, "command" | "confined"> & {
    readonly protection: RunProtection | undefined
  }
) =>
  live.queue.occupy.pipe(
    Effect.andThen(protection?.continue ?? Effect.void),
    Effect.andThen(confined === undefined ? Effect.succeed(command) : confinement.adopt(confined, command))
  )

/** Waits for a slot, then returns the command once and releases it: its environment and prompt dominate an idle run's memory. */
const commandWhenFree = (
  { queue }: LiveRuns,
  flow: string,
  command: SubprocessSpec
): Effect.Effect<SubprocessSpec, never, Scope.Scope> => {
  let unused: SubprocessSpec | undefined = command
  return Effect.flatMap(queue.slot(flow), () => {
    const taken = unused
    unused = undefined
    return taken === undefined ? Effect.die("a run is started once") : Effect.succeed(taken)
  })
}

/** Checks the folder again once it exists: a worktree contains committed files only, and files may change while a run is queued. */
const checkProjectFiles = (
  { adapter, agent, command, project, start }: AdmittedRun,
  recorder: RunRecorder,
  folder: string
): Effect.Effect<void, RunFailure> =>
  Effect.suspend(() => {
    if (project === undefined || adapter.projectSettings === undefined) return Effect.void
    const now = new ProjectFiles(
      adapter.projectSettings,
      start.workspacePath,
      start.projectSettings ?? "ignored",
      folder
    )
    const refusal = now.refusal(agent.label, command.env)
    if (refusal !== undefined) {
      const { code, details, message } = refusal
      return Effect.fail({ code, message, ...(details === undefined ? {} : { details }) })
    }
    recorder.projectSettings = now.report
    return Effect.void
  })

const layerUnreadable = (cause: string): RunFailure => ({
  code: "internal",
  message: `The layer of the run can't be read: ${cause}.`,
  details: { reason: "layer_failed" }
})

export const storeUnavailable = ({ message }: StoreFailed): OverloadedFailure =>
  new Overloaded({
    message: `The Edge's store takes no writes: ${message}.`,
    details: { reason: "store_failed" }
  })
