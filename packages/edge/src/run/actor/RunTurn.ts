/**
 * One turn of a run, in its fixed order: the kernel applies the messages, their events and rows are committed, and only then something leaves the run.
 *
 * Guarantees: users and the runtime see only what is on disk. Where the store is idle and nothing needs the run's fiber, all of it happens within
 * the call that posts the message.
 */
import { Clock, Deferred, Effect, Fiber, type Scope } from "effect"
import type { OpenApproval, PendingRequest } from "../../approval/PendingRequests.ts"
import * as Ladder from "../../process/RunChild.ts"
import { adjustClocks, clocksContinue, followInHolder, prepareHolder } from "./RunClocks.ts"
import type { Turn } from "../kernel/KernelState.ts"
import type { RunMessage } from "../kernel/RunMessage.ts"
import { postLater, startProcess } from "./RunProcess.ts"
import type { RunAction, RunRecorder } from "../kernel/RunRecorder.ts"
import type { RunSession } from "./RunSession.ts"
import type { Artifacts, NewArtifact, StoredArtifact } from "../../artifact/Artifacts.ts"

// Artifacts that the events of a turn name are stored before the events.

/** Call it before `recorder.take`. Never fails: an artifact that cannot be stored is left out of the log, with a warning. */
export const storeOutputs = (artifacts: Artifacts["Service"], recorder: RunRecorder): Effect.Effect<void> => {
  const waiting = recorder.pendingArtifacts
  return waiting.length === 0 ? Effect.void : keepAll(artifacts, recorder, waiting)
}

const keepAll = Effect.fnUntraced(function* (
  artifacts: Artifacts["Service"],
  recorder: RunRecorder,
  waiting: ReadonlyArray<NewArtifact>
) {
  const stored = new Map<NewArtifact, StoredArtifact>()
  for (const artifact of waiting) {
    yield* artifacts.store(artifact).pipe(
      Effect.match({
        onSuccess: (one) => void stored.set(artifact, one),
        onFailure: ({ reason }) => reason
      }),
      Effect.tap((reason) =>
        reason === undefined
          ? Effect.void
          : Effect.logWarning(`run ${artifact.runId} lost an artifact: ${reason}`)
      )
    )
  }
  recorder.settle(stored)
})

export const beginTurn = (session: RunSession, messages: ReadonlyArray<RunMessage>): void => {
  const { kernel, turns } = session
  const turn = kernel.handle(messages, turns.takeWaiting, session.now())
  const before = beforeCommit(session, turn)
  if (before === undefined) return commit(session, turn)
  turns.perform(
    Effect.andThen(
      before,
      Effect.sync(() => commit(session, turn))
    )
  )
}

/**
 * What a commit waits for: the start of the program, and the artifacts that its events name. A program takes longer to start than its commit takes, so
 * it starts before. A run that was cancelled in the same turn is not started.
 */
const beforeCommit = (
  session: RunSession,
  { command }: Turn
): Effect.Effect<void, never, Scope.Scope> | undefined => {
  const { artifacts, recorder } = session.options
  const outputs = recorder.pendingArtifacts.length > 0 ? storeOutputs(artifacts, recorder) : undefined
  if (command === undefined || recorder.state.verdict !== undefined) return outputs
  const start = Effect.map(startProcess(session, command), (process) => session.started(process))
  return outputs === undefined ? start : Effect.andThen(start, outputs)
}

const commit = (session: RunSession, turn: Turn): void => {
  const { kernel, options, turns } = session
  prepareHolder(session, turn.bytes)
  const batch = kernel.take()
  if (batch === undefined) return release(session, turn)
  options.log.submit(batch.events, batch.projections, (error) => {
    if (error !== undefined) return turns.perform(Effect.fail(error))
    kernel.committed(batch)
    // The store may outlive the run's fiber.
    if (turns.isOpen) turns.attempt(() => release(session, turn))
  })
}

/** What may leave the run once a turn is durable. */
const release = (session: RunSession, turn: Turn): void => {
  const { kernel, options, stdin, stdout, turns } = session
  followInHolder(session, turn.bytes)
  for (const action of turn.actions) allowProtected(session, action)
  for (const text of turn.writes) stdin.write(text)
  if (kernel.isUnfinished) session.resumeLater()
  if (turn.hasToolResult) {
    options.protection?.callEnded()
    session.process?.published?.callEnded()
  }
  options.commits?.observe(options.recorder.state)
  // It may read further output, whose messages wait for the end of this turn.
  stdout.processed(turn.weight, session.holdsOutput())
  if (needsFiber(session, turn)) return turns.perform(afterCommit(session, turn))
  for (const reply of turn.replies) reply()
  turns.end()
}

const needsFiber = (session: RunSession, turn: Turn): boolean => {
  const { approvals, inputs, recorder } = session.kernel
  return (
    turn.actions.length > 0 ||
    turn.freezes ||
    turn.reportsUsage ||
    turn.isProcessGone ||
    recorder.terminal ||
    approvals.hasUnwatched ||
    inputs.hasUnwatched ||
    !clocksContinue(session)
  )
}

const afterCommit = Effect.fnUntraced(function* (session: RunSession, turn: Turn) {
  const { kernel, turns } = session
  for (const approval of kernel.approvals.takeUnwatched())
    yield* Effect.forkScoped(awaitDecision(session, approval))
  for (const input of kernel.inputs.takeUnwatched())
    if (input.expiresMs !== undefined)
      yield* Effect.forkScoped(awaitAnswer(session, input, { _tag: "InputExpired", inputId: input.id }))
  for (const action of turn.actions) yield* performAction(session, action)
  if (turn.freezes) yield* freeze(session)
  if (turn.reportsUsage) yield* postLater(session, session.options.times.usageReport, { _tag: "UsageDue" })
  for (const reply of turn.replies) reply()
  yield* adjustClocks(session, turn.bytes)
  if (turn.isProcessGone) yield* finish(session)
  if (kernel.recorder.terminal) turns.close()
  else turns.end()
})

/** Waits for a decision. The answer to a connection is passed on here, that to the runtime is written. */
const awaitDecision = Effect.fnUntraced(function* (session: RunSession, approval: OpenApproval) {
  const { asker, id: approvalId } = approval
  const answer = yield* awaitAnswer(session, approval, { _tag: "ApprovalExpired", approvalId })
  if (asker._tag === "Connection") yield* Deferred.succeed(asker.reply, answer)
  session.kernel.approvals.remove(approvalId)
})

/** Waits for the answer to a request. Its expiry is a message like any other. */
const awaitAnswer = Effect.fnUntraced(function* <Answer>(
  { post }: RunSession,
  { answer, expiresMs = Infinity }: PendingRequest<string, Answer>,
  expired: RunMessage
) {
  const left = expiresMs - (yield* Clock.currentTimeMillis)
  const answered = yield* Effect.timeoutOption(Deferred.await(answer), Math.max(0, left))
  if (answered._tag === "Some") return answered.value
  post(expired)
  return yield* Deferred.await(answer)
})

export const performAction = (
  session: RunSession,
  action: RunAction
): Effect.Effect<unknown, never, Scope.Scope> => {
  const { approvals, inputs } = session.kernel
  switch (action._tag) {
    case "Answer":
      return approvals.answer(action.approvalId, action.answer)
    case "Respond":
      return Effect.tap(inputs.answer(action.inputId, action.response), () =>
        Effect.sync(() => inputs.remove(action.inputId))
      )
    case "Leave":
      return leave(session)
    case "Stop":
      return stop(session)
    case "Thaw":
      return Effect.sync(() => session.process?.freezer?.thaw())
    case "Refuse":
      return Effect.void
  }
}

/** Lets a confined run make the change of a protected name that an answer allows. Before the runtime receives the answer. */
const allowProtected = ({ kernel, options: { protection } }: RunSession, action: RunAction): void => {
  if (protection === undefined || action._tag !== "Answer") return
  const assessed = kernel.approvals.get(action.approvalId)?.assessed
  if (assessed !== undefined && kernel.approvals.allowsChanges(action.approvalId))
    protection.allow(assessed.request, action.answer)
}

/** Freezes the run's processes for a pause. */
const freeze = ({ post, process }: RunSession): Effect.Effect<unknown, never, Scope.Scope> =>
  Effect.forkScoped(
    Effect.map(process?.freezer?.freeze() ?? Effect.succeed(false), (isFrozen) =>
      post({ _tag: "FreezeEnded", isFrozen })
    )
  )

/** The turn is over: the process is asked to leave by itself. */
const leave = (session: RunSession): Effect.Effect<unknown, never, Scope.Scope> => {
  const { isLeaving, isStopping, options, process } = session
  if (process === undefined) return Effect.void
  process.freezer?.release()
  if (isStopping || isLeaving) return Effect.sync(() => process.child.closeInput())
  session.isLeaving = true
  return Effect.forkScoped(Ladder.terminateAfterInput(process.ladder, options.times.leave))
}

/** Ends the process, or its queued start. */
const stop = (session: RunSession): Effect.Effect<unknown, never, Scope.Scope> => {
  if (session.isStopping) return Effect.void
  session.isStopping = true
  const { kernel, post, preparing, process } = session
  process?.freezer?.release()
  return process === undefined
    ? Effect.andThen(
        preparing === undefined ? Effect.void : Fiber.interrupt(preparing),
        Effect.sync(() => post({ _tag: "Swept", review: [] }))
      )
    : Effect.forkScoped(
        Effect.andThen(
          Fiber.interrupt(process.opening),
          Ladder.terminate(process.ladder, kernel.reported.isCancelled)
        )
      )
}

/** After the process has exited: ends remaining processes of the run and reviews its workspace. */
const finish = Effect.fnUntraced(function* ({ exited, kernel, options, post, process }: RunSession) {
  const { takeBackState = Effect.void } = options
  if (process === undefined) return
  // No program ran, so nothing changed.
  const review = kernel.reported.hasNoProgram === true ? Effect.succeed([]) : options.review
  yield* Fiber.interrupt(process.opening)
  yield* Deferred.succeed(exited, undefined)
  // Concurrent, because users wait for both. A process that was still alive may have changed files meanwhile.
  const [found, early] = yield* Effect.all([process.clear, review], { concurrency: 2 })
  // A reader of the run's end finds the conversation in the user's state.
  yield* takeBackState
  post({ _tag: "Swept", review: found === 0 ? early : yield* review })
})
