/** State of one batch: what its messages lead to, collected until the batch's events are durable. */
import type { Input } from "@corral/domain/run/RunMachine"
import type { AdapterEvent, AnyProtocol } from "@corral/domain/run/RuntimeAdapter"
import type { Effect } from "effect"
import type { OpenApprovals } from "../approval/OpenApprovals.ts"
import type { RunPolicy } from "../approval/RunPolicy.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import { ASKS_PER_TURN, type Backlog, MAX_OPEN_APPROVALS } from "./Backlog.ts"
import type { BudgetMeter } from "./Budget.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { RunMessage } from "./RunMessage.ts"
import type { RunAction, RunRecorder } from "./RunRecorder.ts"

/** What a batch works on; the same for all batches of a run. */
export interface BatchContext {
  readonly recorder: RunRecorder
  readonly protocol: AnyProtocol
  readonly approvals: OpenApprovals
  readonly backlog: Backlog<RunMessage>
  /** Whether the process has exited: then nothing waits for an answer. */
  readonly isGone: () => boolean
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
  /** Weight of the outputs that were processed. */
  weight = 0
  /** The program to start now. */
  command: SubprocessSpec | undefined
  /** The process is gone and its output is processed. */
  isProcessGone = false
  /** Cost of the approval requests so far. */
  approvalCost = 0

  constructor(context: BatchContext, nowMs: number) {
    this.context = context
    this.nowMs = nowMs
    context.recorder.at(isoTime(nowMs))
  }

  /** Whether one more approval request may be processed in this batch. */
  get canRequestApproval(): boolean {
    return this.approvalCost < ASKS_PER_TURN && this.hasRoom
  }

  /** Whether one more approval may wait. A run that is ending, or whose process has exited, waits for none of them. */
  get hasRoom(): boolean {
    const { isGone, recorder } = this.context
    const { pending, verdict } = recorder.state
    return pending.length < MAX_OPEN_APPROVALS || verdict !== undefined || isGone()
  }

  /** Applies an input to the run machine, without secrets, and collects its actions. */
  apply(input: Input): void {
    const { recorder, redaction } = this.context
    for (const action of recorder.apply(isRedacted(input) ? input : redaction.value(input)))
      this.actions.push(action)
  }
}

export const isoTime = (unixMillis: number): string => new Date(unixMillis).toISOString()

/** Streamed text is redacted at its seams before. */
const isRedacted = (input: Input): boolean =>
  input._tag === "Said" && input.event.type === "run.message.delta"
