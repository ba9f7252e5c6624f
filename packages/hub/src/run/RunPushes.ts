/**
 * Pushes to the logs of runs. One statement stores those whose rows are known. For the others, a transaction locks the runs, folds the events, and
 * stores what follows from them.
 *
 * Guarantees: pushes are applied in their order. A push that is not admitted changes nothing and affects no other push. A device's pushes are stored
 * together: all by the statement, or all by the transaction.
 */
import type { ApprovalId, DeviceId, InputRequestId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Ack, EventBatch } from "@corral/domain/link/EdgeLink"
import type { LogBatch } from "@corral/service/stream/LogSource"
import { Effect, Result } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { MirroredRequests } from "./MirroredRun.ts"
import type { RequestDocuments } from "./RequestTable.ts"
import { notify } from "../store/Notices.ts"
import { type PlannedSql, plannedTransaction } from "../store/Database.ts"
import type { DeviceLink } from "../device/DeviceRow.ts"
import { type PushRefusal, PushedRun } from "./PushedRun.ts"
import { concernsConversation, storeConversationChanges } from "./RunConversation.ts"
import { approvesPlan, mayNeedTask, storePlanTasks } from "./PlanTask.ts"
import { lockRuns, storeKnown, storeLocked } from "./RunLogWrites.ts"
import type { Approval } from "@corral/domain/approval/Approval"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { LockedRunRow } from "./Runs.ts"
import { type HighestUse, highestUseOf } from "../usage/UsageMetrics.ts"

// Rows of the runs that this Hub has stored events of lately, as its last push has left them.
//
// Guarantees: a row whose `last_seq` is still that of the table is the row of the table. Only pushes change the columns of a run with events,
// and each push moves `last_seq`.
// Does not hold runs that have ended. The least recently used run is forgotten first.

interface KnownRun {
  readonly row: LockedRunRow
  /** Its pending approvals and questions that this Hub has stored. */
  readonly approvals: ReadonlyMap<ApprovalId, Approval>
  readonly inputs: ReadonlyMap<InputRequestId, InputRequest>
  /** Whether a plan of the run may have been approved: this Hub has not stored all events of the run, or an approval. */
  readonly mayHavePlan: boolean
}

const MAX_RUNS = 10_000

class KnownRuns {
  private readonly runs = new Map<RunId, KnownRun>()

  find(id: RunId): KnownRun | undefined {
    return this.runs.get(id)
  }

  forget(id: RunId): void {
    this.runs.delete(id)
  }

  /** Notes a run after its events were stored. */
  note(run: PushedRun): void {
    const { lastSeq, mirror, row } = run
    const earlier = this.runs.get(row.id)
    this.runs.delete(row.id)
    if (mirror.isEnded) return
    this.runs.set(row.id, {
      row: { ...row, ...mirror.columns, last_seq: lastSeq },
      approvals: pendingAfter(earlier?.approvals, mirror.approvals),
      inputs: pendingAfter(earlier?.inputs, mirror.inputs),
      mayHavePlan: (earlier?.mayHavePlan ?? row.last_seq > 0) || approvesPlan(run)
    })
    if (this.runs.size <= MAX_RUNS) return
    const [oldest] = this.runs.keys()
    if (oldest !== undefined) this.runs.delete(oldest)
  }
}

const pendingAfter = <Id extends string, Request extends { readonly id: Id; readonly state: string }>(
  before: ReadonlyMap<Id, Request> | undefined,
  { requested, resolved }: MirroredRequests<Id, Request, object>
): ReadonlyMap<Id, Request> => {
  const pending = new Map(before)
  for (const [id, request] of requested) if (request.state === "pending") pending.set(id, request)
  for (const id of resolved.keys()) pending.delete(id)
  return pending
}

/** Batches of events that one target has pushed together. */
export interface TargetPush {
  readonly targetId: DeviceId
  readonly batches: ReadonlyArray<EventBatch>
}

/** A push and the link that it came over. */
export interface LinkPush extends TargetPush {
  readonly link: DeviceLink
}

/** What is durable of a run after a push, and why it is not everything. */
export interface PushResult extends Ack {
  readonly refusal?: PushRefusal
}

/** The pushes that are not admitted, with the reason. Runs in the transaction, before anything else. */
export type Admission<P, E> = (
  pushes: ReadonlyArray<P>
) => Effect.Effect<ReadonlyMap<P, E>, SqlError.SqlError>

/** Growth of a log by a committed transaction. */
export interface LogGrowth {
  readonly runId: RunId
  readonly sessionId: SessionId | undefined
  readonly batches: ReadonlyArray<LogBatch>
}

/** Metrics of what was pushed, after the commit. */
export interface PushCounters {
  /** Events that are new to a log. */
  readonly events: (events: number) => void
  /** The most that a run has reported, before the push and after it. */
  readonly usage: (before: HighestUse, after: HighestUse) => void
}

/** The pushes that a Hub stores. */
export class RunPushes {
  private readonly sql: SqlClient.SqlClient
  /** For the statement that stores pushes of known runs. */
  private readonly planned: PlannedSql["Service"]
  private readonly now: () => Date
  private readonly counters: PushCounters
  private readonly knownRuns = new KnownRuns()
  private readonly growthListeners = new Set<(growth: LogGrowth) => void>()
  private readonly taskListeners = new Set<(targetId: DeviceId) => void>()

  constructor(
    sql: SqlClient.SqlClient,
    planned: PlannedSql["Service"],
    now: () => Date,
    counters: PushCounters
  ) {
    this.sql = sql
    this.planned = planned
    this.now = now
    this.counters = counters
  }

  onGrown(listener: (growth: LogGrowth) => void): void {
    this.growthListeners.add(listener)
  }

  onTask(listener: (targetId: DeviceId) => void): void {
    this.taskListeners.add(listener)
  }

  /** In one statement where the rows of the runs are known, otherwise in one transaction. Returns one result per push, in their order. */
  appendAll<P extends LinkPush, E>(
    pushes: ReadonlyArray<P>,
    admission: Admission<P, E>
  ): Effect.Effect<ReadonlyArray<Result.Result<ReadonlyArray<PushResult>, E>>, SqlError.SqlError> {
    return Effect.gen({ self: this }, function* () {
      const stored = yield* this.appendKnown(pushes)
      const others = pushes.filter((push) => !stored.has(push))
      const results = others.length === 0 ? [] : yield* this.appendLocked(others, admission)
      const ofOthers = new Map(others.map((push, i) => [push, results[i]] as const))
      return pushes.map((push) => ofOthers.get(push) ?? Result.succeed(stored.get(push) ?? []))
    })
  }

  /** Returns one result per push, in their order. */
  appendLocked<P extends TargetPush, E>(
    pushes: ReadonlyArray<P>,
    admission: Admission<P, E>
  ): Effect.Effect<ReadonlyArray<Result.Result<ReadonlyArray<PushResult>, E>>, SqlError.SqlError> {
    return plannedTransaction(this.sql)(
      Effect.gen({ self: this }, function* () {
        const refused = yield* admission(pushes)
        const admitted = pushes.filter((push) => !refused.has(push))
        const results = yield* this.append(admitted)
        return pushes.map((push) => {
          const refusal = refused.get(push)
          return refusal === undefined ? Result.succeed(results.get(push) ?? []) : Result.fail(refusal)
        })
      })
    )
  }

  private readonly append = Effect.fnUntraced({ self: this }, function* <
    P extends TargetPush
  >(this: RunPushes, pushes: ReadonlyArray<P>): Effect.fn.Return<
    ReadonlyMap<P, ReadonlyArray<PushResult>>,
    SqlError.SqlError
  > {
    const { now, sql } = this
    const runIds = [...new Set(pushes.flatMap(({ batches }) => batches.map(({ runId }) => runId)))]
    if (runIds.length === 0) return new Map()
    const runs = yield* lockRuns(sql, runIds)
    const runOf = (push: P, runId: RunId): PushedRun | undefined => {
      const run = runs.get(runId)
      return run?.row.target_id === push.targetId ? run : undefined
    }
    for (const push of pushes) for (const batch of push.batches) runOf(push, batch.runId)?.push(batch)
    const pushed = [...runs.values()].filter(({ isPushed }) => isPushed)
    const grown = pushed.filter((run) => run.batches.length > 0)
    if (grown.length > 0) {
      yield* storeLocked(sql, grown, now())
      yield* storeConversationChanges(sql, grown, now())
      const targets = yield* storePlanTasks(sql, grown, now())
      if (targets.size > 0) yield* sql.afterCommit(Effect.sync(() => this.passTasks(targets)))
    }
    yield* this.publish(pushed)
    return new Map(pushes.map((push) => [push, resultsOf(push, (runId) => runOf(push, runId))]))
  })

  /** Stores what one statement can store, and returns the results of these pushes. */
  private readonly appendKnown = Effect.fnUntraced({ self: this }, function* <
    P extends LinkPush
  >(this: RunPushes, pushes: ReadonlyArray<P>): Effect.fn.Return<
    ReadonlyMap<P, ReadonlyArray<PushResult>>,
    SqlError.SqlError
  > {
    const devices = [...Map.groupBy(pushes, ({ targetId }) => targetId)].flatMap(([targetId, ofDevice]) => {
      const device = foldDevice(this.knownRuns, targetId, ofDevice)
      return device === undefined ? [] : [device]
    })
    if (devices.length === 0) return new Map()
    const runs = devices.flatMap((device) => device.runs)
    const stored = yield* storeKnown(
      this.planned,
      devices.map(({ link }) => link),
      {
        runs,
        resolved: {
          approvals: devices.flatMap(({ resolved }) => resolved.approvals),
          inputs: devices.flatMap(({ resolved }) => resolved.inputs)
        },
        at: this.now()
      }
    )
    const isStored = ({ row }: PushedRun) => stored.has(row.id)
    for (const run of runs) if (!isStored(run)) this.knownRuns.forget(run.row.id)
    yield* this.publish(runs.filter(isStored))
    return new Map(
      devices
        .filter((device) => device.runs.every(isStored))
        .flatMap((device) => {
          const seqs = new Map(device.runs.map(({ lastSeq, row }) => [row.id, lastSeq]))
          return device.pushes.map((push) => [push, resultsOfKnown(push, seqs)] as const)
        })
    )
  })

  /** Passes on, after the commit, what was pushed. */
  private publish(pushed: ReadonlyArray<PushedRun>): Effect.Effect<void> {
    const { sql } = this
    const publish = () => {
      let added = 0
      for (const run of pushed) {
        const { batches, lastSeq, mirror, row } = run
        if (batches.length === 0) continue
        this.knownRuns.note(run)
        added += lastSeq - row.last_seq
        if (mirror.summary.usage !== row.told.usage)
          this.counters.usage(highestUseOf(row.told), highestUseOf(mirror.summary))
        const growth = { runId: row.id, sessionId: row.session_id ?? undefined, batches }
        for (const listener of this.growthListeners) listener(growth)
      }
      this.counters.events(added)
    }
    // A notice also without new events: the Hub that stored them may have crashed before it sent the notice.
    return Effect.andThen(sql.afterCommit(Effect.sync(publish)), notify(sql, "run", ...pushed.map(noticeOf)))
  }

  private passTasks(targets: Iterable<DeviceId>): void {
    for (const target of targets) for (const listener of this.taskListeners) listener(target)
  }
}

/** The session is part of the notice because some readers follow every run of a session. */
const noticeOf = ({ row }: PushedRun): string =>
  row.session_id === null ? row.id : `${row.id} ${row.session_id}`

const resultsOf = (
  { batches }: TargetPush,
  runOf: (runId: RunId) => PushedRun | undefined
): ReadonlyArray<PushResult> =>
  [...new Set(batches.map(({ runId }) => runId))].map((runId) => {
    const run = runOf(runId)
    if (run === undefined) return { runId, seq: 0, refusal: "unknown" }
    const { lastSeq, refusal } = run
    return { runId, seq: lastSeq, ...(refusal === undefined ? {} : { refusal }) }
  })

/** The pushes of one device, folded into rows that are knownRuns. */
interface KnownDevice<P> {
  readonly pushes: ReadonlyArray<P>
  readonly link: DeviceLink
  readonly runs: ReadonlyArray<PushedRun>
  readonly resolved: RequestDocuments
}

const resultsOfKnown = (
  { batches }: TargetPush,
  seqs: ReadonlyMap<RunId, number>
): ReadonlyArray<PushResult> =>
  [...new Set(batches.map(({ runId }) => runId))].map((runId) => ({ runId, seq: seqs.get(runId) ?? 0 }))

/** `undefined` where a row is not known, or where events change more than the statement does. */
const foldDevice = <P extends LinkPush>(
  knownRuns: KnownRuns,
  targetId: DeviceId,
  pushes: ReadonlyArray<P>
): KnownDevice<P> | undefined => {
  const [first] = pushes
  if (first === undefined || pushes.some(({ link }) => link.generation !== first.link.generation))
    return undefined
  const runs = new Map<RunId, PushedRun>()
  for (const { batches } of pushes)
    for (const batch of batches) {
      const row = knownRuns.find(batch.runId)?.row
      if (row?.target_id !== targetId) return undefined
      const run = runs.get(row.id) ?? new PushedRun(row)
      runs.set(row.id, run)
      run.push(batch)
    }
  const folded = [...runs.values()]
  const approvals = folded.map(({ mirror, row }) =>
    resolvedOf(mirror.approvals, knownRuns.find(row.id)?.approvals)
  )
  const inputs = folded.map(({ mirror, row }) => resolvedOf(mirror.inputs, knownRuns.find(row.id)?.inputs))
  const isPlain =
    ![...approvals, ...inputs].includes(undefined) &&
    folded.every(
      (run) =>
        run.refusal === undefined &&
        run.batches.length > 0 &&
        !concernsConversation(run) &&
        !mayNeedTask(run, knownRuns.find(run.row.id)?.mayHavePlan === true || approvesPlan(run))
    )
  if (!isPlain) return undefined
  const resolved = {
    approvals: approvals.flatMap((each) => each ?? []),
    inputs: inputs.flatMap((each) => each ?? [])
  }
  return { pushes, link: first.link, runs: folded, resolved }
}

/** `undefined` where a request that is resolved is not known. */
const resolvedOf = <Id extends string, Request extends { readonly id: Id }, Resolution extends object>(
  { resolved }: MirroredRequests<Id, Request, Resolution>,
  pending: ReadonlyMap<Id, Request> | undefined
): ReadonlyArray<Request & Resolution> | undefined => {
  const found: Array<Request & Resolution> = []
  for (const [id, resolution] of resolved) {
    const request = pending?.get(id)
    if (request === undefined) return undefined
    found.push({ ...request, ...resolution })
  }
  return found
}
