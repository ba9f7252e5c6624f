/** State of one batch: the effects of its messages, collected until the batch's events are durable. */
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { InputAnswers } from "@corral/domain/input/InputRequest"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterEvent, AnyProtocol, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import type { Effect } from "effect"
import type { OpenApprovals } from "../approval/PendingRequests.ts"
import type { RunPolicy } from "../approval/RunPolicy.ts"
import type { OpenInputs } from "../input/OpenInputs.ts"
import type { JournalCall, RunJournal } from "../journal/RunJournal.ts"
import type { OutputPosition } from "../journal/OutputPosition.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import { REQUESTS_PER_BATCH, type Backlog, MAX_OPEN_APPROVALS } from "./Backlog.ts"
import type { BudgetMeter } from "./Budget.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { PauseRequest, RunMessage } from "./RunMessage.ts"
import type { RunProcess } from "./RunProcess.ts"
import type { RunAction, RunRecorder } from "./RunRecorder.ts"

/** What a batch commits. */
export type BatchCommit = Exclude<ReturnType<RunRecorder["take"]>, undefined>

/** Dependencies of a batch, the same for all batches of a run. */
export interface BatchContext {
  readonly recorder: RunRecorder
  readonly protocol: AnyProtocol
  /** An adapter of specification version 1: its first outcome ends the run, and its questions are declined. */
  readonly isFirstVersion: boolean
  readonly approvals: OpenApprovals
  readonly inputs: OpenInputs
  /** Gives the private key of a question to the holder, for the next Edge. */
  readonly holdKey: (inputId: InputRequestId, privateKey: string) => void
  readonly backlog: Backlog<RunMessage>
  /** Whether the process has exited. Then it needs no answers. */
  readonly isGone: () => boolean
  /** The process of the run, once it has started. */
  readonly process: () => RunProcess | undefined
  readonly position: OutputPosition
  /** Only of a run that outlives its Edge. */
  readonly journal: RunJournal | undefined
  /** Outputs that an earlier Edge has applied. */
  readonly appliedBefore: number
  readonly budget: BudgetMeter
  readonly redaction: OutputRedaction
  /** What the run remembers from one batch to the next. */
  readonly reported: RunReported
  readonly policy: RunPolicy
  /** Real path of the folder that the run works in. */
  readonly root: string
  /** Milliseconds until an approval expires. */
  readonly approvalMs: number
  readonly onUnknown: (what: string, raw?: string) => void
}

export interface RunReported {
  /** The last diff that the runtime reported, for the end of the run. */
  diff: AdapterEvent | undefined
  /** Whether the process ended after the run's outcome; `undefined` before its end. */
  isOver: boolean | undefined
  /** How the process ended before the run's outcome, without secrets. */
  end?: ProcessEnd | undefined
  /** Whether the runtime was asked to cancel, if its protocol can. */
  isCancelled: boolean
  /** Whether the program could not be started. */
  hasNoProgram?: true
}

export class BatchState {
  readonly context: BatchContext
  /** Unix milliseconds. */
  readonly nowMs: number
  /** Actions of the run machine. */
  readonly actions: Array<RunAction> = []
  /** Replies to commands. */
  readonly replies: Array<Effect.Effect<unknown>> = []
  /** Pauses to begin after this batch. */
  readonly pauses: Array<PauseRequest> = []
  /** Texts for the runtime's stdin, in order. */
  readonly writes: Array<string> = []
  /** Weight of the outputs that were processed. */
  weight = 0
  /** The program to start after this batch. */
  command: SubprocessSpec | undefined
  /** The process is gone and its output is processed. */
  isProcessGone = false
  /** Whether a tool call ended. */
  hasToolResult = false
  /** What is being committed. From then on, the batch takes no further messages. */
  commit: BatchCommit | undefined
  /** Answers with sealed secrets, for the journal. */
  readonly storedAnswers = new Map<InputRequestId, InputAnswers>()
  /** Cost of the requests to people so far. */
  approvalCost = 0

  constructor(context: BatchContext, nowMs: number) {
    this.context = context
    this.nowMs = nowMs
    context.recorder.at(isoTime(nowMs))
  }

  /** Whether one more request to people may be processed in this batch. */
  get canRequestApproval(): boolean {
    return this.approvalCost < REQUESTS_PER_BATCH && this.hasRoom
  }

  /** Whether one more request can wait for people. A run that is ending, or whose process has exited, makes none. */
  get hasRoom(): boolean {
    const { isGone, recorder } = this.context
    const { pending, pendingInputs, verdict } = recorder.state
    return pending.size + pendingInputs.size < MAX_OPEN_APPROVALS || verdict !== undefined || isGone()
  }

  /** Applies an input to the run machine, without secrets, and collects its actions. */
  apply(input: RunMachineInput): void {
    const { recorder, redaction } = this.context
    this.act(recorder.apply(isRedacted(input) ? input : redaction.value(input)))
  }

  /** Collects actions. What they tell the runtime is encoded now, at a known position of the run, and written later. */
  act(actions: ReadonlyArray<RunAction>): void {
    for (const action of actions) {
      this.actions.push(action)
      if (action._tag === "Answer") this.#encodeAnswer(action)
      else if (action._tag === "Respond") this.#encodeResponse(action)
      else if (action._tag === "Stop") this.#encodeCancel()
    }
  }

  /** Adds a call of the adapter to the journal, and its text to what is written. */
  callAdapter(call: JournalCall, text: string | undefined): void {
    const { journal, recorder } = this.context
    if (journal !== undefined) recorder.addRows([journal.call(call)])
    if (text !== undefined) this.writes.push(text)
  }

  #encodeAnswer({ answer, approvalId }: Extract<RunAction, { readonly _tag: "Answer" }>): void {
    const { approvals, protocol } = this.context
    const asker = approvals.get(approvalId)?.asker
    if (asker?._tag !== "Runtime") return
    const { key } = asker
    this.callAdapter({ _tag: "Answer", approvalId, key, answer }, protocol.answer(key, answer))
  }

  #encodeResponse({ inputId, response }: Extract<RunAction, { readonly _tag: "Respond" }>): void {
    const { inputs, protocol } = this.context
    const key = inputs.get(inputId)?.key
    if (key === undefined) return
    const answers = this.storedAnswers.get(inputId)
    const stored = response._tag === "Answered" && answers !== undefined ? { ...response, answers } : response
    this.callAdapter({ _tag: "Respond", inputId, key, response: stored }, protocol.respond?.(key, response))
  }

  #encodeCancel(): void {
    const { process, protocol, reported } = this.context
    if (reported.isCancelled || process() === undefined) return
    const text = protocol.cancel()
    if (text === undefined) return
    reported.isCancelled = true
    this.callAdapter({ _tag: "Cancel" }, text)
  }
}

export const isoTime = (unixMillis: number): string => new Date(unixMillis).toISOString()

/** Whether the input is redacted already: streamed text is redacted across its pieces. */
const isRedacted = (input: RunMachineInput): boolean =>
  input._tag === "EventEmitted" && input.event.type === "run.message.delta"
