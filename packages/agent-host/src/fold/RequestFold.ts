/**
 * What waits for a person in one run, as actions on a chat: approvals as confirmations of calls, and questions.
 *
 * Guarantees: who decided is written into the stream, because clients do not show who confirmed a call.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import { approvalResolution, inputResolution } from "@corral/domain/run/Resolution"
import type { EventOf, RunEvent } from "@corral/domain/run/RunEvent"
import type { ChatAction } from "../protocol/Actions.ts"
import { confirmation } from "./Approvals.ts"
import { AGAIN, type CallFold, type CallStart, remember } from "./CallFold.ts"
import { answerLine, decisionLine, type NameOf, plain } from "./Lines.ts"
import { completion, inputRequest, type PlanPlace } from "./Questions.ts"
import type { TurnWriter } from "./TurnWriter.ts"

type Actions = ReadonlyArray<ChatAction>
const none: Actions = []

interface WaitingApproval {
  readonly approvalId: string
  readonly request: ApprovalRequest
}

const startOf = (
  { action, input, parentCallId: parent, title, tool = action }: ApprovalRequest,
  at: string
): CallStart => ({ tool, title, input, parent, at })

interface RequestFoldOptions {
  readonly nameOf: NameOf
  readonly place: () => PlanPlace
}

/** A question that waits, by the id of its event. */
export interface OpenQuestion {
  readonly inputId: string
  readonly request: RequestedInput
}

/** Times that a question is asked: each one is a part of the turn. */
const MAX_ASKED = 100

export class RequestFold {
  /** Approvals that wait for a decision, by the id of their call in the chat. */
  readonly approvals = new Map<string, WaitingApproval>()
  private readonly writer: TurnWriter
  private readonly calls: CallFold
  private readonly options: RequestFoldOptions
  private readonly callOfApproval = new Map<string, string>()
  /** Questions that wait for an answer, by the id of their event. */
  private readonly inputs = new Map<string, RequestedInput>()
  /** Ids under which questions were asked again. */
  private readonly askedAs = new Map<string, string>()

  constructor(writer: TurnWriter, calls: CallFold, options: RequestFoldOptions) {
    this.writer = writer
    this.calls = calls
    this.options = options
  }

  get place(): PlanPlace {
    return this.options.place()
  }

  /** Titles of what waits. */
  get titles(): ReadonlyArray<string> {
    return [...this.approvals.values(), ...[...this.inputs.values()].map((request) => ({ request }))].map(
      ({ request }) => request.title
    )
  }

  /** The run has ended: nothing waits. */
  clear(): void {
    this.approvals.clear()
    this.inputs.clear()
  }

  approval(event: EventOf<"run.approval.requested">): Actions {
    const { approvalId, request } = event.payload
    const { callId: named } = request
    // A call whose other approval waits shows that one.
    const callId = named === undefined || this.approvals.has(this.calls.idOf(named)) ? approvalId : named
    remember(this.callOfApproval, approvalId, callId)
    return this.writer.inTurn(event, (turnId) => [
      ...this.calls.announce(turnId, callId, startOf(request, event.createdAt)),
      ...this.askFor(turnId, { approvalId, request })
    ])
  }

  /** The call that shows an approval. */
  private callIdOf({ approvalId }: WaitingApproval): string {
    return this.callOfApproval.get(approvalId) ?? approvalId
  }

  /** The call of an approval waits. */
  private askFor(turnId: string, waiting: WaitingApproval): Actions {
    const { approvalId, request } = waiting
    const callId = this.callIdOf(waiting)
    const toolCallId = this.calls.idOf(callId)
    remember(this.approvals, toolCallId, waiting)
    return this.calls.place(callId, turnId, (placedIn) => [
      confirmation(placedIn, toolCallId, approvalId, request)
    ])
  }

  /** What still waits when the turn ends is shown in another one: clients decide by themselves what they no longer show. */
  showAgain(event: RunEvent): Actions {
    const waiting = [...this.approvals.values()]
    const questions = [...this.inputs.keys()]
    if (waiting.length === 0 && questions.length === 0) return none
    this.approvals.clear()
    return this.writer.inTurn(event, (turnId) => [
      ...waiting.flatMap((each) => [
        ...this.calls.repeat(turnId, this.callIdOf(each), startOf(each.request, event.createdAt)),
        ...this.askFor(turnId, each)
      ]),
      ...questions.flatMap((inputId) => this.askAgain(inputId))
    ])
  }

  decision(event: EventOf<"run.approval.resolved">): Actions {
    const { approvalId, origin, state } = event.payload
    const callId = this.callOfApproval.get(approvalId)
    this.callOfApproval.delete(approvalId)
    const toolCallId = this.calls.idOf(callId ?? "")
    const waiting = this.approvals.get(toolCallId)
    if (callId === undefined || waiting?.approvalId !== approvalId) return none
    this.approvals.delete(toolCallId)
    const { request } = waiting
    const line = decisionLine(
      request.title,
      approvalResolution(event.payload, event.createdAt),
      this.options.nameOf
    )
    const isOnlyApproval = callId === approvalId
    const decided = (turnId: string): Actions => {
      const base = { type: "chat/toolCallConfirmed", turnId, toolCallId } as const
      const confirmed: ChatAction =
        state === "approved"
          ? { ...base, approved: true, confirmed: origin === "policy" ? "setting" : "user-action" }
          : {
              ...base,
              approved: false,
              reason: state === "denied" ? "denied" : "skipped",
              reasonMessage: line
            }
      const result = { success: true, pastTenseMessage: { markdown: plain(request.title) } }
      const complete = { type: "chat/toolCallComplete", turnId, toolCallId, result } as const
      return [confirmed, ...(isOnlyApproval && state === "approved" ? [complete] : [])]
    }
    return this.writer.inTurn(event, (turnId) => [
      ...this.calls.place(callId, turnId, decided),
      ...(origin === "policy" ? [] : this.writer.line(event, line))
    ])
  }

  /** The question that a client answers, if it waits under this id. */
  questionOf(requestId: string): OpenQuestion | undefined {
    const inputId = requestId.split(AGAIN, 1)[0] ?? requestId
    const request = this.inputs.get(inputId)
    return request === undefined || this.shownId(inputId) !== requestId ? undefined : { inputId, request }
  }

  /** Asks a question again under another id: a client that has sent anything for one no longer shows it. */
  askAgain(inputId: string): Actions {
    const request = this.inputs.get(inputId)
    const before = this.shownId(inputId)
    const times = Number(before.split(AGAIN)[1] ?? 1) + 1
    const id = `${inputId}${AGAIN}${times}`
    const state =
      request === undefined || times > MAX_ASKED ? undefined : inputRequest(id, request, this.options.place())
    if (state === undefined) return none
    remember(this.askedAs, inputId, id)
    return [
      { type: "chat/inputCompleted", requestId: before, response: "cancel" },
      { type: "chat/inputRequested", request: state }
    ]
  }

  private shownId(inputId: string): string {
    return this.askedAs.get(inputId) ?? inputId
  }

  question(event: EventOf<"run.input.requested">): Actions {
    const { inputId, request } = event.payload
    remember(this.inputs, inputId, request)
    const state = inputRequest(inputId, request, this.options.place())
    const plan =
      request.plan === undefined ? none : this.writer.text(event, `\n\n${request.plan}\n\n`, "plan")
    const where = `${plain(request.title)} – Answer in the console, in a chat, or with \`corral answer ${inputId}\`.`
    return [
      ...plan,
      ...(state === undefined
        ? this.writer.line(event, where)
        : this.writer.inTurn(event, () => [{ type: "chat/inputRequested", request: state }]))
    ]
  }

  answer(event: EventOf<"run.input.resolved">): Actions {
    const { inputId } = event.payload
    const request = this.inputs.get(inputId)
    this.inputs.delete(inputId)
    const resolution = inputResolution(event.payload, event.createdAt)
    const completed: ChatAction = {
      type: "chat/inputCompleted",
      requestId: this.shownId(inputId),
      ...completion(request, resolution)
    }
    this.askedAs.delete(inputId)
    return [completed, ...this.writer.line(event, answerLine(request, resolution, this.options.nameOf))]
  }
}
