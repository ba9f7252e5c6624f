/**
 * Kernel of one run: what its messages lead to.
 *
 * Guarantees: pure and synchronous; messages are applied in order, and all that follows from them is known before anything is committed. Secrets
 * are removed here, on entry. Does not: commit, write, start or end anything. `RunActor` does, in that order.
 */
import { Conflict } from "@corral/domain/errors/Failures"
import { type Artifact, MAX_PUBLISHED } from "@corral/domain/run/Artifact"
import type { RunFailure } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import { finishRefusal, pauseRefusal, type PauseRefusalReason } from "@corral/domain/run/RunRefusals"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterOutput, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { mint } from "@corral/service/Identifiers"
import { Deferred, Effect } from "effect"
import { type RunJournal, forgetJournal } from "../../journal/RunJournal.ts"
import type { Write } from "../../store/Store.ts"
import { applyAnswer, applyDecision, askAgain, requestApproval } from "./Requests.ts"
import { withNote } from "../../attachment/Attachments.ts"
import { type KernelOptions, KernelState, Turn, isoTime } from "./KernelState.ts"
import { chargeBudget, dispatch, logUsage } from "./OutputDispatch.ts"
import { type PauseRequest, type RunMessage, type RunMessageOf, isOutput } from "./RunMessage.ts"
import type { RunRecorder } from "./RunRecorder.ts"

// Pauses and resumes of a live run. A pause freezes its control group, then the log says so. A resume is in the log before the processes continue.
//
// Guarantees: one freeze at a time; requests in the meantime share its result. A run that is ending is never paused.
// Does not: freeze, or stop the clocks. `RunActor` does.

/** Why the run cannot be paused now; `undefined` if it can. */
const refusalOf = ({ program, recorder }: KernelState): PauseRefusalReason | undefined => {
  if (recorder.terminal) return "ended"
  if (recorder.state.verdict !== undefined) return "ending"
  if (program === undefined) return "not_started"
  if (program.isGone) return "ending"
  return program.canFreeze ? undefined : "no_control_group"
}

/** Requests a freeze after this turn, or joins the one in progress, unless the run is paused already. */
const requestPause = (kernel: KernelState, message: PauseRequest): void => {
  const refusal = refusalOf(kernel)
  if (refusal !== undefined) return kernel.turn.fail(message.reply, pauseRefusal(refusal))
  if (kernel.recorder.state.paused === true) return kernel.turn.succeed(message.reply, undefined)
  kernel.pauses.push(message)
  if (kernel.pauses.length === 1) kernel.turn.freezes = true
}

const requestResume = (kernel: KernelState, { by, reason, reply }: PauseRequest): void => {
  kernel.apply({ _tag: "ResumeRequested", by, reason })
  kernel.turn.succeed(reply, undefined)
}

/** The end of a freeze. The run may have ended meanwhile. */
const endFreeze = (kernel: KernelState, { isFrozen }: RunMessageOf<"FreezeEnded">): void => {
  const waiting = kernel.pauses.splice(0)
  const refusal = refusalOf(kernel) ?? (isFrozen ? undefined : "freeze_failed")
  const [first] = waiting
  if (refusal === undefined && first !== undefined)
    kernel.apply({ _tag: "Frozen", by: first.by, reason: first.reason })
  for (const { reply } of waiting) {
    if (refusal === undefined) kernel.turn.succeed(reply, undefined)
    else kernel.turn.fail(reply, pauseRefusal(refusal))
  }
}

/** Events and rows of one turn, with the run as they leave it. */
export type KernelCommit = Exclude<ReturnType<RunRecorder["take"]>, undefined>

const FULL = `A run has at most ${MAX_PUBLISHED} published artifacts. Further files are not published.`

const holderLost: RunFailure = {
  code: "runtime_unavailable",
  message:
    "The holder of this Edge's runs ended, and the run with it. Start the run again. If no one ended the process, look for the reason in the log of the system, such as a lack of memory.",
  details: { reason: "holder_lost" }
}

export class RunKernel extends KernelState {
  #published: number
  #isFullReported = false
  /** Whether the log knows that the process is to end. */
  #hasStoredStop: boolean

  constructor(options: KernelOptions) {
    super(options)
    this.#published = options.recorder.publishedArtifacts
    this.#hasStoredStop = options.adopted?.isStopping === true
  }

  /**
   * Applies messages in order, as one turn. `more` takes what their replies have led to: the decoder's outputs of the process's end belong to
   * the same commit. Commit what `take` returns, then call `committed`, before the next turn.
   */
  handle(messages: ReadonlyArray<RunMessage>, more: () => ReadonlyArray<RunMessage>, nowMs: number): Turn {
    this.turn = new Turn()
    this.nowMs = nowMs
    this.recorder.at(isoTime(nowMs))
    for (const message of messages) this.#receive(message)
    for (const message of more()) this.#receive(message)
    this.#resumeBacklog()
    this.turn.bytes = this.position.bytes
    return this.turn
  }

  /** What the turn commits, its journal included; `undefined` if nothing changed. Artifacts that its events name are stored before. */
  take(): KernelCommit | undefined {
    const { journal, position, recorder } = this
    if (journal !== undefined) recorder.addRows(this.#journalRows(journal))
    return recorder.take(journal === undefined ? undefined : position.outputs)
  }

  /** The commit is durable. */
  committed({ run }: KernelCommit): void {
    this.recorder.committed(run)
  }

  /** Whether the backlog can continue in the next turn. */
  get isUnfinished(): boolean {
    return this.backlog.isWaiting && this.hasRoom
  }

  /** Output waits behind the output in the backlog. */
  #receive(message: RunMessage): void {
    if (isOutput(message) && this.backlog.isWaiting) this.backlog.defer(message)
    else this.#process(message)
  }

  /** As far as this turn may. */
  #resumeBacklog(): void {
    const { backlog } = this
    while (backlog.isWaiting && this.canRequest) {
      if (backlog.hasOutputs) {
        const { at, outputs } = backlog.takeOutputs()
        dispatch(this, outputs, at)
        continue
      }
      const message = backlog.takeMessage()
      if (message !== undefined) this.#process(message)
    }
  }

  /** State that belongs to the next commit. A stop and a finish are stored even if nothing else is: the user was told. */
  #journalRows(journal: RunJournal): ReadonlyArray<Write> {
    const { recorder, reported, turn } = this
    if (recorder.terminal) return [forgetJournal(recorder.run.id)]
    const wasStored = this.#hasStoredStop
    const stops = wasStored || turn.actions.some(({ _tag }) => _tag === "Stop")
    // The outcome that a runtime has reported is found again in its output.
    const isFinished = turn.replies.length > 0 && turn.actions.some(({ _tag }) => _tag === "Leave")
    if (!recorder.hasChanges && (wasStored || !(stops || isFinished))) return []
    this.#hasStoredStop = stops
    const row = journal.state(recorder.state, stops, reported.isOver)
    return row === undefined ? [] : [row]
  }

  #process(message: RunMessage): void {
    const { budget, redaction } = this
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
        this.turn.isProcessGone = true
        return dispatch(this, redaction.flush())
      case "Resumed":
        return
      case "SpawnFailed":
        this.turn.isProcessGone = true
        this.reported.hasNoProgram = true
        return this.#failStart(message)
      case "Swept":
        for (const input of this.#withReportedDiff(message.review)) this.apply(input)
        return this.apply({ _tag: "Ended" })
      case "Announced":
        return this.apply({ _tag: "EventEmitted", event: message.event, isFromEdge: true })
      case "Published":
        return this.#publish(message)
      case "Collected":
        return this.#collect(message)
      case "ConnectionRequested":
        return this.#requestConnection(message)
      case "Spent":
        return chargeBudget(this, budget.reach(message.limit, message.used))
      case "UsageDue":
        return logUsage(this)
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
    if (this.recorder.state.verdict !== undefined) return
    this.turn.command = command
    this.apply({ _tag: "Spawned" })
  }

  /** Outputs at the end of the process complete open messages and calls. After the run's outcome, other outputs are ignored. */
  #applyOutputs({ outputs, weight }: RunMessageOf<"Decoded">): void {
    const { redaction, reported } = this
    this.turn.weight += weight
    dispatch(this, redaction.redactStream(reported.isOver === true ? outputs.filter(isClosing) : outputs))
  }

  /**
   * An adapter may repeat parts of stderr, and redaction does not find half a secret. So the adapter receives a redacted stderr, and none
   * after the run's outcome.
   */
  #replyWithEnd({ end, reply }: RunMessageOf<"Exited">): void {
    const { recorder, redaction, reported } = this
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

  #publish({ keep, reply, stored: { artifact, row } }: RunMessageOf<"Published">): void {
    const { recorder } = this
    if (!recorder.state.started || recorder.state.verdict !== undefined)
      return this.turn.fail(
        reply,
        new Conflict({ message: "Artifacts are published while the run is live." })
      )
    if (++this.#published > MAX_PUBLISHED)
      return this.turn.fail(
        reply,
        new Conflict({ message: `A run has at most ${MAX_PUBLISHED} published artifacts.` })
      )
    this.#announce(artifact)
    recorder.addRows([row, ...keep(artifact)])
    this.turn.succeed(reply, undefined)
  }

  /** Files that the program has left count until the last event. */
  #collect({ notices, stored }: RunMessageOf<"Collected">): void {
    const { recorder } = this
    if (recorder.terminal) return
    const room = Math.max(0, MAX_PUBLISHED - this.#published)
    for (const { artifact, row } of stored.slice(0, room)) {
      this.#announce(artifact)
      recorder.addRows([row])
    }
    this.#published += stored.length
    const isFull = stored.length > room && !this.#isFullReported
    this.#isFullReported ||= isFull
    for (const text of isFull ? [...notices, FULL] : notices)
      this.apply({
        _tag: "EventEmitted",
        event: draft("run.notice", { kind: "warning", text }),
        isFromEdge: true
      })
  }

  #announce({ id: artifactId, mediaType, name, sha256, size }: Artifact): void {
    const ready = draft("run.artifact.ready", { artifactId, mediaType, name, sha256, size })
    this.apply({ _tag: "EventEmitted", event: ready, isFromEdge: true })
  }

  /** A run that is ending opens no connections. */
  #requestConnection({ address, reply, request }: RunMessageOf<"ConnectionRequested">): void {
    if (this.recorder.state.verdict !== undefined || this.isGone || !this.hasRoom)
      this.turn.succeed(reply, undefined)
    else requestApproval(this, { _tag: "Connection", address, reply }, request)
  }

  /** Output after the run's outcome does not change the outcome. */
  #failDecoding({ message }: RunMessageOf<"DecodeFailed">): void {
    if (this.recorder.state.verdict !== undefined) return
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

  /** The runtime is not silent if an earlier message of the turn requested an approval or called a tool. */
  #reportSilence({ silentMs }: RunMessageOf<"Quiet">): void {
    const { isIdle, openCalls, paused, pending, pendingInputs, verdict } = this.recorder.state
    const waits = pending.size > 0 || pendingInputs.size > 0 || paused === true
    if (verdict !== undefined || waits || isIdle || openCalls.size > 0) return
    this.apply({ _tag: "EventEmitted", event: draft("runtime.retrying", { reason: "silence", silentMs }) })
  }

  /** A turn that has started meanwhile is no background work. */
  #endBackground({ afterMs, turn }: RunMessageOf<"BackgroundEnded">): void {
    const { state } = this.recorder
    if (turn === undefined || (state.isIdle && state.turn === turn))
      this.apply({ _tag: "TimedOut", kind: "background", afterMs })
  }

  #finish({ by, reply }: RunMessageOf<"Finish">): void {
    const actions = this.recorder.apply({ _tag: "FinishRequested", by })
    const isRefused = actions.some(({ _tag }) => _tag === "Refuse")
    if (isRefused) return this.turn.fail(reply, finishRefusal("turn_active"))
    this.act(actions)
    this.turn.succeed(reply, undefined)
  }

  /** The diff that the runtime reported, unless the Edge measured one. */
  #withReportedDiff(review: ReadonlyArray<RunMachineInput>): ReadonlyArray<RunMachineInput> {
    const { diff } = this.reported
    const isMeasured = review.some(
      (input) => input._tag === "EventEmitted" && input.event.type === "run.diff.ready"
    )
    return diff === undefined || isMeasured ? review : [{ _tag: "EventEmitted", event: diff }, ...review]
  }

  #sendInput({ keep, messageId, note, reply, text }: RunMessageOf<"Input">): void {
    const { protocol, recorder } = this
    const whole = withNote(text, note)
    const line = recorder.state.verdict === undefined ? protocol.input(whole) : undefined
    if (line === undefined)
      return this.turn.fail(reply, new Conflict({ message: "The run takes no further input." }))
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
    this.turn.succeed(reply, undefined)
  }
}

/** Whether an output completes something that the run has begun. */
const isClosing = (output: AdapterOutput): boolean =>
  output._tag === "Event" && /^run\.(message\.completed|tool\.result)$/.test(output.event.type)
