/**
 * One turn of a run's actor: the messages that waited in its mailbox, through protocol and recorder, in order.
 *
 * Synchronous. It collects what is to be done once the turn's events are durable; nobody is told anything before.
 */
import type { ApprovalRequest, DecisionOrigin } from "@corral/domain/approval/Approval"
import {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  Conflict,
  NotFound,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { inputChanges } from "@corral/domain/approval/InputEdit"
import type { Budget, RunFailure } from "@corral/domain/run/Run"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { Input, InputEdit } from "@corral/domain/run/RunMachine"
import type {
  AdapterEvent,
  AdapterOutput,
  ApprovalAnswer,
  AnyProtocol,
  ProcessEnd
} from "@corral/domain/run/RuntimeAdapter"
import { Deferred, Effect } from "effect"
import { mint } from "@corral/service/Identifiers"
import type { OpenApprovals } from "../approval/OpenApprovals.ts"
import { sized } from "../approval/RequestSize.ts"
import type { Verdict } from "../approval/Policy.ts"
import type { Assessed, RunPolicy } from "../approval/RunPolicy.ts"
import type { RunAction, RunRecorder } from "./RunRecorder.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import { ASKS_PER_TURN, type Backlog, MAX_OPEN_APPROVALS } from "./Backlog.ts"
import { withPathsIn } from "./FilePaths.ts"
import type { BudgetMeter, BudgetNews } from "./Budget.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"

export type DecideFailure = ApprovalAlreadyResolved | ApprovalExpired | NotFound | SchemaValidationFailed

/** Who decides, and where. An older Hub does not say where. */
export interface Decider {
  readonly by: string
  readonly origin?: DecisionOrigin | undefined
}

/** Everything that can happen to a live run. */
export type Message =
  /** Its turn has come and its workspace is ready. */
  | { readonly _tag: "Ready"; readonly command: SubprocessSpec }
  | { readonly _tag: "Unready"; readonly error: RunFailure }
  /** What the adapter decoded. `weight` is given back to the `StdoutReader`. */
  | { readonly _tag: "Decoded"; readonly outputs: ReadonlyArray<AdapterOutput>; readonly weight: number }
  /** The process has ended and its output is decoded. `reply`: the end as the adapter may see it. */
  | { readonly _tag: "Exited"; readonly end: ProcessEnd; readonly reply: Deferred.Deferred<ProcessEnd> }
  | { readonly _tag: "DecodeFailed"; readonly message: string }
  /** The decoder has completed, after the process ended. */
  | { readonly _tag: "DecodingEnded" }
  /** What waits in the backlog may be read on. */
  | { readonly _tag: "Resumed" }
  | { readonly _tag: "SpawnFailed"; readonly error: NodeJS.ErrnoException }
  /** Nothing of the run is alive. `review`: what the Edge found in the workspace afterwards. */
  | { readonly _tag: "Swept"; readonly review: ReadonlyArray<Input> }
  | { readonly _tag: "Announced"; readonly event: AdapterEvent }
  | { readonly _tag: "Spent"; readonly limit: keyof Budget; readonly used: number }
  | { readonly _tag: "Expired"; readonly approvalId: ApprovalId }
  | {
      readonly _tag: "TimedOut"
      readonly kind: PayloadOf<"runtime.timeout">["kind"]
      readonly afterMs: number
    }
  /** The runtime has said nothing for so long. */
  | { readonly _tag: "Quiet"; readonly silentMs: number }
  | { readonly _tag: "Cancel"; readonly reason: string; readonly by: string }
  | ({
      readonly _tag: "Decide"
      readonly approvalId: ApprovalId
      readonly answer: ApprovalAnswer
      readonly reply: Deferred.Deferred<void, DecideFailure>
    } & Decider)
  | { readonly _tag: "Input"; readonly text: string; readonly reply: Deferred.Deferred<void, Conflict> }

/** What a turn works on; the same for all turns of a run. */
export interface TurnContext {
  readonly recorder: RunRecorder
  readonly protocol: AnyProtocol
  readonly approvals: OpenApprovals
  readonly backlog: Backlog<Message>
  /** The process has exited: nothing waits for an answer. */
  readonly isGone: () => boolean
  readonly budget: BudgetMeter
  readonly redaction: OutputRedaction
  /** What the runtime reported and only the end of the run says; and whether the process ended after the run's outcome. */
  readonly reported: { diff: AdapterEvent | undefined; isOver: boolean }
  /** To the runtime's stdin. */
  readonly write: (text: string) => void
  readonly policy: RunPolicy
  /** Real path of the folder that the run works in. */
  readonly root: string
  /** Milliseconds until an approval expires. */
  readonly approvalMs: number
  readonly onUnknown: (what: string, raw?: string) => void
}

export class RunTurn {
  readonly actions: Array<RunAction> = []
  readonly replies: Array<Effect.Effect<unknown>> = []
  /** Weight of the outputs that were processed. */
  weight = 0
  /** What is to be started now. */
  command: SubprocessSpec | undefined
  /** The process is gone. */
  gone = false
  private asked = 0
  private readonly context: TurnContext
  private readonly nowMs: number

  constructor(context: TurnContext, nowMs: number) {
    this.context = context
    this.nowMs = nowMs
    context.recorder.at(iso(nowMs))
  }

  /** Takes a message. What the runtime printed waits behind what it printed before. */
  handle(message: Message): void {
    const { backlog } = this.context
    if (isOutput(message) && backlog.isWaiting) backlog.defer(message)
    else this.process(message)
  }

  /** Reads on in the backlog, as far as this turn may. */
  resume(): void {
    const { backlog } = this.context
    while (backlog.isWaiting && this.mayAsk) {
      if (backlog.hasOutputs) {
        const { at, outputs } = backlog.takeOutputs()
        this.tell(outputs, at)
        continue
      }
      const message = backlog.takeMessage()
      if (message !== undefined) this.process(message)
    }
  }

  /** There is more to read now. */
  get isUnfinished(): boolean {
    return this.context.backlog.isWaiting && this.hasRoom
  }

  private get mayAsk(): boolean {
    return this.asked < ASKS_PER_TURN && this.hasRoom
  }

  /** One more approval may wait. A run that is ending, or whose process has exited, waits for none of them. */
  private get hasRoom(): boolean {
    const { isGone, recorder } = this.context
    const { pending, verdict } = recorder.state
    return pending.length < MAX_OPEN_APPROVALS || verdict !== undefined || isGone()
  }

  private process(message: Message): void {
    const { budget, recorder, redaction, reported } = this.context
    switch (message._tag) {
      case "Ready":
        // Ended while it waited: then there is nothing to start.
        if (recorder.state.verdict !== undefined) return
        this.command = message.command
        return this.feed({ _tag: "Spawned" })
      case "Unready":
        return this.feed({ _tag: "Overruled", error: message.error })
      case "Decoded":
        this.weight += message.weight
        // What was still streaming is completed, and what a cancel stopped says so. The rest of what the end means is no news.
        return this.hear(reported.isOver ? message.outputs.filter(closes) : message.outputs)
      case "Exited":
        return this.exited(message)
      case "DecodeFailed":
        return this.undecodable(message.message)
      case "DecodingEnded":
        this.gone = true
        return this.tell(redaction.rest())
      case "Resumed":
        return
      case "SpawnFailed":
        this.gone = true
        return this.unstartable(message.error)
      case "Swept":
        for (const input of this.diffOf(message.review)) this.feed(input)
        return this.feed({ _tag: "Ended" })
      case "Announced":
        return this.feed({ _tag: "Said", event: message.event })
      case "Spent":
        return this.spend(budget.reach(message.limit, message.used))
      case "Quiet":
        return this.quiet(message.silentMs)
      case "Cancel":
        return this.feed({ _tag: "CancelRequested", reason: message.reason, by: message.by })
      case "Expired":
      case "TimedOut":
        return this.feed(message)
      case "Decide":
        return this.decide(message)
      case "Input":
        return this.input(message)
    }
  }

  /** What came before the notice may have asked a person or called a tool: then it is no silence. */
  private quiet(silentMs: number): void {
    const { openCalls, pending, verdict } = this.context.recorder.state
    if (verdict !== undefined || pending.length > 0 || openCalls.size > 0) return
    this.feed({ _tag: "Said", event: draft("runtime.retrying", { reason: "silence", silentMs }) })
  }

  private feed(input: Input): void {
    const { recorder, redaction } = this.context
    for (const action of recorder.apply(isTold(input) ? input : redaction.value(input)))
      this.actions.push(action)
  }

  private hear(outputs: ReadonlyArray<AdapterOutput>): void {
    this.tell(this.context.redaction.seams(outputs))
  }

  private tell(outputs: ReadonlyArray<AdapterOutput>, from = 0): void {
    const { approvals, backlog, budget, onUnknown, recorder, redaction, root, write } = this.context
    for (let at = from; at < outputs.length; at++) {
      const output = outputs[at]
      if (output === undefined) return
      switch (output._tag) {
        case "Event":
          this.say(withPathsIn(root, output.event))
          break
        case "Approval":
          if (!this.mayAsk) return backlog.hold(outputs, at)
          this.ask(output.key, output.request)
          break
        case "ApprovalWithdrawn": {
          const approvalId = approvals.idOf(output.key)
          if (approvalId === undefined) break
          this.feed({ _tag: "Withdrawn", approvalId, reason: output.reason })
          approvals.remove(approvalId)
          break
        }
        case "Artifact":
          recorder.make(redaction.value(output.name), redaction.value(output.mediaType), output.content)
          break
        case "Reply":
          write(output.text)
          break
        case "Usage":
          this.feed({ _tag: "Used", usage: output.usage })
          this.spend(budget.spend(output.usage))
          break
        case "Outcome":
          this.feed({ _tag: "Concluded", outcome: output.outcome })
          break
        case "Unknown":
          onUnknown(redaction.value(output.what), redaction.value(output.raw))
          break
      }
    }
  }

  /** The changes of a run are reported once, at its end: what the Edge measures comes before what the runtime reported last. */
  private say(event: AdapterEvent): void {
    if (event.type === "run.diff.ready") this.context.reported.diff = event
    else this.feed({ _tag: "Said", event })
  }

  private diffOf(review: ReadonlyArray<Input>): ReadonlyArray<Input> {
    const { diff } = this.context.reported
    const isMeasured = review.some((input) => input._tag === "Said" && input.event.type === "run.diff.ready")
    return diff === undefined || isMeasured ? review : [{ _tag: "Said", event: diff }, ...review]
  }

  private ask(key: string, asked: ApprovalRequest): void {
    const { approvals, approvalMs, policy, redaction } = this.context
    const approvalId = mint<ApprovalId>("apr", this.nowMs)
    const { isWhole, refusal, request } = sized(asked)
    // What is not shown whole is neither edited nor remembered: it is judged as it is, each time.
    const redacted = redaction.value(request)
    const assessed = policy.assess(
      isWhole && redacted === request ? request : { ...request, scopes: ["once"], editable: false },
      redacted
    )
    this.asked += costOf(asked, assessed)
    approvals.add(approvalId, key, assessed)
    const expiresAt = iso(this.nowMs + approvalMs)
    this.feed({ _tag: "Asked", approvalId, request: assessed.shown, expiresAt })
    const judged = policy.judge(assessed)
    const verdict: Verdict =
      judged._tag === "Ask" && refusal !== undefined
        ? { _tag: "Deny", by: "policy:size", reason: refusal }
        : judged
    if (verdict._tag === "Ask") return
    const answer: ApprovalAnswer =
      verdict._tag === "Allow"
        ? { decision: "allow", scope: "once" }
        : { decision: "deny", scope: "once", reason: verdict.reason }
    this.feed({ _tag: "Decided", approvalId, answer, by: verdict.by, origin: "policy" })
  }

  private spend(news: ReadonlyArray<BudgetNews>): void {
    for (const said of news) {
      // A run that has told its outcome uses nothing more.
      if (this.context.recorder.state.verdict !== undefined) return
      if (said._tag === "Warn") {
        const messageId = `budget:${said.limit}`
        const text = said.sentence
        this.feed({
          _tag: "Said",
          event: draft("run.message.completed", { messageId, role: "system", channel: "text", text })
        })
      } else {
        this.feed({ _tag: "Overruled", error: said.error })
      }
    }
  }

  /**
   * The adapter may tell parts of stderr, and half a secret is not found. So the adapter sees no stderr where the run was ended by us or has
   * told its outcome, and else a redacted one.
   */
  private exited({ end, reply }: Extract<Message, { readonly _tag: "Exited" }>): void {
    const { recorder, redaction, reported } = this.context
    reported.isOver = recorder.state.verdict !== undefined
    Deferred.doneUnsafe(
      reply,
      Effect.succeed(reported.isOver ? { ...end, stderr: "" } : redaction.value(end))
    )
  }

  private undecodable(message: string): void {
    const error = { code: "runtime_unavailable", message, details: { reason: "decode_failed" } }
    this.feed({ _tag: "Overruled", error })
  }

  private unstartable(error: NodeJS.ErrnoException): void {
    const reason = error.code === "ENOENT" ? "command_missing" : "not_startable"
    const message = `The runtime's program could not be started (${error.code ?? "unknown error"}).`
    this.feed({ _tag: "Said", event: draft("runtime.unavailable", { reason, message }) })
    const failure = { code: "runtime_unavailable", message, details: { reason } }
    this.feed({ _tag: "Concluded", outcome: { _tag: "Failed", error: failure } })
  }

  private decide(message: Extract<Message, { readonly _tag: "Decide" }>): void {
    const { approvals, policy, recorder } = this.context
    const { approvalId, by, origin, reply } = message
    const waits = recorder.state.pending.includes(approvalId)
    const assessed = waits ? approvals.get(approvalId)?.assessed : undefined
    if (assessed !== undefined && message.answer.updatedInput !== undefined && !assessed.request.editable) {
      this.replies.push(Deferred.fail(reply, notEditable()))
      return
    }
    const answer = assessed === undefined ? message.answer : policy.narrowed(assessed, message.answer)
    const edit = assessed === undefined ? undefined : this.editOf(assessed.request, answer)
    const actions = recorder.apply({ _tag: "Decided", approvalId, answer, by, origin, edit })
    const refusal = actions.find((action) => action._tag === "Refuse")
    if (refusal === undefined) {
      if (assessed !== undefined)
        recorder.alongside(policy.remember(assessed, answer, { approvalId, by, nowMs: this.nowMs }))
      this.actions.push(...actions)
      this.replies.push(Deferred.succeed(reply, undefined))
    } else {
      const state = recorder.state.resolved.get(approvalId) ?? "cancelled"
      this.replies.push(Deferred.fail(reply, refusalOf(refusal.code, approvalId, state)))
    }
  }

  /** The edit as the log shows it: the runtime gets the allowed input whole, readers get it without secrets. */
  private editOf({ input }: ApprovalRequest, answer: ApprovalAnswer): InputEdit | undefined {
    const { decision, updatedInput } = answer
    if (decision !== "allow" || updatedInput === undefined) return undefined
    if (inputChanges(input, updatedInput).length === 0) return undefined
    const { redaction } = this.context
    return { requestedInput: redaction.value(input), allowedInput: redaction.value(updatedInput) }
  }

  private input({ text, reply }: Extract<Message, { readonly _tag: "Input" }>): void {
    const { protocol, recorder, write } = this.context
    const line = recorder.state.verdict === undefined ? protocol.input(text) : undefined
    if (line === undefined) {
      this.replies.push(Deferred.fail(reply, new Conflict({ message: "The run takes no further input." })))
      return
    }
    const messageId = mint<string>("msg", this.nowMs)
    this.feed({
      _tag: "Said",
      event: draft("run.message.completed", { messageId, role: "user", channel: "text", text })
    })
    this.replies.push(
      Effect.sync(() => write(line)),
      Deferred.succeed(reply, undefined)
    )
  }
}

/** Messages that keep the order in which the runtime printed. */
const isOutput = ({ _tag }: Message): boolean =>
  _tag === "Decoded" ||
  _tag === "Exited" ||
  _tag === "DecodeFailed" ||
  _tag === "DecodingEnded" ||
  _tag === "Swept"

/** Whether an output ends something that the run has begun. */
const closes = (output: AdapterOutput): boolean =>
  output._tag === "Event" && /^run\.(message\.completed|tool\.result)$/.test(output.event.type)

/** Its secrets are taken out already: of streamed text at its seams. */
const isTold = (input: Input): boolean => input._tag === "Said" && input.event.type === "run.message.delta"

/** A long command takes longer to read, and so does one that names many files. */
const costOf = ({ command = "" }: ApprovalRequest, { lookups }: Assessed): number =>
  1 + Math.floor(command.length / 2_048) + Math.floor(lookups / 512)

const iso = (unixMillis: number): string => new Date(unixMillis).toISOString()

/** The runtime would do what it asked for, whatever a person made of it. */
const notEditable = () => {
  const message = "This action is allowed or denied as it is."
  return new SchemaValidationFailed({ details: { issues: [{ path: "updatedInput", message }] } })
}

const refusalOf = (
  code: "approval_already_resolved" | "approval_expired" | "not_found",
  approvalId: ApprovalId,
  state: "approved" | "denied" | "expired" | "cancelled"
): DecideFailure => {
  switch (code) {
    case "approval_already_resolved":
      return new ApprovalAlreadyResolved({ details: { approvalId, state } })
    case "approval_expired":
      return new ApprovalExpired({ details: { approvalId, state } })
    case "not_found":
      return new NotFound()
  }
}
