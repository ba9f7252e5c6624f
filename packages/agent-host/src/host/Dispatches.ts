/**
 * Actions that a client sends, one after the other: what they do at the service, and the answer to each.
 *
 * Guarantees: every action is answered with its origin: as it was sent, or with a reason if it changes nothing. A refusal has a visible line. A decision that is
 * repeated after a reconnect is carried out once. Rules of the client, such as what it approves by itself, decide nothing. A client that has stopped a turn
 * allows nothing in it.
 */
import type { Failure } from "@corral/domain/errors/Failures"
import type { ApprovalId, InputRequestId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { decisionOf } from "../fold/Approvals.ts"
import { remember } from "../fold/CallFold.ts"
import { stoppedLine } from "../fold/Lines.ts"
import { answerOf } from "../fold/Questions.ts"
import { chosenMode, MODE } from "./SessionViews.ts"
import type { RootAction } from "../protocol/Actions.ts"
import { decodeAction, type Dispatch, type SentActionName, type SentFields } from "../protocol/Messages.ts"
import { AgentMessages } from "./AgentMessages.ts"
import { ChatChannel } from "./ChatChannel.ts"
import { DispatchAnswers, type Outcome } from "./DispatchAnswers.ts"
import type { HostClient } from "./HostClient.ts"
import { SessionChannel } from "./SessionChannel.ts"
import { NestedChatChannel } from "./NestedChatChannel.ts"

const MAX_DECISIONS = 10_000
/** Turns that the client has stopped. */
const MAX_STOPPED = 1_000
const STOPPED =
  "This window has stopped the turn and allows nothing in it. Allow it in the console or in another window, or deny it."
const NOT_RESTORED =
  "No checkpoint was restored: the files are unchanged, and the agent has the whole conversation. Take changes back with `corral undo`, or in the console."
/** Longest draft of a message that is kept for the client, in characters. */
const MAX_DRAFT = 262_144

const draftProblem = ({ action }: Dispatch): Outcome =>
  JSON.stringify(action).length > MAX_DRAFT ? "The draft is too long." : undefined

/** Answers are kept for the questions that are asked. */
const questionProblem = (chat: ChatChannel, { action }: Dispatch): Outcome => {
  const { questionId, requestId } = action
  const isOpen = chat
    .snapshot()
    .activeTurn?.responseParts.some(
      (part) =>
        part.kind === "inputRequest" &&
        part.request.id === requestId &&
        part.request.questions?.some(({ id }) => id === questionId) === true
    )
  return isOpen === true ? undefined : "There is no such question."
}

export class Dispatches {
  private readonly client: HostClient
  private readonly answers: DispatchAnswers
  private readonly messages: AgentMessages
  /** Decisions of the client by what they decide and how. */
  private readonly decided = new Map<string, Outcome>()
  /** Turns that the client has stopped, also those whose stop failed. */
  private readonly stopped = new Map<string, true>()

  constructor(client: HostClient) {
    this.client = client
    this.answers = new DispatchAnswers(client)
    this.messages = new AgentMessages(client, this.answers)
  }

  /** Carries out what the client has sent, as long as the client exists. */
  start(): void {
    const { client } = this
    client.run(
      Effect.forever(
        Effect.flatMap(client.nextDispatch, (dispatch) =>
          Effect.catchDefect(this.handle(dispatch), (defect) =>
            Effect.andThen(
              Effect.logError("failed to carry out an action of an editor", { defect }),
              Effect.sync(() => client.reject(dispatch, "The action failed."))
            )
          )
        )
      )
    )
  }

  /** Carries an action out and answers it. */
  private handle(dispatch: Dispatch): Effect.Effect<void> {
    const channel = this.client.channels.get(dispatch.channel)
    if (channel === undefined) return this.answers.answer(dispatch, "The channel is not subscribed.")
    if (channel instanceof ChatChannel) return this.chat(channel, dispatch)
    if (channel instanceof SessionChannel) return this.session(channel, dispatch)
    if (channel instanceof NestedChatChannel) return this.decideInNested(channel, dispatch)
    return channel === this.client
      ? this.root(dispatch)
      : this.answers.answer(dispatch, "It cannot be changed.")
  }

  private decoded<Name extends SentActionName>(
    dispatch: Dispatch,
    type: Name,
    handle: (fields: SentFields<Name>) => Effect.Effect<void>
  ): Effect.Effect<void> {
    const fields = decodeAction(type, dispatch.action)
    return fields === undefined ? this.answers.answer(dispatch, "Its fields are not valid.") : handle(fields)
  }

  private root(dispatch: Dispatch): Effect.Effect<void> {
    const { action } = dispatch
    if (action.type !== "root/configChanged") return this.answers.answer(dispatch, "It cannot be changed.")
    return this.decoded(dispatch, "root/configChanged", ({ config }) =>
      Effect.sync(() => {
        const { replace } = action
        const change: RootAction = {
          type: "root/configChanged",
          config,
          ...(replace === true ? { replace } : {})
        }
        if (!this.client.configure(change, this.answers.originOf(dispatch)))
          this.client.reject(dispatch, "The configuration is too large.")
      })
    )
  }

  private session(channel: SessionChannel, dispatch: Dispatch): Effect.Effect<void> {
    const isOwn = ({ clientId }: { readonly clientId: string }): Outcome =>
      clientId === this.client.clientId ? undefined : "A client speaks only for itself."
    switch (dispatch.action.type) {
      case "session/activeClientSet":
        return this.decoded(dispatch, "session/activeClientSet", ({ activeClient }) =>
          this.keep(dispatch, isOwn(activeClient))
        )
      case "session/activeClientRemoved":
        return this.decoded(dispatch, "session/activeClientRemoved", (fields) =>
          this.answers.answer(dispatch, isOwn(fields))
        )
      // What a person has read in an editor stays in the editor.
      case "session/isReadChanged":
        return this.answers.answer(dispatch, undefined)
      case "session/configChanged":
        return this.decoded(dispatch, "session/configChanged", ({ config }) =>
          this.chooseMode(channel, dispatch, config)
        )
      case "session/isArchivedChanged":
        return this.decoded(dispatch, "session/isArchivedChanged", ({ isArchived }) =>
          isArchived
            ? this.archive(channel, dispatch)
            : this.answers.answer(dispatch, "Reopen it in the console.")
        )
      default:
        return this.answers.answer(dispatch, "It cannot be changed here.")
    }
  }

  /** What the state of a channel keeps for this client alone, if there is no reason against it. */
  private keep(dispatch: Dispatch, reason: Outcome): Effect.Effect<void> {
    return reason === undefined ? this.answers.keep(dispatch) : this.answers.answer(dispatch, reason)
  }

  /** Only the choices that the host offers are kept and echoed. */
  private chooseMode(
    channel: SessionChannel,
    dispatch: Dispatch,
    values: Readonly<Record<string, unknown>>
  ): Effect.Effect<void> {
    const mode = chosenMode(channel.modes, values)
    if (mode === undefined) return this.answers.answer(dispatch, "This choice is not offered.")
    return Effect.sync(() =>
      this.client.publish(
        channel,
        { type: "session/configChanged", config: { [MODE]: mode } },
        this.answers.originOf(dispatch)
      )
    )
  }

  private archive({ sessionId }: SessionChannel, dispatch: Dispatch): Effect.Effect<void> {
    const key = `${this.client.clientId}:archive:${sessionId}`
    return Effect.flatMap(this.answers.outcomeOf(this.client.backend.archive(sessionId, key)), (reason) =>
      this.answers.answer(dispatch, reason)
    )
  }

  private decideInNested(nested: NestedChatChannel, dispatch: Dispatch): Effect.Effect<void> {
    const { chat } = nested
    return dispatch.action.type === "chat/toolCallConfirmed"
      ? this.decoded(dispatch, "chat/toolCallConfirmed", (fields) =>
          this.confirm(chat, dispatch, fields, nested.snapshot())
        )
      : this.answers.answer(dispatch, "Only the agent speaks to its sub-agents.")
  }

  private chat(chat: ChatChannel, dispatch: Dispatch): Effect.Effect<void> {
    switch (dispatch.action.type) {
      case "chat/turnStarted":
        return this.decoded(dispatch, "chat/turnStarted", (fields) =>
          this.messages.startTurn(chat, dispatch, fields)
        )
      case "chat/turnCancelled":
        return this.decoded(dispatch, "chat/turnCancelled", ({ turnId }) =>
          this.cancel(chat, dispatch, turnId)
        )
      case "chat/toolCallConfirmed":
        return this.decoded(dispatch, "chat/toolCallConfirmed", (fields) =>
          this.confirm(chat, dispatch, fields)
        )
      case "chat/inputCompleted":
        return this.decoded(dispatch, "chat/inputCompleted", (fields) =>
          this.complete(chat, dispatch, fields)
        )
      case "chat/pendingMessageSet":
        return this.decoded(dispatch, "chat/pendingMessageSet", (fields) =>
          this.messages.pend(chat, dispatch, fields)
        )
      // Of this client only: neither is sent anywhere.
      case "chat/draftChanged":
        return this.keep(dispatch, draftProblem(dispatch))
      case "chat/inputAnswerChanged":
        return this.keep(dispatch, draftProblem(dispatch) ?? questionProblem(chat, dispatch))
      // VS Code sends it with the message after a checkpoint or an edited prompt.
      case "chat/truncated":
        chat.addLineOfNextTurn(NOT_RESTORED)
        return this.answers.answer(dispatch, "What has happened cannot be removed.")
      case "chat/pendingMessageRemoved":
        return this.decoded(dispatch, "chat/pendingMessageRemoved", ({ id }) =>
          this.messages.withdraw(chat, dispatch, id)
        )
      default:
        return this.answers.answer(dispatch, "It cannot be changed here.")
    }
  }

  private cancel(chat: ChatChannel, dispatch: Dispatch, turnId: string): Effect.Effect<void> {
    const { fold, run } = chat.runs
    if (chat.snapshot().activeTurn?.id !== turnId || run === undefined)
      return this.answers.answer(dispatch, "The turn is not in progress.")
    remember(this.stopped, turnId, true, MAX_STOPPED)
    const titles = fold?.requests.titles ?? []
    const cancelled = Effect.tap(
      this.client.backend.cancel(run, `${this.client.clientId}:cancel:${turnId}`),
      () =>
        Effect.sync(() => {
          if (titles.length > 0) chat.addLineOfNextTurn(stoppedLine(titles))
        })
    )
    return Effect.flatMap(this.answers.outcomeOf(cancelled, chat), (reason) =>
      reason === undefined
        ? this.answers.answer(dispatch, undefined)
        : this.answers.refuse(chat, dispatch, `Not stopped. ${reason}`)
    )
  }

  /** Carries a decision out once: clients repeat it after a reconnect. */
  private once(
    chat: ChatChannel,
    key: string,
    decide: Effect.Effect<unknown, Failure>
  ): Effect.Effect<Outcome> {
    return Effect.suspend(() => {
      if (this.decided.has(key)) return Effect.succeed(this.decided.get(key))
      return Effect.tap(this.answers.outcomeOf(decide, chat), (outcome) =>
        Effect.sync(() => {
          // What failed can be decided again.
          if (outcome !== undefined) return
          const [oldest] = this.decided.size >= MAX_DECISIONS ? this.decided.keys() : []
          if (oldest !== undefined) this.decided.delete(oldest)
          this.decided.set(key, outcome)
        })
      )
    })
  }

  /** Why the client cannot approve at all. */
  private approvalRefusal(
    chat: ChatChannel,
    { confirmed, turnId }: SentFields<"chat/toolCallConfirmed">
  ): Outcome {
    if (confirmed !== undefined && confirmed !== "user-action")
      return "A rule of the editor approves nothing here."
    // The turn of the agent, also for a call of its sub-agent.
    const isStopped = [turnId, chat.snapshot().activeTurn?.id ?? turnId].some((id) => this.stopped.has(id))
    return isStopped ? STOPPED : undefined
  }

  private confirm(
    chat: ChatChannel,
    dispatch: Dispatch,
    fields: SentFields<"chat/toolCallConfirmed">,
    { activeTurn } = chat.snapshot()
  ): Effect.Effect<void> {
    const { toolCallId, turnId } = fields
    const { fold, run } = chat.runs
    const waiting = fold?.requests.approvals.get(toolCallId)
    // VS Code confirms what waits when it sees the end of the turn, without a person.
    if (waiting === undefined || run === undefined || activeTurn?.id !== turnId)
      return this.answers.answer(dispatch, "Nothing waits for this decision.")
    const { approvalId, request } = waiting
    const refusal = fields.approved ? this.approvalRefusal(chat, fields) : undefined
    // Without an option no person has allowed it: the line about the stop is enough.
    if (refusal === STOPPED && fields.selectedOptionId === undefined)
      return this.answers.answer(dispatch, refusal)
    if (refusal !== undefined) return this.answers.refuse(chat, dispatch, refusal)
    const decision = decisionOf(approvalId, request, fields)
    if (typeof decision === "string") return this.answers.refuse(chat, dispatch, decision)
    const key = `${this.client.clientId}:${approvalId}:${decision.decision}:${decision.scope ?? ""}`
    const body = { runId: run, approvalId: approvalId as ApprovalId, ...decision } // an id of an event
    return Effect.flatMap(this.once(chat, key, this.client.backend.decide(body, key)), (reason) => {
      if (reason !== undefined) return this.answers.refuse(chat, dispatch, reason)
      // Another approval of the call can wait by now: the events have shown this decision.
      const next = fold?.requests.approvals.get(toolCallId)
      const isOver = next !== undefined && next.approvalId !== approvalId
      return this.answers.answer(dispatch, isOver ? "It is decided, and another decision waits." : undefined)
    })
  }

  private complete(
    chat: ChatChannel,
    dispatch: Dispatch,
    { answers = {}, requestId, response }: SentFields<"chat/inputCompleted">
  ): Effect.Effect<void> {
    const { fold, run } = chat.runs
    const question = fold?.requests.questionOf(requestId)
    if (fold === undefined || question === undefined || run === undefined)
      return this.answers.answer(dispatch, "Nothing waits for this answer.")
    const { inputId, request } = question
    const refuse = (reason: string) =>
      Effect.tap(this.answers.refuse(chat, dispatch, reason), () =>
        Effect.sync(() => {
          for (const action of fold.requests.askAgain(inputId)) this.client.publish(chat, action)
        })
      )
    const answer = answerOf(request, fold.requests.place, response, answers)
    if (typeof answer === "string") return refuse(answer)
    const target = { runId: run, inputId: inputId as InputRequestId } // an id of an event
    const key = `${this.client.clientId}:${inputId}:${hashOf(JSON.stringify(answer))}`
    return Effect.flatMap(this.once(chat, key, this.client.backend.answer(target, answer, key)), (reason) =>
      reason === undefined ? this.answers.answer(dispatch, undefined) : refuse(reason)
    )
  }
}

/** FNV-1a with 32 bits: tells answers of one client to one question apart. */
const hashOf = (text: string): string => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(16)
}
