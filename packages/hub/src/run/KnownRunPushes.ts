/**
 * Pushes that one statement can store, because the rows of their runs are knownRuns. All other pushes need the transaction that reads the rows.
 *
 * A device's pushes are stored together, in their order: all by the statement, or all by the transaction.
 */
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { DeviceLink } from "../device/DeviceLink.ts"
import type { KnownRuns } from "./KnownRuns.ts"
import { approvesPlan, mayNeedTask } from "./PlanTask.ts"
import { PushedRun } from "./PushedRun.ts"
import { type AppendContext, publishPushed, type TargetPush, type PushResult } from "./PushTransaction.ts"
import type { MirroredRequests } from "./MirroredRequests.ts"
import type { RequestDocuments } from "./RequestTable.ts"
import { concernsConversation } from "./RunConversation.ts"
import { storeKnown } from "./RunLogWrites.ts"

/** A push and the link that it came over. */
export interface LinkPush extends TargetPush {
  readonly link: DeviceLink
}

/** The pushes of one device, folded into rows that are knownRuns. */
interface KnownDevice<P> {
  readonly pushes: ReadonlyArray<P>
  readonly link: DeviceLink
  readonly runs: ReadonlyArray<PushedRun>
  readonly resolved: RequestDocuments
}

/** Stores what one statement can store, and returns the results of these pushes. */
export const appendKnown = Effect.fnUntraced(function* <P extends LinkPush>(
  context: AppendContext,
  knownRuns: KnownRuns,
  pushes: ReadonlyArray<P>
): Effect.fn.Return<ReadonlyMap<P, ReadonlyArray<PushResult>>, SqlError.SqlError> {
  const devices = [...Map.groupBy(pushes, ({ targetId }) => targetId)].flatMap(([targetId, ofDevice]) => {
    const device = foldDevice(knownRuns, targetId, ofDevice)
    return device === undefined ? [] : [device]
  })
  if (devices.length === 0) return new Map()
  const runs = devices.flatMap((device) => device.runs)
  const stored = yield* storeKnown(
    context.planned,
    devices.map(({ link }) => link),
    {
      runs,
      resolved: {
        approvals: devices.flatMap(({ resolved }) => resolved.approvals),
        inputs: devices.flatMap(({ resolved }) => resolved.inputs)
      },
      at: context.now()
    }
  )
  const isStored = ({ row }: PushedRun) => stored.has(row.id)
  for (const run of runs) if (!isStored(run)) knownRuns.forget(run.row.id)
  yield* publishPushed(context, knownRuns, runs.filter(isStored))
  return new Map(
    devices
      .filter((device) => device.runs.every(isStored))
      .flatMap((device) => {
        const seqs = new Map(device.runs.map(({ lastSeq, row }) => [row.id, lastSeq]))
        return device.pushes.map((push) => [push, resultsOf(push, seqs)] as const)
      })
  )
})

const resultsOf = ({ batches }: TargetPush, seqs: ReadonlyMap<RunId, number>): ReadonlyArray<PushResult> =>
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
