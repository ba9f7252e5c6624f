/** State of one batch: the effects of its messages, collected until the batch's events are durable. */
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterEvent, AnyProtocol } from "@corral/domain/run/RuntimeAdapter"
import type { Effect } from "effect"
import type { OpenApprovals } from "../approval/OpenApprovals.ts"
import type { RunPolicy } from "../approval/RunPolicy.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import { REQUESTS_PER_BATCH, type Backlog, MAX_OPEN_APPROVALS } from "./Backlog.ts"
import type { BudgetMeter } from "./Budget.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { PauseRequest, RunMessage } from "./RunMessage.ts"
import type { RunProcess } from "./RunProcess.ts"
import type { RunAction, RunRecorder } from "./RunRecorder.ts"

/** Dependencies of a batch, the same for all batches of a run. */
export interface BatchContext {
  readonly recorder: RunRecorder
  readonly protocol: AnyProtocol
  readonly approvals: OpenApprovals
  readonly backlog: Backlog<RunMessage>
  /** Whether the process has exited. Then it needs no answers. */
  readonly isGone: () => boolean
  /** The process of the run, once it has started. */
  readonly process: () => RunProcess | undefined
  readonly budget: BudgetMeter
  readonly redaction: OutputRedaction
  /** The last diff that the runtime reported, for the end of the run; and whether the process ended after the run's outcome. */
  readonly reported: { diff: AdapterEvent | undefined; isOver: boolean }
  /** Writes to the runtime's stdin. */
  readonly write: (text: string) => void
  readonly policy: RunPolicy
  /** Real path of the folder that the run works in. */
  readonly root: string
  /** Milliseconds until an approval expires. */
  readonly approvalMs: number
  readonly onUnknown: (what: string, raw?: string) => void
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
  /** Weight of the outputs that were processed. */
  weight = 0
  /** The program to start after this batch. */
  command: SubprocessSpec | undefined
  /** The process is gone and its output is processed. */
  isProcessGone = false
  /** Whether a tool call ended. */
  hasToolResult = false
  /** Cost of the approval requests so far. */
  approvalCost = 0

  constructor(context: BatchContext, nowMs: number) {
    this.context = context
    this.nowMs = nowMs
    context.recorder.at(isoTime(nowMs))
  }

  /** Whether one more approval request may be processed in this batch. */
  get canRequestApproval(): boolean {
    return this.approvalCost < REQUESTS_PER_BATCH && this.hasRoom
  }

  /** Whether one more approval can be requested. A run that is ending, or whose process has exited, needs no approvals. */
  get hasRoom(): boolean {
    const { isGone, recorder } = this.context
    const { pending, verdict } = recorder.state
    return pending.length < MAX_OPEN_APPROVALS || verdict !== undefined || isGone()
  }

  /** Applies an input to the run machine, without secrets, and collects its actions. */
  apply(input: RunMachineInput): void {
    const { recorder, redaction } = this.context
    for (const action of recorder.apply(isRedacted(input) ? input : redaction.value(input)))
      this.actions.push(action)
  }
}

export const isoTime = (unixMillis: number): string => new Date(unixMillis).toISOString()

/** Whether the input is redacted already: streamed text is redacted across its pieces. */
const isRedacted = (input: RunMachineInput): boolean =>
  input._tag === "EventEmitted" && input.event.type === "run.message.delta"
