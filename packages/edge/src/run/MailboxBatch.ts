/**
 * One batch of a run's mailbox: all pending messages, applied to the run in order.
 *
 * Synchronous. Collects the actions to perform after the batch's events are durable; nothing leaves the run before that.
 */
import { Conflict, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { RunFailure } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import { finishRefusal } from "@corral/domain/run/RunFinish"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterOutput, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { mint } from "@corral/service/Identifiers"
import { Deferred, Effect } from "effect"
import { applyDecision } from "./ApprovalDecisions.ts"
import { requestApproval } from "./ApprovalRequests.ts"
import { withNote } from "./AttachedFiles.ts"
import { BatchState } from "./BatchState.ts"
import { askAgain } from "./InputRequests.ts"
import { chargeBudget, dispatch } from "./OutputDispatch.ts"
import { endFreeze, requestPause, requestResume } from "./RunPause.ts"
import { AnswerRefused, type RunMessage, type RunMessageOf, isOutput } from "./RunMessage.ts"
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import type { InputAnswer, RequestedInput } from "@corral/domain/input/InputRequest"
import { secretTexts, shownAnswers } from "../input/SecretAnswers.ts"

// Answers to open questions. The first valid answer wins; later ones are refused.

const applyAnswer = (batch: BatchState, message: RunMessageOf<"AnswerInput">): void => {
  const { recorder, redaction } = batch.context
  const { answer, by, inputId, keep, origin, reply, stored } = message
  const request = recorder.state.pendingInputs.get(inputId)
  const issues = request === undefined ? [] : answerIssues(request, answer)
  if (issues.length > 0) {
    batch.replies.push(Deferred.fail(reply, new SchemaValidationFailed({ details: { issues } })))
    return
  }
  if (request !== undefined) {
    if ("answers" in answer) redaction.learn(secretTexts(request, answer.answers))
    if (keep !== undefined) recorder.addAnswer(inputId, keep)
    if (stored !== undefined) batch.storedAnswers.set(inputId, stored)
  }
  const actions = recorder.apply({
    _tag: "InputAnswered",
    inputId,
    answer,
    shown: redaction.value(request === undefined ? {} : shownOf(request, answer)),
    by,
    origin,
    endsRun: request?.kind === "plan" && endsWithPlan(recorder.run.mode)
  })
  if (actions.some(({ _tag }) => _tag === "Refuse")) {
    batch.replies.push(Deferred.fail(reply, new AnswerRefused()))
    return
  }
  batch.act(actions)
  batch.replies.push(Deferred.succeed(reply, undefined))
}

const shownOf = (request: RequestedInput, answer: InputAnswer) => ({
  ...("answers" in answer ? { answers: shownAnswers(request, answer.answers) } : {}),
  ...(answer.comment === undefined ? {} : { comment: answer.comment })
})

const holderLost: RunFailure = {
  code: "runtime_unavailable",
  message:
    "The holder of this Edge's runs ended, and the run with it. Start the run again. If no one ended the process, look for the reason in the log of the system, such as a lack of memory.",
  details: { reason: "holder_lost" }
}

export class MailboxBatch extends BatchState {
  /** Processes a message. Output waits behind the output in the backlog. */
  handle(message: RunMessage): void {
    const { backlog } = this.context
    if (isOutput(message) && backlog.isWaiting) backlog.defer(message)
    else this.#process(message)
  }

  /** Continues the backlog, as far as this batch may. */
  resume(): void {
    const { backlog } = this.context
    while (backlog.isWaiting && this.canRequestApproval) {
      if (backlog.hasOutputs) {
        const { at, outputs } = backlog.takeOutputs()
        dispatch(this, outputs, at)
        continue
      }
      const message = backlog.takeMessage()
      if (message !== undefined) this.#process(message)
    }
  }

  /** Whether the backlog can continue in the next batch. */
  get isUnfinished(): boolean {
    return this.context.backlog.isWaiting && this.hasRoom
  }

  #process(message: RunMessage): void {
    const { budget, redaction } = this.context
    switch (message._tag) {
      case "Ready":
        return this.#start(message)
      case "Unready":
        return this.apply({ _tag: "FailureImposed", error: message.error })
      case "Decoded":
        return this.#applyOutputs(message)
      case "Adopted":
        return this.apply({ _tag: "Spawned" })
      case "Replayed":
        return dispatch(this, message.outputs)
      case "Exited":
        return this.#replyWithEnd(message)
      case "DecodeFailed":
        return this.#failDecoding(message)
      case "DecodingEnded":
        this.isProcessGone = true
        return dispatch(this, redaction.flush())
      case "Resumed":
        return
      case "SpawnFailed":
        this.isProcessGone = true
        this.context.reported.hasNoProgram = true
        return this.#failStart(message)
      case "Swept":
        for (const input of this.#withReportedDiff(message.review)) this.apply(input)
        return this.apply({ _tag: "Ended" })
      case "Announced":
        return this.apply({ _tag: "EventEmitted", event: message.event, isFromEdge: true })
      case "ConnectionRequested":
        return this.#requestConnection(message)
      case "Spent":
        return chargeBudget(this, budget.reach(message.limit, message.used))
      case "Quiet":
        return this.#reportSilence(message)
      case "Cancel":
        return this.apply({ _tag: "CancelRequested", reason: message.reason, by: message.by })
      case "Pause":
        return requestPause(this, message)
      case "Resume":
        return requestResume(this, message)
      case "FreezeEnded":
        return endFreeze(this, message)
      case "ApprovalExpired":
      case "InputExpired":
      case "Settled":
      case "TimedOut":
        return this.apply(message)
      case "BackgroundEnded":
        return this.#endBackground(message)
      case "Finish":
        return this.#finish(message)
      case "KeyLost":
        return askAgain(this, message)
      case "AnswerInput":
        return applyAnswer(this, message)
      case "Decide":
        return applyDecision(this, message)
      case "Input":
        return this.#sendInput(message)
    }
  }

  /** Starts the program, unless the run ended while it was queued. */
  #start({ command }: RunMessageOf<"Ready">): void {
    if (this.context.recorder.state.verdict !== undefined) return
    this.command = command
    this.apply({ _tag: "Spawned" })
  }

  /** Outputs at the end of the process complete open messages and calls. After the run's outcome, other outputs are ignored. */
  #applyOutputs({ outputs, weight }: RunMessageOf<"Decoded">): void {
    const { redaction, reported } = this.context
    this.weight += weight
    dispatch(this, redaction.redactStream(reported.isOver === true ? outputs.filter(isClosing) : outputs))
  }

  /**
   * An adapter may repeat parts of stderr, and redaction does not find half a secret. So the adapter receives a redacted stderr, and none
   * after the run's outcome.
   */
  #replyWithEnd({ end, reply }: RunMessageOf<"Exited">): void {
    const { recorder, redaction, reported } = this.context
    if (end.isHolderLost === true && recorder.state.verdict === undefined)
      this.apply({ _tag: "FailureImposed", error: holderLost })
    reported.isOver ??= recorder.state.verdict !== undefined
    const { code, signal, stderr } = end
    const shown: ProcessEnd = reported.isOver
      ? { code, signal, stderr: "" }
      : redaction.value({ code, signal, stderr })
    if (!reported.isOver) reported.end = shown
    Deferred.doneUnsafe(reply, Effect.succeed(shown))
  }

  /** A run that is ending opens no connections. */
  #requestConnection({ address, reply, request }: RunMessageOf<"ConnectionRequested">): void {
    const { isGone, recorder } = this.context
    if (recorder.state.verdict !== undefined || isGone() || !this.hasRoom)
      this.replies.push(Deferred.succeed(reply, undefined))
    else requestApproval(this, { _tag: "Connection", address, reply }, request)
  }

  /** Output after the run's outcome does not change the outcome. */
  #failDecoding({ message }: RunMessageOf<"DecodeFailed">): void {
    if (this.context.recorder.state.verdict !== undefined) return
    const error = { code: "runtime_unavailable", message, details: { reason: "decode_failed" } }
    this.apply({ _tag: "FailureImposed", error })
  }

  #failStart({ error: { code } }: RunMessageOf<"SpawnFailed">): void {
    const reason = code === "ENOENT" ? "command_missing" : "not_startable"
    const message = `The runtime's program could not be started (${code ?? "unknown error"}).`
    this.apply({ _tag: "EventEmitted", event: draft("runtime.unavailable", { reason, message }) })
    const error = { code: "runtime_unavailable", message, details: { reason } }
    this.apply({ _tag: "OutcomeReported", outcome: { _tag: "Failed", error } })
  }

  /** The runtime is not silent if an earlier message of the batch requested an approval or called a tool. */
  #reportSilence({ silentMs }: RunMessageOf<"Quiet">): void {
    const { isIdle, openCalls, paused, pending, pendingInputs, verdict } = this.context.recorder.state
    const waits = pending.size > 0 || pendingInputs.size > 0 || paused === true
    if (verdict !== undefined || waits || isIdle || openCalls.size > 0) return
    this.apply({ _tag: "EventEmitted", event: draft("runtime.retrying", { reason: "silence", silentMs }) })
  }

  /** A turn that has started meanwhile is no background work. */
  #endBackground({ afterMs, turn }: RunMessageOf<"BackgroundEnded">): void {
    const { state } = this.context.recorder
    if (turn === undefined || (state.isIdle && state.turn === turn))
      this.apply({ _tag: "TimedOut", kind: "background", afterMs })
  }

  #finish({ by, reply }: RunMessageOf<"Finish">): void {
    const actions = this.context.recorder.apply({ _tag: "FinishRequested", by })
    const isRefused = actions.some(({ _tag }) => _tag === "Refuse")
    if (!isRefused) this.act(actions)
    this.replies.push(
      isRefused ? Deferred.fail(reply, finishRefusal("turn_active")) : Deferred.succeed(reply, undefined)
    )
  }

  /** The diff that the runtime reported, unless the Edge measured one. */
  #withReportedDiff(review: ReadonlyArray<RunMachineInput>): ReadonlyArray<RunMachineInput> {
    const { diff } = this.context.reported
    const isMeasured = review.some(
      (input) => input._tag === "EventEmitted" && input.event.type === "run.diff.ready"
    )
    return diff === undefined || isMeasured ? review : [{ _tag: "EventEmitted", event: diff }, ...review]
  }

  #sendInput({ keep, messageId, note, reply, text }: RunMessageOf<"Input">): void {
    const { protocol, recorder } = this.context
    const whole = withNote(text, note)
    const line = recorder.state.verdict === undefined ? protocol.input(whole) : undefined
    if (line === undefined) {
      this.replies.push(Deferred.fail(reply, new Conflict({ message: "The run takes no further input." })))
      return
    }
    const message = {
      messageId: messageId ?? mint<string>("msg", this.nowMs),
      role: "user",
      channel: "text",
      text
    } as const
    this.apply({ _tag: "EventEmitted", event: draft("run.message.completed", message) })
    this.callAdapter({ _tag: "Input", text: whole }, line)
    this.apply({ _tag: "TurnStarted", by: "message" })
    if (keep !== undefined) recorder.addResult(keep)
    this.replies.push(Deferred.succeed(reply, undefined))
  }
}

/** Whether an output completes something that the run has begun. */
const isClosing = (output: AdapterOutput): boolean =>
  output._tag === "Event" && /^run\.(message\.completed|tool\.result)$/.test(output.event.type)
