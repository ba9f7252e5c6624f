/**
 * Adoption: a start continues the runs that the last Edge of its home left alive.
 *
 * Guarantees: an adopted run continues its log without a gap and without a repetition, its open approvals stay open, and its process receives
 * each byte of stdin once. A run that did not start its program yet starts it now. A run that cannot be adopted ends as lost.
 */
import type { Run } from "@corral/domain/run/Run"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { Data, Deferred, Effect } from "effect"
import { pageOfApprovals } from "../../store/EdgeRequestRows.ts"
import { hasSecrets } from "../../input/SecretAnswers.ts"
import type { HeldRunConnection } from "../../holder/HeldRunConnection.ts"
import {
  appliedOutputs,
  type JournaledRequest,
  readJournal,
  type StoredJournal
} from "../../journal/RunJournal.ts"
import type { RawRun } from "../../raw/RawRun.ts"
import { removeTemporary, temporaryFolderOf } from "../../process/TemporaryFolder.ts"
import type { Store } from "../../store/Store.ts"
import { adoptedProcess, type ReplayedRun, replayRun } from "./RunReplay.ts"
import { assessRequest } from "../kernel/Requests.ts"
import { BudgetMeter, CostMeter } from "../kernel/BudgetMeter.ts"
import { OpenHold, type RunStartState, decodeStartState } from "../start/HeldStart.ts"
import { type LoggedRun, openedJournal, pendingRows, readLoggedRun } from "../recovery/Recovery.ts"
import type { AdmittedRun } from "../start/RunAdmission.ts"
import { RunActor } from "../actor/RunActor.ts"
import type { RunServices } from "../live/LiveRuns.ts"
import { actorOptions, callPrices, loadPrices, protectionOf, redactionOf } from "../start/RunCreation.ts"
import { type PendingRows, RunRecorder } from "../kernel/RunRecorder.ts"

/** Why a run cannot be adopted. */
export class NotAdopted extends Data.TaggedError("NotAdopted")<{ readonly message: string }> {}

/** Makes the actor of a run that the holder has. It is supervised by the caller. */
export const adoptRun = Effect.fn("RunAdoption.adopt")(function* (
  services: RunServices,
  run: Run
): Effect.fn.Return<RunActor, NotAdopted> {
  const connection = yield* services.holder
    .open(run.id)
    .pipe(Effect.mapError(({ message }) => new NotAdopted({ message })))
  return yield* adoptFrom(services, run, connection).pipe(Effect.tapError(() => connection.end))
})

const adoptFrom = Effect.fnUntraced(function* (
  services: RunServices,
  run: Run,
  connection: HeldRunConnection
): Effect.fn.Return<RunActor, NotAdopted> {
  const startState = decodeStartState(connection.blob)
  if (startState === undefined) return yield* notAdopted("Another version of Corral started it.")
  const admitted = yield* admittedAgain(services, run, startState)
  const hold = new OpenHold(services, admitted, connection)
  const logged = readLoggedRun(services.log, run)
  const { opened } = connection
  if (opened.started === undefined) {
    yield* removeLeftovers(services, run)
    const recorder = recorderOf(run, logged, pendingRows(services.store, run), undefined)
    return new RunActor(actorOptions(services, startState.request, admitted, recorder, { hold }))
  }
  if (!opened.isWhole) return yield* notAdopted("Its output is too long to be read again.")
  const { journal, secrets } = yield* openedJournal(
    services.store,
    readJournal(services.store, run.id),
    opened.keys
  ).pipe(Effect.mapError((message) => new NotAdopted({ message })))
  const redaction = redactionOf(services.config, admitted)
  const raw = services.rawOutputs.record(run.id, redaction)
  const budget = new BudgetMeter(run.budget, logged.notices)
  yield* loadPrices(services, admitted)
  const cost = new CostMeter(callPrices(services, admitted), run.model)
  const { protocol } = admitted
  if (protocol.decode !== undefined) return yield* notAdopted("Its adapter cannot repeat what it decoded.")
  const replayed = yield* replayRun({
    connection,
    home: services.config.home,
    runId: run.id,
    options: {
      protocol,
      redaction,
      budget,
      cost,
      journal,
      secrets,
      raw,
      appliedOutputs: appliedOutputs(services.store, run.id, journal)
    }
  }).pipe(Effect.mapError((message) => new NotAdopted({ message })))
  return restored(services, {
    run,
    startState,
    admitted,
    hold,
    logged,
    journal,
    redaction,
    raw,
    budget,
    cost,
    replayed,
    connection
  })
})

interface Restoration {
  readonly run: Run
  readonly startState: RunStartState
  readonly admitted: AdmittedRun
  readonly hold: OpenHold
  readonly logged: LoggedRun
  readonly journal: StoredJournal
  readonly redaction: ReturnType<typeof redactionOf>
  readonly raw: RawRun | undefined
  readonly budget: BudgetMeter
  readonly cost: CostMeter
  readonly replayed: ReplayedRun
  readonly connection: HeldRunConnection
}

/** The actor in the state of the one before. */
const restored = (services: RunServices, restoration: Restoration): RunActor => {
  const { admitted, connection, hold, journal, startState, logged, raw, redaction, replayed, run } =
    restoration
  const { grants, clock } = services
  const pending = pendingRows(services.store, run)
  const recorder = recorderOf(run, logged, pending, journal)
  const policy = grants.forRun(
    run,
    admitted.start.workspacePath,
    admitted.agent.grants,
    admitted.start.attachmentFolder
  )
  // What the user remembered for the run.
  for (const call of journal.calls) {
    if (call._tag !== "Answer" || call.answer.scope === "once") continue
    const request = requestOf(journal, replayed, call.approvalId)
    if (request === undefined) continue
    const decided = { approvalId: call.approvalId, by: "", nowMs: clock.currentTimeMillisUnsafe() }
    const { assessed } = assessRequest(policy, redaction, request)
    if (call.answer.scope === "run") policy.remember(assessed, call.answer, decided)
  }
  const keys = connection.opened.keys ?? {}
  const questions = questionsOf(journal, pending.inputs)
  const connections = journal.requests.flatMap((one) => ("connection" in one ? [one] : []))
  const replies = new Map(connections.map((one) => [one, Deferred.makeUnsafe<ApprovalAnswer | undefined>()]))
  const actor = new RunActor(
    actorOptions(services, startState.request, admitted, recorder, {
      hold,
      policy,
      redaction,
      raw,
      protection: protectionOf(services, admitted, hold),
      answers: answersOf(services.store, run, replies),
      adopted: adoptedProcess({
        ...restoration,
        lostKeys: questions
          .filter(({ input }) => hasSecrets(input) && keys[input.id] === undefined)
          .map(({ input, key }) => ({ inputId: input.id, key })),
        now: clock.currentTimeMillisUnsafe(),
        group: hold.group ?? services.containment.groupOf(services.edgeId, run.id)
      })
    })
  )
  for (const { input, key } of questions) {
    const privateKey = keys[input.id]
    const publicKey = input.sealingKey
    if (hasSecrets(input) && privateKey === undefined) continue
    actor.reopenInput({
      id: input.id,
      key,
      expiresMs: input.expiresAt === undefined ? undefined : Date.parse(input.expiresAt),
      sealing: privateKey === undefined || publicKey === undefined ? undefined : { privateKey, publicKey }
    })
  }
  for (const approval of pending.approvals) {
    const entry = journal.requests.find(({ approvalId }) => approvalId === approval.id)
    const request = requestOf(journal, replayed, approval.id) ?? approval.request
    const { assessed } = assessRequest(policy, redaction, request)
    const expiresMs = Date.parse(approval.expiresAt)
    if (entry === undefined) continue
    if ("key" in entry) actor.reopen(approval.id, { _tag: "Runtime", key: entry.key }, assessed, expiresMs)
    else {
      const reply = replies.get(entry) ?? Deferred.makeUnsafe<ApprovalAnswer | undefined>()
      actor.reopen(approval.id, { _tag: "Connection", address: entry.connection, reply }, assessed, expiresMs)
    }
  }
  return actor
}

const notAdopted = (message: string) => Effect.fail(new NotAdopted({ message }))

/** Open questions with the runtime's keys. */
const questionsOf = ({ questions }: StoredJournal, inputs: PendingRows["inputs"]) => {
  const keys = new Map(questions.map(({ inputId, key }) => [inputId, key]))
  return inputs.flatMap((input) => {
    const key = keys.get(input.id)
    return key === undefined ? [] : [{ input, key }]
  })
}

const recorderOf = (
  run: Run,
  { contents, lastSeq, state }: LoggedRun,
  pending: PendingRows,
  journal: StoredJournal | undefined
): RunRecorder => {
  const { cancelledBy, held, isTurnDue, rejection, used, verdict } = journal?.state ?? {}
  return RunRecorder.recovered(
    { ...run, lastSeq },
    { ...state, verdict, held, isTurnDue, rejection, cancelledBy, used },
    pending,
    contents
  )
}

/**
 * What admission gave, without asking again. Fails if another adapter started the program: the one that replaced it reads other lines.
 *
 * @internal
 */
export const admittedAgain = Effect.fnUntraced(function* (
  { runtimes }: Pick<RunServices, "runtimes">,
  run: Run,
  { adapter: reader, command, start }: RunStartState
): Effect.fn.Return<AdmittedRun, NotAdopted> {
  const agent = yield* runtimes
    .get(run.agentId)
    .pipe(Effect.mapError(() => new NotAdopted({ message: "This Edge does not offer its agent." })))
  const { adapter } = agent
  const earlier = agent.id === run.agentId ? (agent.replaced ?? adapter.id) : run.agentId
  if ((reader ?? earlier) !== adapter.id)
    return yield* new NotAdopted({
      message: "This Edge reads the output of its program with another adapter."
    })
  return {
    run,
    agent,
    adapter,
    start,
    command,
    protocol: adapter.protocol(start),
    project: undefined,
    created: { workspace: run.workspace, mode: run.mode, input: run.input },
    rows: []
  }
})

/** Folders of a start that was not completed. */
const removeLeftovers = ({ config }: RunServices, { id }: Run): Effect.Effect<void> => {
  const folder = temporaryFolderOf(config.home, id)
  return Effect.forEach(["", ".net", ".copies"], (end) => removeTemporary(`${folder}${end}`), {
    discard: true
  })
}

/** The request as the runtime made it. */
const requestOf = ({ requests }: StoredJournal, replayed: ReplayedRun, approvalId: string) => {
  const entry = requests.find((one) => one.approvalId === approvalId)
  return entry !== undefined && "output" in entry ? replayed.requests.get(entry.output) : undefined
}

/** Answers to the connections of a run, by their addresses. */
const answersOf = (
  store: Store["Service"],
  run: Run,
  replies: ReadonlyMap<
    JournaledRequest & { readonly connection: string },
    Deferred.Deferred<ApprovalAnswer | undefined>
  >
) => {
  const approvals = new Map(
    pageOfApprovals(store, { runId: run.id, limit: 100_000 }).map((one) => [one.id, one])
  )
  return new Map(
    [...replies].map(([{ approvalId, connection }, reply]) => {
      const state = approvals.get(approvalId)?.state
      const answer =
        state === "pending"
          ? Effect.map(Deferred.await(reply), (answer) =>
              answer?.decision === "allow" ? ("allowed" as const) : ("denied" as const)
            )
          : Effect.succeed(state === "approved" ? ("allowed" as const) : ("denied" as const))
      return [connection, answer] as const
    })
  )
}
