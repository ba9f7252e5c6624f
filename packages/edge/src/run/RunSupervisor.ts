/**
 * The run supervisor: admits runs, keeps one supervised fiber per live run, and carries commands to it. The store answers for runs that are
 * not live.
 *
 * Guarantees: an admitted run is on disk before its caller receives it. When the supervisor's scope closes, all runs are ended, except those that
 * outlive this Edge, and nothing of them is left.
 *
 * Runs that outlive their Edge are adopted at the next start (`RunAdoption`). `Recovery` ends the others then, and `StoppedRuns` those that the
 * store failed.
 */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { Approval } from "@corral/domain/approval/Approval"
import {
  Conflict,
  type InputAlreadyResolved,
  type InputExpired,
  NotFound,
  Overloaded,
  RunNotCancellable,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { ApprovalId, InputRequestId, MessageId, RunId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import { planModeIssues } from "@corral/domain/input/AnswerCheck"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import { finishRefusal, pauseRefusal } from "@corral/domain/run/RunRefusals"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { AdapterEvent, ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { CurrentTraces } from "@corral/service/telemetry/Traces"
import { Clock, Context, Effect, FiberMap, Layer } from "effect"
import { findApproval, findInput } from "../store/EdgeRequestRows.ts"
import { Grants } from "../approval/Grants.ts"
import { RawOutputs } from "../raw/RawOutputs.ts"
import { Artifacts, type StoredArtifact } from "../artifact/Artifacts.ts"
import type { TurnAttachments } from "../attachment/Attachments.ts"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { Confinement } from "../confinement/Confinement.ts"
import { removeLeftLists } from "../confinement/RepositoryWatch.ts"
import { RuntimeStates } from "../confinement/RuntimeStates.ts"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { ResultRows } from "../log/EdgeIdempotency.ts"
import { findRun, pageOfRuns, type RunsQuery } from "../log/Runs.ts"
import { recordGroups, removeAbandonedGroups } from "../process/GroupRecord.ts"
import { Holder } from "../holder/Holder.ts"
import { Containment } from "../process/Containment.ts"
import { leaveSystemFolder, leftTemporary, removeTemporary } from "../process/TemporaryFolder.ts"
import { Prices } from "../runtime/Prices.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { Store, type StoreFailed } from "../store/Store.ts"
import { damageOptions } from "../store/StoreDamage.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { Layers } from "../layer/Layers.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { lateAnswerRefusal, repeatDecision } from "../approval/PendingRequests.ts"
import {
  LiveRuns,
  type RunServices,
  awaitEnd,
  endRuns,
  leaveRuns,
  makeStoppedRuns,
  runCounters,
  superviseRun
} from "./live/LiveRuns.ts"
import { EdgeIdentity, endLostRun } from "./recovery/Recovery.ts"
import type { AnswerSubmission } from "./actor/RunActor.ts"
import { adoptRun } from "./adoption/RunAdoption.ts"
import { type AdmissionFailure, planModes } from "./start/RunAdmission.ts"
import { createSupervisedRun, storeUnavailable } from "./start/RunCreation.ts"
import type { DecideFailure, Decider } from "./kernel/RunMessage.ts"

export type AnswerFailure =
  | NotFound
  | InputAlreadyResolved
  | InputExpired
  | SchemaValidationFailed
  | Overloaded

type PauseCommand = (id: RunId, by: string, reason?: string) => Effect.Effect<Run, NotFound | Conflict>

export class RunSupervisor extends Context.Service<
  RunSupervisor,
  {
    /**
     * Admits and starts a run. Succeeds when `run.created` is on disk, together with the rows of `keep`. `traceparent`: the parent of the
     * run's span. `id`: an id that the caller chose; an existing run with that id is returned as it is. `attachments`: files of the prompt.
     */
    readonly start: (
      request: CreateRun,
      keep?: ResultRows<Run>,
      traceparent?: string,
      id?: RunId,
      attachments?: TurnAttachments
    ) => Effect.Effect<Run, AdmissionFailure | Overloaded>
    readonly get: (id: RunId) => Effect.Effect<Run, NotFound>
    /** Runs before `before`, newest first. Those that another run replaces, only with `replaced`. */
    readonly list: (query: RunsQuery) => ReadonlyArray<Run>
    /** Succeeds with the cancelled run when nothing of it is left. */
    readonly cancel: (
      id: RunId,
      reason: string,
      by: string
    ) => Effect.Effect<Run, NotFound | RunNotCancellable>
    /** Succeeds with the paused run when its processes are frozen and the log says so. `conflict` has a `reason` in its details. */
    readonly pause: PauseCommand
    /** Succeeds with the run when its processes continue. */
    readonly resume: PauseCommand
    readonly decide: (
      runId: RunId,
      approvalId: ApprovalId,
      answer: ApprovalAnswer,
      decider: Decider
    ) => Effect.Effect<Approval, DecideFailure | Overloaded>
    /** The first valid answer wins. The question is on disk with its answer, and with the rows of `keep`, before this succeeds. */
    readonly answer: (
      runId: RunId,
      inputId: InputRequestId,
      submission: AnswerSubmission
    ) => Effect.Effect<InputRequest, AnswerFailure>
    /** Ends the background work of an idle run. Succeeds with the completed run. `conflict` has a `reason` in its details. */
    readonly finish: (id: RunId, by: string) => Effect.Effect<Run, NotFound | Conflict>
    /**
     * The log contains the input, under `messageId` where there is one, together with the rows of `keep`, before this succeeds. Only the runtime
     * receives `note`.
     */
    readonly input: (
      id: RunId,
      text: string,
      messageId?: MessageId,
      note?: string,
      keep?: ResultRows<Run>
    ) => Effect.Effect<Run, NotFound | Conflict>
    /** Adds an artifact whose content is stored to the log of a live run, together with the rows of `keep`. */
    readonly publish: (
      id: RunId,
      stored: StoredArtifact,
      keep: ResultRows<Artifact>
    ) => Effect.Effect<void, NotFound | Conflict>
    /** Writes an event to the log of a live run. Ignored when the run has ended. */
    readonly announce: (id: RunId, event: AdapterEvent) => Effect.Effect<void>
    /** The run once it has ended, or as it is after `waitMs`. */
    readonly result: (id: RunId, waitMs: number) => Effect.Effect<Run, NotFound>
    readonly liveRuns: () => number
    /** Live runs that outlive this Edge. A run whose end is on disk does not count, also while its processes and folders are removed. */
    readonly lastingRuns: () => number
    /** Number of admitted runs that wait for a slot. */
    readonly queuedRuns: () => number
    /**
     * Admits no more runs. Leaves those that outlive this Edge to the next one, cancels the others, and waits for their ends, once: up to the cancel
     * grace and `STOP_MARGIN_MS`.
     */
    readonly drain: Effect.Effect<void>
    /** Admits no more runs, cancels all live ones and waits for their ends, as `drain` does. */
    readonly endAll: Effect.Effect<void>
  }
>()("corral/edge/RunSupervisor") {
  /** @internal */
  static readonly layer = Layer.effect(
    RunSupervisor,
    Effect.suspend(() => make())
  )
}

/**
 * How long a stopping Edge waits for the ends of its runs, beyond the cancel grace: time to write them down. A run that takes longer is shown as ended by a
 * restart. The process has 9.5 s for its whole stop.
 */
const STOP_MARGIN_MS = 4_000
/** Each reads its output again. */
const ADOPTED_AT_ONCE = 4
/** How long a cancel waits beyond the grace: on a busy machine the last process of a run takes its time to end. */
const CANCEL_MARGIN_MS = 10_000

const make = Effect.fnUntraced(function* () {
  const config = yield* EdgeConfig
  const live = new LiveRuns(config)
  const { left, services } = yield* makeServices(config, live)
  const patienceMs = config.times.cancel + STOP_MARGIN_MS
  const drain = yield* Effect.cached(leaveRuns(live, patienceMs))
  yield* Effect.addFinalizer(() => drain)
  yield* adoptRuns(services, left)
  // Before any run can continue a conversation of one that has ended.
  yield* (yield* RuntimeStates).recover(new Set(live.actors.keys()))
  removeLeftLists(config.home, new Set(live.actors.keys()))
  return RunSupervisor.of({
    ...creation(services),
    ...queries(services),
    ...commands(services),
    drain,
    endAll: endRuns(live, patienceMs)
  })
})

/** Continues the runs of the last Edge. The holder forgets those whose end is stored. */
const adoptRuns = Effect.fnUntraced(function* (services: RunServices, left: ReadonlyArray<Run>) {
  const { edgeId, holder, live, supervise } = services
  yield* Effect.forEach(
    holder.found.filter(({ id }) => !left.some((run) => run.id === id)),
    ({ id }) => Effect.ignore(Effect.flatMap(holder.open(id), ({ end }) => end)),
    { discard: true }
  )
  yield* Effect.forEach(
    left,
    (run) =>
      adoptRun(services, run).pipe(
        Effect.matchEffect({
          onSuccess: (actor) =>
            Effect.sync(() => {
              live.actors.set(run.id, actor)
              supervise(actor, undefined)
            }),
          onFailure: ({ message }) =>
            Effect.andThen(
              Effect.logWarning(`run ${run.id} could not be continued`, { cause: message }),
              endLostRun(edgeId, run)
            )
        })
      ),
    { concurrency: ADOPTED_AT_ONCE, discard: true }
  )
})

const makeServices = Effect.fnUntraced(function* (config: EdgeConfig, live: LiveRuns) {
  const store = yield* Store
  const log = yield* EdgeEventLog
  const metrics = yield* CurrentMetrics
  const worktrees = yield* Worktrees
  const { edgeId, groups, left } = yield* EdgeIdentity
  const containment = yield* Containment
  const leftIds = new Set(left.map(({ id }): string => id))
  yield* worktrees.recover(leftIds)
  const layers = yield* Layers
  yield* layers.recover(leftIds)
  yield* recordGroups(config.home, containment.folder, groups)
  if (containment.folder !== undefined)
    yield* Effect.forkScoped(removeAbandonedGroups(containment.folder, edgeId))
  // After the last run has ended.
  yield* Effect.addFinalizer(() => Effect.sync(() => leaveSystemFolder(config.home)))
  // Listed before the first run creates its own folder.
  yield* Effect.forkScoped(
    Effect.forEach(leftTemporary(config.home, leftIds), removeTemporary, { discard: true })
  )
  const stopped = yield* makeStoppedRuns(store, log)
  live.sampleInto(metrics)
  const supervision = { live, stopped, worktrees, layers, counters: runCounters(metrics) }
  const fibers = yield* FiberMap.make<RunId, void, StoreFailed>()
  // With the Edge's own context: a run that inherited the creating request's context would keep that request alive.
  const fork = yield* FiberMap.runtime(fibers)<never>()
  const services: RunServices = {
    config,
    store,
    log,
    live,
    holder: yield* Holder,
    stopped,
    edgeId,
    worktrees,
    layers,
    runtimes: yield* Runtimes,
    prices: yield* Prices,
    workspaces: yield* Workspaces,
    grants: yield* Grants,
    clock: yield* Clock.Clock,
    containment,
    confinement: yield* Confinement,
    snapshots: yield* Snapshots,
    artifacts: yield* Artifacts,
    rawOutputs: yield* RawOutputs,
    traces: yield* CurrentTraces,
    find: (id) => findKnown(store, live, id),
    supervise: (actor, span) => void fork(actor.run.id, superviseRun(supervision, actor, span))
  }
  return { services, left }
})

const knownRun = (store: Store["Service"], { actors }: LiveRuns, id: RunId): Run | undefined =>
  actors.get(id)?.run ?? findRun(store, id)

const findKnown = (store: Store["Service"], live: LiveRuns, id: RunId): Effect.Effect<Run, NotFound> =>
  Effect.suspend(() => {
    const run = knownRun(store, live, id)
    return run === undefined ? Effect.fail(new NotFound()) : Effect.succeed(run)
  })

const creation = (services: RunServices): Pick<RunSupervisor["Service"], "start"> => ({
  start: (request, keep = () => [], traceparent, id, attachments) =>
    Effect.suspend((): Effect.Effect<Run, AdmissionFailure | Overloaded> => {
      const { live, store } = services
      const existing = id === undefined ? undefined : knownRun(store, live, id)
      if (existing !== undefined) return Effect.succeed(existing)
      return live.admitting(
        id,
        Effect.suspend((): Effect.Effect<Run, AdmissionFailure | Overloaded> => {
          const failing = store.failing()
          if (failing !== undefined) return Effect.fail(storeUnavailable(failing))
          const damage = store.damage()
          if (damage !== undefined) return Effect.fail(new Overloaded(damageOptions(damage)))
          return createSupervisedRun(services, { request, keep, traceparent, id, attachments })
        })
      )
    })
})

const queries = ({
  find,
  live,
  store
}: RunServices): Pick<
  RunSupervisor["Service"],
  "get" | "list" | "result" | "liveRuns" | "lastingRuns" | "queuedRuns"
> => ({
  get: find,
  list: (options) => pageOfRuns(store, options).map((run) => live.actors.get(run.id)?.run ?? run),
  result: (id, waitMs) =>
    Effect.suspend(() => {
      const actor = live.actors.get(id)
      return actor === undefined ? find(id) : awaitEnd(actor, waitMs)
    }),
  liveRuns: () => live.running,
  lastingRuns: () =>
    [...live.actors.values()].filter(({ isHeld, run }) => isHeld && !isTerminal(run.state)).length,
  queuedRuns: () => live.queue.waiting
})

const commands = (
  services: RunServices
): Pick<
  RunSupervisor["Service"],
  "cancel" | "pause" | "resume" | "finish" | "decide" | "answer" | "input" | "publish" | "announce"
> => {
  const { config, find, live, store } = services
  const pauseCommand =
    (name: "pause" | "resume"): PauseCommand =>
    (id, by, reason) =>
      Effect.suspend(() => {
        const actor = live.actors.get(id)
        const over = Effect.andThen(find(id), Effect.fail(pauseRefusal("ended")))
        if (actor === undefined) return over
        return actor[name](by, reason).pipe(
          Effect.andThen(Effect.sync(() => actor.run)),
          Effect.catchTag("RunGone", () => over)
        )
      })
  return {
    pause: pauseCommand("pause"),
    resume: pauseCommand("resume"),
    cancel: (id, reason, by) =>
      Effect.suspend(() => {
        const actor = live.actors.get(id)
        if (actor === undefined) return Effect.flatMap(find(id), requireCancelled)
        actor.cancel(reason, by)
        return Effect.flatMap(awaitEnd(actor, config.times.cancel + CANCEL_MARGIN_MS), requireCancelled)
      }),
    decide: (runId, approvalId, answer, decider) => {
      const stored = storedApproval(store, runId, approvalId)
      const repeated = Effect.flatMap(stored, (approval) => repeatDecision(approval, answer))
      return Effect.suspend(() => {
        const actor = live.actors.get(runId)
        if (actor === undefined) return repeated
        return actor.decide(approvalId, answer, decider).pipe(
          Effect.andThen(stored),
          Effect.catchTag("RunGone", () => repeated)
        )
      })
    },
    answer: (runId, inputId, submission) => answerInput(services, runId, inputId, submission),
    finish: (id, by) => finishRun(services, id, by),
    input: (id, text, messageId, note, keep) =>
      Effect.suspend(() => {
        const actor = live.actors.get(id)
        const over = Effect.andThen(find(id), Effect.fail(runOver()))
        if (actor === undefined) return over
        return actor.input(text, messageId, note, keep).pipe(
          Effect.andThen(Effect.sync(() => actor.run)),
          Effect.catchTag("RunGone", () => over)
        )
      }),
    publish: (id, stored, keep) =>
      Effect.suspend(() => {
        const actor = live.actors.get(id)
        const over = Effect.andThen(find(id), Effect.fail(runOver()))
        return actor === undefined
          ? over
          : actor.publish(stored, keep).pipe(Effect.catchTag("RunGone", () => over))
      }),
    announce: (id, event) => Effect.sync(() => live.actors.get(id)?.announce(event))
  }
}

const answerInput = (
  services: RunServices,
  runId: RunId,
  inputId: InputRequestId,
  submission: AnswerSubmission
): Effect.Effect<InputRequest, AnswerFailure> => {
  const { live, store } = services
  const stored = Effect.suspend(() => {
    const input = findInput(store, inputId)
    return input === undefined || input.runId !== runId ? Effect.fail(new NotFound()) : Effect.succeed(input)
  })
  const refused = Effect.flatMap(stored, (input) => Effect.fail(lateAnswerRefusal(input)))
  return Effect.suspend((): Effect.Effect<InputRequest, AnswerFailure> => {
    const actor = live.actors.get(runId)
    if (actor === undefined) return refused
    return checkPlanMode(services, actor.run, submission.answer).pipe(
      Effect.andThen(actor.answer(inputId, submission)),
      Effect.andThen(stored),
      Effect.catchTags({ AnswerRefused: () => refused, RunGone: () => refused })
    )
  })
}

/** Refuses an approval whose mode the Edge would not admit, before the plan is resolved. */
const checkPlanMode = (
  services: RunServices,
  run: Run,
  answer: InputAnswer
): Effect.Effect<void, SchemaValidationFailed> =>
  "approve" in answer && answer.approve
    ? Effect.flatMap(planModes(services, run), (offered) => {
        const issues = planModeIssues(answer, run.mode, offered)
        return issues.length === 0
          ? Effect.void
          : Effect.fail(new SchemaValidationFailed({ details: { issues } }))
      })
    : Effect.void

const finishRun = (
  { config, find, live }: RunServices,
  id: RunId,
  by: string
): Effect.Effect<Run, NotFound | Conflict> =>
  Effect.suspend(() => {
    const actor = live.actors.get(id)
    const ended = Effect.flatMap(find(id), requireCompleted)
    if (actor === undefined) return ended
    const { cancel, leave } = config.times
    return actor.finish(by).pipe(
      Effect.andThen(awaitEnd(actor, leave + cancel + CANCEL_MARGIN_MS)),
      Effect.flatMap(requireCompleted),
      Effect.catchTag("RunGone", () => ended)
    )
  })

const runOver = (): Conflict => new Conflict({ message: "The run has ended." })

const requireCompleted = (run: Run): Effect.Effect<Run, Conflict> =>
  isTerminal(run.state) && run.state !== "completed"
    ? Effect.fail(finishRefusal("ended"))
    : Effect.succeed(run)

const requireCancelled = (run: Run): Effect.Effect<Run, RunNotCancellable> =>
  isTerminal(run.state) && run.state !== "cancelled"
    ? Effect.fail(new RunNotCancellable({ details: { state: run.state } }))
    : Effect.succeed(run)

const storedApproval = (
  store: Store["Service"],
  runId: RunId,
  approvalId: ApprovalId
): Effect.Effect<Approval, NotFound> =>
  Effect.suspend(() => {
    const approval = findApproval(store, approvalId)
    return approval === undefined || approval.runId !== runId
      ? Effect.fail(new NotFound())
      : Effect.succeed(approval)
  })
