/**
 * State of one run between its messages, and the turn that they make.
 *
 * Synchronous and without I/O. A turn collects what follows from its messages: events and rows to commit, then what may leave the run once
 * those are durable.
 */
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { InputAnswers } from "@corral/domain/input/InputRequest"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterEvent, AdapterOutput, AnyProtocol, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { Deferred, Effect } from "effect"
import { OpenApprovals } from "../../approval/PendingRequests.ts"
import type { RunPolicy } from "../../approval/RunPolicy.ts"
import { OpenInputs } from "../../input/SecretAnswers.ts"
import { type JournalCall, OutputPosition, RunJournal } from "../../journal/RunJournal.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"
import { BudgetMeter, type CallPrice, CostMeter } from "./BudgetMeter.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { PauseRequest, RunMessage } from "./RunMessage.ts"
import type { RunAction, RunRecorder } from "./RunRecorder.ts"

/** Maximum number of pending approvals and questions per run. Further ones wait until one is decided. */
export const MAX_OPEN_APPROVALS = 64
/** Maximum number of requests per turn, fewer if they are long. Turns of other runs come in between. */
export const REQUESTS_PER_TURN = 8

/** What a kernel is made of. */
export interface KernelOptions {
  readonly recorder: RunRecorder
  readonly protocol: AnyProtocol
  /** Specification of the adapter. With 1, the first outcome ends the run, and its questions are declined. */
  readonly specificationVersion: 1 | 2
  readonly policy: RunPolicy
  /** Real path of the folder that the run works in. */
  readonly root: string
  readonly redaction: OutputRedaction
  /** Milliseconds until an approval expires. */
  readonly approvalMs: number
  readonly priceOf: CallPrice
  /** Whether the run outlives its Edge, so that it keeps a journal. */
  readonly isHeld: boolean
  /** Gives the private key of a question to the holder, for the next Edge. */
  readonly holdKey: (inputId: InputRequestId, privateKey: string) => void
  /** Called for each output of an unknown kind. */
  readonly onUnknown: (what: string, raw?: string) => void
  /** What an earlier Edge has left of the run. */
  readonly adopted: AdoptedState | undefined
}

/** The part of an earlier Edge's run that its messages follow from. */
export interface AdoptedState {
  readonly position: OutputPosition
  /** Number of its next entry. */
  readonly journal: { readonly next: number }
  readonly reported: RunReported
  /** Outputs that the earlier Edge has applied. */
  readonly appliedOutputs: number
  readonly budget: BudgetMeter
  readonly cost: CostMeter
  /** Whether the earlier Edge was ending the process. */
  readonly isStopping: boolean
}

/** What the run remembers from one turn to the next. */
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

/** What the kernel needs to know of the program. */
export interface KernelProgram {
  /** Whether the process has exited. Then it needs no answers. */
  readonly isGone: boolean
  readonly canFreeze: boolean
}

/** What the messages of one turn lead to. Nothing of it leaves the run before the turn's events are durable. */
export class Turn {
  /** Actions of the run machine. */
  readonly actions: Array<RunAction> = []
  /** Replies to commands. */
  readonly replies: Array<() => void> = []
  /** Texts for the runtime's stdin, in order. */
  readonly writes: Array<string> = []
  /** Whether to freeze the processes for a pause. */
  freezes = false
  /** Weight of the outputs that were processed. */
  weight = 0
  /** Bytes of output that led to it. What comes later belongs to later turns. */
  bytes = 0
  /** The program to start. */
  command: SubprocessSpec | undefined
  /** The process is gone and its output is processed. */
  isProcessGone = false
  /** Whether a tool call ended. */
  hasToolResult = false
  /** Whether what the run has used is to be reported later. */
  reportsUsage = false
  /** Answers with sealed secrets, for the journal. */
  readonly storedAnswers = new Map<InputRequestId, InputAnswers>()
  /** Cost of the requests to people so far. */
  requestCost = 0

  succeed<A, E>(reply: Deferred.Deferred<A, E>, value: A): void {
    this.replies.push(() => Deferred.doneUnsafe(reply, Effect.succeed(value)))
  }

  fail<A, E>(reply: Deferred.Deferred<A, E>, error: E): void {
    this.replies.push(() => Deferred.doneUnsafe(reply, Effect.fail(error)))
  }
}

/**
 * Output that is not processed yet because of too many requests to people, then the messages after it.
 *
 * Guarantees: keeps the order in which the runtime printed, and loses nothing. While it is not empty, the run reads no further output.
 */
class Backlog {
  #outputs: ReadonlyArray<AdapterOutput> = []
  #at = 0
  readonly #messages: Array<RunMessage> = []

  get isWaiting(): boolean {
    return this.hasOutputs || this.#messages.length > 0
  }

  get hasOutputs(): boolean {
    return this.#at < this.#outputs.length
  }

  /** Stores the outputs from `at` on. Requires that no outputs are stored. */
  hold(outputs: ReadonlyArray<AdapterOutput>, at: number): void {
    this.#outputs = outputs
    this.#at = at
  }

  /** Appends a message. */
  defer(message: RunMessage): void {
    this.#messages.push(message)
  }

  /** Removes and returns the stored outputs, and the index of the first pending one. */
  takeOutputs(): { readonly outputs: ReadonlyArray<AdapterOutput>; readonly at: number } {
    const taken = { outputs: this.#outputs, at: this.#at }
    this.#outputs = []
    this.#at = 0
    return taken
  }

  takeMessage(): RunMessage | undefined {
    return this.#messages.shift()
  }
}

export class KernelState {
  readonly recorder: RunRecorder
  readonly protocol: AnyProtocol
  readonly policy: RunPolicy
  readonly root: string
  readonly redaction: OutputRedaction
  readonly approvalMs: number
  readonly holdKey: KernelOptions["holdKey"]
  readonly onUnknown: KernelOptions["onUnknown"]
  readonly isFirstVersion: boolean
  readonly approvals = new OpenApprovals()
  readonly inputs = new OpenInputs()
  readonly backlog = new Backlog()
  readonly position: OutputPosition
  /** Only of a run that outlives its Edge. */
  readonly journal: RunJournal | undefined
  /** Outputs that an earlier Edge has applied. */
  readonly appliedBefore: number
  readonly budget: BudgetMeter
  readonly cost: CostMeter
  /** Whether a report of what the run has used is due later. */
  isUsageDue = false
  readonly reported: RunReported
  /** Pauses that wait for the freeze in progress. */
  readonly pauses: Array<PauseRequest> = []
  /** The program of the run, once it has started. */
  program: KernelProgram | undefined
  /** Unix milliseconds of the turn. */
  nowMs = 0
  turn = new Turn()

  constructor(options: KernelOptions) {
    const { adopted, recorder } = options
    this.recorder = recorder
    this.protocol = options.protocol
    this.policy = options.policy
    this.root = options.root
    this.redaction = options.redaction
    this.approvalMs = options.approvalMs
    this.holdKey = options.holdKey
    this.onUnknown = options.onUnknown
    this.isFirstVersion = options.specificationVersion === 1
    this.position = adopted?.position ?? new OutputPosition()
    this.journal = options.isHeld
      ? new RunJournal(recorder.run.id, this.position, adopted?.journal.next)
      : undefined
    this.appliedBefore = adopted?.appliedOutputs ?? 0
    this.budget = adopted?.budget ?? new BudgetMeter(recorder.run.budget)
    this.cost = adopted?.cost ?? new CostMeter(options.priceOf, recorder.run.model)
    this.reported = adopted?.reported ?? { diff: undefined, isOver: undefined, isCancelled: false }
  }

  get isGone(): boolean {
    return this.program?.isGone === true
  }

  /** Whether one more request to people may be processed in this turn. */
  get canRequest(): boolean {
    return this.turn.requestCost < REQUESTS_PER_TURN && this.hasRoom
  }

  /** Whether one more request can wait for people. A run that is ending, or whose process has exited, makes none. */
  get hasRoom(): boolean {
    const { pending, pendingInputs, verdict } = this.recorder.state
    return pending.size + pendingInputs.size < MAX_OPEN_APPROVALS || verdict !== undefined || this.isGone
  }

  /** Applies an input to the run machine, without secrets, and collects its actions. */
  apply(input: RunMachineInput): void {
    this.act(this.recorder.apply(isRedacted(input) ? input : this.redaction.value(input)))
  }

  /** Collects actions. What they tell the runtime is encoded now, at a known position of the run, and written later. */
  act(actions: ReadonlyArray<RunAction>): void {
    for (const action of actions) {
      this.turn.actions.push(action)
      if (action._tag === "Answer") this.#encodeAnswer(action)
      else if (action._tag === "Respond") this.#encodeResponse(action)
      else if (action._tag === "Stop") this.#encodeCancel()
    }
  }

  /** Adds a call of the adapter to the journal, and its text to what is written. */
  callAdapter(call: JournalCall, text: string | undefined): void {
    if (this.journal !== undefined) this.recorder.addRows([this.journal.call(call)])
    if (text !== undefined) this.turn.writes.push(text)
  }

  #encodeAnswer({ answer, approvalId }: Extract<RunAction, { readonly _tag: "Answer" }>): void {
    const asker = this.approvals.get(approvalId)?.asker
    if (asker?._tag !== "Runtime") return
    const { key } = asker
    this.callAdapter({ _tag: "Answer", approvalId, key, answer }, this.protocol.answer(key, answer))
  }

  #encodeResponse({ inputId, response }: Extract<RunAction, { readonly _tag: "Respond" }>): void {
    const key = this.inputs.get(inputId)?.key
    if (key === undefined) return
    const answers = this.turn.storedAnswers.get(inputId)
    const stored = response._tag === "Answered" && answers !== undefined ? { ...response, answers } : response
    this.callAdapter(
      { _tag: "Respond", inputId, key, response: stored },
      this.protocol.respond?.(key, response)
    )
  }

  #encodeCancel(): void {
    if (this.reported.isCancelled || this.program === undefined) return
    const text = this.protocol.cancel()
    if (text === undefined) return
    this.reported.isCancelled = true
    this.callAdapter({ _tag: "Cancel" }, text)
  }
}

export const isoTime = (unixMillis: number): string => new Date(unixMillis).toISOString()

/** Whether the input is redacted already: streamed text is redacted across its pieces. */
const isRedacted = (input: RunMachineInput): boolean =>
  input._tag === "EventEmitted" && input.event.type === "run.message.delta"
