/**
 * The run actor: one scoped fiber that owns a run's subprocess, its clocks, its cancellation and the Deferred of each open approval.
 *
 * The actor first waits for `prepare`; a cancel ends that wait. Everything that happens to the run is a message. The messages that wait are one
 * turn (`RunTurn`): the kernel applies them, their events become durable, and only then the actor acts.
 *
 * Guarantees: users and the runtime see only what is on disk. Every run ends in the same order: all its processes end, the terminal event is
 * written, the scope closes.
 *
 * Does not: restart. When the store fails, the actor ends the process and leaves the log's end to `StoppedRuns`.
 */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { StoredArtifact } from "../../artifact/Artifacts.ts"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { Conflict, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { ApprovalId, InputRequestId, MessageId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import type { Run } from "@corral/domain/run/Run"
import type { AdapterEvent, ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { Clock, Data, Deferred, Effect, type Scope } from "effect"
import type { ApprovalAsker } from "../../approval/PendingRequests.ts"
import type { AssessedRequest } from "../../approval/RunPolicy.ts"
import { answerForms, type AnswerForms, type OpenInput } from "../../input/SecretAnswers.ts"
import type { ResultRows } from "../../log/EdgeIdempotency.ts"
import type { StoreFailed } from "../../store/Store.ts"
import { type AdoptedRun, type RunActorOptions, type RunHold, RunSession } from "./RunSession.ts"
import { beginTurn, performAction } from "./RunTurn.ts"
import { adoptProcess, postLater } from "./RunProcess.ts"
import { continueInHolder } from "./RunClocks.ts"
import type { AnswerRefused, DecideFailure, Decider, RunMessage } from "../kernel/RunMessage.ts"

/** The run ended before the command reached it. The store has its final state. */
export class RunGone extends Data.TaggedError("RunGone")<{}> {}

/** An answer of a person, before it is checked. */
export interface AnswerSubmission extends Decider {
  readonly answer: InputAnswer
  /** Whether secret answers may be without a seal. */
  readonly allowsPlain: boolean
  readonly keep: ResultRows<InputRequest> | undefined
}

/** Handle of a live run for the supervisor. */
export class RunActor {
  readonly #session: RunSession

  constructor(options: RunActorOptions) {
    this.#session = new RunSession(options, beginTurn)
  }

  /** The run as it is on disk. */
  get run(): Run {
    return this.#session.options.recorder.run
  }

  /** Conversation of the runtime that the run continues. */
  get continues(): string | undefined {
    return this.#session.options.continues
  }

  /** Whether the run outlives its Edge. */
  get isHeld(): boolean {
    return this.#session.options.hold !== undefined
  }

  /** The terminal run, once it is on disk. Fails if the store failed. */
  get ended(): Deferred.Deferred<Run, StoreFailed> {
    return this.#session.ended
  }

  /** Runs the actor. Succeeds when the run's end is on disk and all its processes have ended. */
  get live(): Effect.Effect<void, StoreFailed, Scope.Scope> {
    const { ended, options } = this.#session
    return live(this.#session).pipe(
      Effect.tapError((error) => Deferred.fail(ended, error)),
      Effect.andThen(Effect.suspend(() => Deferred.succeed(ended, options.recorder.run))),
      Effect.asVoid
    )
  }

  decide(
    approvalId: ApprovalId,
    answer: ApprovalAnswer,
    decider: Decider
  ): Effect.Effect<void, DecideFailure | RunGone> {
    return this.#request<void, DecideFailure>((reply) => ({
      _tag: "Decide",
      approvalId,
      answer,
      ...decider,
      reply
    }))
  }

  /** Opens an approval again, which an earlier Edge requested. Call it before `live`. */
  reopen(id: ApprovalId, asker: ApprovalAsker, assessed: AssessedRequest, expiresMs: number): void {
    this.#session.kernel.approvals.add(id, asker, assessed, expiresMs)
  }

  /** The same for a question. */
  reopenInput(input: Omit<OpenInput, "answer">): void {
    this.#session.kernel.inputs.add(input)
  }

  /** Succeeds when the answer is on disk. `AnswerRefused` if the question is not open. */
  answer(
    inputId: InputRequestId,
    submission: AnswerSubmission
  ): Effect.Effect<void, SchemaValidationFailed | AnswerRefused | RunGone> {
    return answer(this.#session, inputId, submission)
  }

  /** Ends the background work of an idle run. */
  finish(by: string): Effect.Effect<void, Conflict | RunGone> {
    return this.#request<void, Conflict>((reply) => ({ _tag: "Finish", by, reply }))
  }

  cancel(reason: string, by: string): void {
    this.#session.post({ _tag: "Cancel", reason, by })
  }

  /** Succeeds when all processes of the run are frozen and the log says so. A paused run stays paused. */
  pause(by: string, reason?: string): Effect.Effect<void, Conflict | RunGone> {
    return this.#request<void, Conflict>((reply) => ({ _tag: "Pause", by, reason, reply }))
  }

  /** Succeeds when the processes of the run continue. */
  resume(by: string, reason?: string): Effect.Effect<void, Conflict | RunGone> {
    return this.#request<void, Conflict>((reply) => ({ _tag: "Resume", by, reason, reply }))
  }

  /** Writes an event of the Edge to the run's log, if the run is still live. */
  announce(event: AdapterEvent): void {
    this.#session.post({ _tag: "Announced", event })
  }

  /** Succeeds when the artifact and the rows of `keep` are on disk. */
  publish(stored: StoredArtifact, keep: ResultRows<Artifact>): Effect.Effect<void, Conflict | RunGone> {
    return this.#request<void, Conflict>((reply) => ({ _tag: "Published", stored, keep, reply }))
  }

  /** Requests the approval of a connection to a host and port. `undefined` if none can be requested now. */
  requestConnection(
    address: string,
    approval: ApprovalRequest
  ): Effect.Effect<ApprovalAnswer | undefined, RunGone> {
    return this.#request<ApprovalAnswer | undefined>((reply) => ({
      _tag: "ConnectionRequested",
      address,
      request: approval,
      reply
    }))
  }

  input(
    text: string,
    messageId: MessageId | undefined,
    note = "",
    keep: ResultRows<Run> | undefined = undefined
  ): Effect.Effect<void, Conflict | RunGone> {
    return this.#request<void, Conflict>((reply) => ({ _tag: "Input", text, messageId, note, keep, reply }))
  }

  #request<A, E = never>(
    message: (reply: Deferred.Deferred<A, E>) => RunMessage
  ): Effect.Effect<A, E | RunGone> {
    return request(this.#session, message)
  }
}

/** Opens and seals an answer outside of the mailbox, because both take their time, then posts it. */
const answer = Effect.fnUntraced(function* (
  session: RunSession,
  inputId: InputRequestId,
  { allowsPlain, answer, ...submission }: AnswerSubmission
): Effect.fn.Return<void, SchemaValidationFailed | AnswerRefused | RunGone> {
  const question = session.options.recorder.state.pendingInputs.get(inputId)
  const { sealing } = session.kernel.inputs.get(inputId) ?? {}
  const forms: AnswerForms =
    question === undefined
      ? { answer, stored: undefined }
      : yield* answerForms({ id: inputId, request: question, sealing }, answer, allowsPlain)
  yield* request<void, SchemaValidationFailed | AnswerRefused>(session, (reply) => ({
    _tag: "AnswerInput",
    inputId,
    ...forms,
    ...submission,
    reply
  }))
})

/** Posts a message and waits for its reply, or for the run's end. */
const request = <A, E = never>(
  { ended, post }: RunSession,
  message: (reply: Deferred.Deferred<A, E>) => RunMessage
): Effect.Effect<A, E | RunGone> =>
  Effect.gen(function* () {
    const reply = yield* Deferred.make<A, E>()
    if (!post(message(reply))) return yield* new RunGone()
    const runEnded = Effect.flatMap(Effect.exit(Deferred.await(ended)), () => Effect.fail(new RunGone()))
    return yield* Effect.raceFirst(Deferred.await(reply), runEnded)
  })

const live = Effect.fnUntraced(function* (session: RunSession) {
  const { options, post, turns } = session
  const { adopted, commits, hold, protection, times } = options
  const clock = yield* Clock.Clock
  session.now = () => clock.currentTimeMillisUnsafe()
  if (hold !== undefined) yield* Effect.addFinalizer(() => leaveHolder(options, hold))
  if (adopted === undefined) session.preparing = yield* Effect.forkScoped(prepare(session))
  else yield* adopt(session, adopted)
  if (adopted?.hasEnded !== true) {
    const left = Math.max(0, times.cap - (adopted?.elapsed.age ?? 0))
    yield* postLater(session, left, { _tag: "TimedOut", kind: "cap", afterMs: times.cap })
  }
  const announce = (event: AdapterEvent) => void post({ _tag: "Announced", event })
  if (protection !== undefined) yield* Effect.forkScoped(protection.follow(announce))
  if (commits !== undefined) yield* Effect.forkScoped(commits.follow(announce))
  yield* turns.run
})

const prepare = ({
  hasPromptOnStart,
  options,
  post
}: RunSession): Effect.Effect<unknown, never, Scope.Scope> =>
  Effect.match(hasPromptOnStart ? Effect.tap(options.prepare, () => options.snapshot) : options.prepare, {
    onSuccess: (command) => post({ _tag: "Ready", command }),
    onFailure: (error) => post({ _tag: "Unready", error })
  })

/** The next Edge continues the run, or the holder forgets it. */
const leaveHolder = ({ protection, recorder }: RunActorOptions, hold: RunHold): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (!recorder.terminal && hold.isLeft) return Effect.sync(() => hold.leave())
    protection?.removeRecord()
    return hold.end
  })

/** Continues with the process of an earlier Edge, where that Edge stopped. */
const adopt = Effect.fnUntraced(function* (session: RunSession, adopted: AdoptedRun) {
  const { options } = session
  const { recorder, times } = options
  const { budget } = recorder.run
  for (const text of adopted.texts) session.stdin.write(text)
  session.post({ _tag: "Adopted" })
  for (const lost of adopted.lostKeys) session.post({ _tag: "KeyLost", ...lost })
  session.post({ _tag: "Replayed", outputs: adopted.outputs })
  if (adopted.endedBy === "wall" && budget?.wallMs !== undefined)
    session.post({ _tag: "Spent", limit: "wallMs", used: budget.wallMs })
  if (adopted.endedBy === "cap") session.post({ _tag: "TimedOut", kind: "cap", afterMs: times.cap })
  if (adopted.endedBy === "background")
    session.post({
      _tag: "BackgroundEnded",
      turn: undefined,
      afterMs: recorder.run.backgroundMs ?? times.background
    })
  const command = yield* options.prepare.pipe(
    Effect.catch(({ message }) =>
      Effect.as(
        Effect.logWarning(`run ${recorder.run.id} has no network`, { cause: message }),
        adopted.command
      )
    )
  )
  const process = yield* adoptProcess(session, adopted, command)
  session.started(process)
  if (!adopted.hasEnded) continueInHolder(session, process, adopted)
  // A freeze or a thaw that the earlier Edge has begun.
  if (recorder.state.paused !== true) process.freezer?.thaw()
  if (adopted.isStopping) yield* performAction(session, { _tag: "Stop" })
  else if (recorder.state.verdict !== undefined) yield* performAction(session, { _tag: "Leave" })
})
