/**
 * The run supervisor: admits runs, keeps one supervised fiber per live run, and carries commands to it. What is not live is answered
 * from the store.
 *
 * It promises that every run it admitted is on disk before anybody is told, and that all runs are ended, with nothing of them left,
 * before it is gone itself. It restarts nothing: a run whose Edge died is ended by `Recovery` at the next start, one that the store
 * failed by `StoppedRuns`.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  Conflict,
  NotFound,
  Overloaded,
  RunNotCancellable
} from "@corral/domain/errors/Failures"
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import { secretsOf } from "@corral/domain/redaction/Redaction"
import type { CreateRun, Run, RunFailure, RunStatus } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/Run"
import type { AdapterEvent, ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { CurrentTraces, type TraceSpan } from "@corral/service/telemetry/Traces"
import { Clock, Context, Deferred, Effect, FiberMap, Layer, type Scope } from "effect"
import { type AdmissionFailure, type Admitted, admit } from "./Admission.ts"
import { findApproval } from "../approval/Approvals.ts"
import { Grants } from "../approval/Grants.ts"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { EventLog } from "../log/EventLog.ts"
import type { Keep } from "../log/Idempotency.ts"
import { make as makeActor, type RunActor } from "./RunActor.ts"
import { OutputRedaction } from "./OutputRedaction.ts"
import { ProjectFiles } from "./ProjectFiles.ts"
import { RunQueue } from "./RunQueue.ts"
import { RunRecorder } from "./RunRecorder.ts"
import { begin, review, type RunWorkspace } from "./RunWorkspace.ts"
import { findRun, pageOfRuns } from "../log/Runs.ts"
import { recover } from "./Recovery.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import * as StoppedRuns from "./StoppedRuns.ts"
import type { DecideFailure, Decider } from "./RunTurn.ts"
import { Artifacts } from "../artifact/Artifacts.ts"
import { Containment } from "../process/Containment.ts"
import { leftTemporary, removeTemporary } from "../process/TemporaryFolder.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { Store, type StoreFailed } from "../store/Store.ts"
import { damageOptions } from "../store/StoreDamage.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { EDGE_MARK, RUN_MARK } from "../process/MarkSweep.ts"

export class RunSupervisor extends Context.Service<
  RunSupervisor,
  {
    /**
     * Admits and starts a run. Succeeds when `run.created` is on disk, together with the rows of `keep`. `traceparent`: what
     * `traceparentOf` made of the request's: the run's span is part of it. `id`: one that was made elsewhere; a run that has it already is answered as it is.
     */
    readonly start: (
      request: CreateRun,
      keep?: Keep<Run>,
      traceparent?: string,
      id?: RunId
    ) => Effect.Effect<Run, AdmissionFailure | Overloaded>
    readonly get: (id: RunId) => Effect.Effect<Run, NotFound>
    /** Newest first, those before `before`. */
    readonly list: (options: {
      readonly before?: string | undefined
      readonly state?: RunStatus | undefined
      readonly limit: number
    }) => ReadonlyArray<Run>
    /** Succeeds with the cancelled run, when nothing of it is left. */
    readonly cancel: (
      id: RunId,
      reason: string,
      by: string
    ) => Effect.Effect<Run, NotFound | RunNotCancellable>
    readonly decide: (
      runId: RunId,
      approvalId: ApprovalId,
      answer: ApprovalAnswer,
      decider: Decider
    ) => Effect.Effect<Approval, DecideFailure | Overloaded>
    readonly input: (id: RunId, text: string) => Effect.Effect<Run, NotFound | Conflict>
    /** Says an event in the log of a run that lives; of one that has ended nothing more is said. */
    readonly announce: (id: RunId, event: AdapterEvent) => Effect.Effect<void>
    /** The run when it has ended, or as it is after `waitMs`. */
    readonly result: (id: RunId, waitMs: number) => Effect.Effect<Run, NotFound>
    readonly liveRuns: () => number
    /** Admitted runs that wait for a live one to end. */
    readonly queuedRuns: () => number
    /** Admits no more, cancels what is live, and waits for its end: the cancel grace and two seconds at most. */
    readonly drain: Effect.Effect<void>
  }
>()("corral/edge/RunSupervisor") {
  static readonly layer = (config: EdgeConfig) => Layer.effect(RunSupervisor, make(config))
}

/** How long a stopping Edge waits for its runs to end by themselves: the cancel grace, and some time to write it down. */
const STOP_MARGIN_MS = 2_000
/** How much longer than the grace a cancel is waited for: on a busy machine the last process of a run takes its time to go. */
const CANCEL_MARGIN_MS = 10_000

const make = Effect.fnUntraced(function* (config: EdgeConfig) {
  const store = yield* Store
  const log = yield* EventLog
  const runtimes = yield* Runtimes
  const workspaces = yield* Workspaces
  const grants = yield* Grants
  const clock = yield* Clock.Clock
  const containment = yield* Containment
  const snapshots = yield* Snapshots
  const artifacts = yield* Artifacts
  const worktrees = yield* Worktrees
  const metrics = yield* CurrentMetrics
  const traces = yield* CurrentTraces
  const edgeId = yield* recover(store, log)
  yield* worktrees.recover
  // Looked at before the first run makes its own.
  yield* Effect.forkScoped(Effect.forEach(leftTemporary(config.home), removeTemporary, { discard: true }))
  const stopped = yield* StoppedRuns.make(store, log)

  const fibers = yield* FiberMap.make<RunId, void, StoreFailed>()
  // With the Edge's own context: a run that inherited the creating request's would keep that request alive.
  const supervise = yield* FiberMap.runtime(fibers)<never>()
  const actors = new Map<RunId, RunActor>()
  const queue = new RunQueue(config.maxRuns)
  let admitting = 0
  /** Ids from elsewhere that are being admitted. */
  const taken = new Set<RunId>()
  let draining = false
  const endings = {
    completed: metrics.counter(edgeMetrics.ended, { outcome: "completed" }),
    failed: metrics.counter(edgeMetrics.ended, { outcome: "failed" }),
    cancelled: metrics.counter(edgeMetrics.ended, { outcome: "cancelled" }),
    lost: metrics.counter(edgeMetrics.ended, { outcome: "lost" })
  }
  metrics.sample(
    Effect.sync(() => {
      let open = 0
      for (const actor of actors.values()) open += actor.run().pendingApprovals.length
      return [
        [edgeMetrics.live, actors.size - queue.waiting],
        [edgeMetrics.queued, queue.waiting],
        [edgeMetrics.approvals, open]
      ]
    })
  )

  /** How a run that is not alive any more has ended is counted, and said in its span. */
  const countEnd = (actor: RunActor, span: TraceSpan | undefined): void => {
    const { state } = actor.run()
    const outcome = state === "completed" || state === "failed" || state === "cancelled" ? state : "lost"
    endings[outcome].add()
    span?.end({ "corral.run.outcome": outcome }, outcome === "failed" || outcome === "lost")
  }

  const find = (id: RunId): Effect.Effect<Run, NotFound> =>
    Effect.suspend(() => {
      const run = actors.get(id)?.run() ?? findRun(store, id)
      return run === undefined ? Effect.fail(new NotFound()) : Effect.succeed(run)
    })

  const admitOne = Effect.fnUntraced(function* (
    request: CreateRun,
    keep: Keep<Run>,
    traceparent: string | undefined,
    id: RunId | undefined
  ) {
    // One that is not admitted is never told.
    const span = traces.start("run", "internal", traceparent, {
      "corral.run.agent": request.agentId,
      "corral.run.mode": request.mode
    })
    const admitted = yield* admit(request, {
      config,
      runtimes,
      workspaces,
      worktrees,
      find,
      now: clock.currentTimeMillisUnsafe(),
      traceparent: span?.traceparent ?? traceparent,
      id
    })
    span?.put({ "corral.run.id": admitted.run.id })
    const { adapter } = admitted
    const recorder = new RunRecorder(admitted.run)
    recorder.apply({ _tag: "Created", payload: admitted.created })
    const batch = recorder.take()
    if (batch === undefined) return yield* Effect.die("a new run has nothing to write")
    const folder: RunWorkspace = {
      runId: admitted.run.id,
      mode: request.mode,
      root: admitted.start.workspacePath
    }
    const command = { ...admitted.command, group: containment.groupOf(edgeId, admitted.run.id) }
    const mark = { [RUN_MARK]: folder.runId, [EDGE_MARK]: edgeId }
    const actor = yield* makeActor({
      recorder,
      protocol: adapter.protocol(admitted.start),
      prepare: Effect.tap(whenFree(request.sessionId ?? request.workspace, command), () =>
        worktrees
          .make(folder.runId, mark)
          .pipe(Effect.andThen(lookAtProject(admitted, recorder)), Effect.andThen(begin(snapshots, folder)))
      ),
      snapshot: snapshots.before(folder.runId, folder.root),
      review: review(snapshots, folder),
      policy: grants.forRun(admitted.run, folder.root, admitted.agent.grants),
      root: folder.root,
      redaction: new OutputRedaction(secretsOf(admitted.command.env)),
      edgeId,
      times: config.times,
      log,
      artifacts,
      onUnknown: (what, raw) => runtimes.countUnknown(adapter, what, raw)
    })
    // Between "on disk" and "supervised" there is no way out.
    yield* Effect.uninterruptible(
      Effect.gen(function* () {
        yield* log.append(batch.events, [...batch.projections, ...admitted.rows, ...keep(batch.run)]).pipe(
          // Whether it is on disk is not known: if it is, it ends as a run that the store failed.
          Effect.tapError(() => Effect.sync(() => stopped.add(batch.run.id))),
          Effect.mapError(storeDown)
        )
        recorder.committed(batch.run)
        actors.set(batch.run.id, actor)
        supervise(batch.run.id, supervised(actor, batch.run.id, span))
      })
    )
    return batch.run
  }, Effect.scoped)

  /** The command is let go of once it is given: an environment and a prompt are the bulk of what a quiet run would hold. */
  const whenFree = (
    flow: string,
    command: SubprocessSpec
  ): Effect.Effect<SubprocessSpec, never, Scope.Scope> => {
    let kept: SubprocessSpec | undefined = command
    return Effect.flatMap(queue.slot(flow), () => {
      const given = kept
      kept = undefined
      return given === undefined ? Effect.die("a run is started once") : Effect.succeed(given)
    })
  }

  const supervised = (
    actor: RunActor,
    id: RunId,
    span: TraceSpan | undefined
  ): Effect.Effect<void, StoreFailed> =>
    Effect.scoped(actor.live).pipe(
      Effect.tapError(() => Effect.sync(() => stopped.add(id))),
      Effect.tapCause((cause) => Effect.logError(`run ${id} lost its supervision`, cause)),
      Effect.ensuring(worktrees.settle(id)),
      Effect.ensuring(
        Effect.sync(() => {
          countEnd(actor, span)
          actors.delete(id)
        })
      )
    )

  /** The run once it has ended, or as it is on disk when the time is over. */
  const ended = (actor: RunActor, millis: number): Effect.Effect<Run> =>
    Effect.timeoutOption(Effect.exit(Deferred.await(actor.ended)), millis).pipe(Effect.map(() => actor.run()))

  const cancelled = (run: Run): Effect.Effect<Run, RunNotCancellable> =>
    isTerminal(run.state) && run.state !== "cancelled"
      ? Effect.fail(new RunNotCancellable({ details: { state: run.state } }))
      : Effect.succeed(run)

  const stored = (approvalId: ApprovalId, runId: RunId): Effect.Effect<Approval, NotFound> =>
    Effect.suspend(() => {
      const approval = findApproval(store, approvalId)
      return approval === undefined || approval.runId !== runId
        ? Effect.fail(new NotFound())
        : Effect.succeed(approval)
    })

  const drain = Effect.suspend(() => {
    draining = true
    for (const actor of actors.values()) actor.cancel("the Edge is stopping", "system")
    const patience = config.times.cancel + STOP_MARGIN_MS
    return Effect.forEach([...actors.values()], (actor) => ended(actor, patience), {
      concurrency: "unbounded",
      discard: true
    })
  })
  yield* Effect.addFinalizer(() => drain)

  return RunSupervisor.of({
    start: (request, keep = () => [], traceparent, id) =>
      Effect.suspend((): Effect.Effect<Run, AdmissionFailure | Overloaded> => {
        const known = id === undefined ? undefined : (actors.get(id)?.run() ?? findRun(store, id))
        if (known !== undefined) return Effect.succeed(known)
        // Two rows of one id would look like a store that fails.
        if (id !== undefined && taken.has(id)) return Effect.fail(new Overloaded())
        const full = actors.size + admitting >= config.maxRuns + config.maxQueued
        if (draining || full) return Effect.fail(new Overloaded())
        const failing = store.failing()
        if (failing !== undefined) return Effect.fail(storeDown(failing))
        const damage = store.damage()
        if (damage !== undefined) return Effect.fail(new Overloaded(damageOptions(damage)))
        admitting++
        if (id !== undefined) taken.add(id)
        return Effect.ensuring(
          admitOne(request, keep, traceparent, id),
          Effect.sync(() => {
            admitting--
            if (id !== undefined) taken.delete(id)
          })
        )
      }),
    get: find,
    list: (options) => pageOfRuns(store, options).map((run) => actors.get(run.id)?.run() ?? run),
    cancel: (id, reason, by) =>
      Effect.suspend(() => {
        const actor = actors.get(id)
        if (actor === undefined) return Effect.flatMap(find(id), cancelled)
        actor.cancel(reason, by)
        return Effect.flatMap(ended(actor, config.times.cancel + CANCEL_MARGIN_MS), cancelled)
      }),
    decide: (runId, approvalId, answer, decider) => {
      const settled = Effect.flatMap(stored(approvalId, runId), (approval) => sameDecision(approval, answer))
      return Effect.suspend(() => {
        const actor = actors.get(runId)
        if (actor === undefined) return settled
        return actor.decide(approvalId, answer, decider).pipe(
          Effect.andThen(stored(approvalId, runId)),
          Effect.catchTag("RunGone", () => settled)
        )
      })
    },
    input: (id, text) =>
      Effect.suspend(() => {
        const actor = actors.get(id)
        const over = Effect.andThen(find(id), Effect.fail(new Conflict({ message: "The run has ended." })))
        if (actor === undefined) return over
        return actor.input(text).pipe(
          Effect.andThen(Effect.sync(() => actor.run())),
          Effect.catchTag("RunGone", () => over)
        )
      }),
    announce: (id, event) => Effect.sync(() => actors.get(id)?.announce(event)),
    result: (id, waitMs) =>
      Effect.suspend(() => {
        const actor = actors.get(id)
        return actor === undefined ? find(id) : ended(actor, waitMs)
      }),
    liveRuns: () => actors.size - queue.waiting,
    queuedRuns: () => queue.waiting,
    drain
  })
})

/** Once the folder is there: a worktree holds what is committed, and files change while a run waits for its turn. */
const lookAtProject = (
  { adapter, agent, command, project, start }: Admitted,
  recorder: RunRecorder
): Effect.Effect<void, RunFailure> =>
  Effect.suspend(() => {
    if (project === undefined || adapter.projectSettings === undefined) return Effect.void
    const now = new ProjectFiles(
      adapter.projectSettings,
      start.workspacePath,
      start.projectSettings ?? "ignored"
    )
    const refusal = now.refusal(agent.label, command.env)
    if (refusal !== undefined) {
      const { code, details, message } = refusal
      return Effect.fail({ code, message, ...(details === undefined ? {} : { details }) })
    }
    recorder.projectSettings = now.report
    return Effect.void
  })

const storeDown = ({ message }: StoreFailed): Overloaded =>
  new Overloaded({
    message: `The Edge's store takes no writes: ${message}.`,
    details: { reason: "store_failed" }
  })

/** A decision that comes after the end: the same one is answered alike, another is told what happened. */
const sameDecision = (
  approval: Approval,
  answer: ApprovalAnswer
): Effect.Effect<Approval, DecideFailure | Overloaded> => {
  const wanted = { allow: "approved", deny: "denied", cancel: "cancelled" }[answer.decision]
  const isEdited = answer.updatedInput !== undefined || approval.edited === true
  if (approval.state === wanted && !isEdited) return Effect.succeed(approval)
  // Its run has stopped, and the store has not taken yet how that ended.
  if (approval.state === "pending")
    return Effect.fail(new Overloaded({ details: { reason: "store_failed" } }))
  const details = { approvalId: approval.id, state: approval.state }
  return Effect.fail(
    approval.state === "expired" ? new ApprovalExpired({ details }) : new ApprovalAlreadyResolved({ details })
  )
}
