/**
 * Messages of one client to agents: a turn, further input, or what waits for the next turn.
 *
 * Guarantees: a message that is sent again is one message. A turn that the service refuses ends with the reason: a refusal alone would leave it open in the
 * client. A message that waits is answered before its turn begins: a client that hears of it afterwards shows it as waiting for good.
 */
import { Conflict, type Failure } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import type { ChatAction } from "../protocol/Actions.ts"
import { pathInWorkspace } from "../protocol/Addresses.ts"
import type { Dispatch, SentFields, SentMessage } from "../protocol/Messages.ts"
import type { BegunTurn, ChatChannel } from "./ChatChannel.ts"
import type { DispatchAnswers } from "./DispatchAnswers.ts"
import type { HostMessage } from "./HostBackend.ts"
import type { HostClient } from "./HostClient.ts"
import { SessionChannel } from "./SessionChannel.ts"
import { chosenModel, turnOf, waitingIdOf } from "./SessionViews.ts"

/** Attachments of a message as lines of its text: the agent reads files itself, by their paths in the workspace. */
const textOf = ({ placed, sessionId }: ChatChannel, { attachments = [], text }: SentMessage): string => {
  const lines = attachments.flatMap((attachment) => {
    const { label, modelRepresentation, type, uri } = attachment
    const path =
      type === "resource" && typeof uri === "string"
        ? pathInWorkspace(uri, placed.folder, sessionId)
        : undefined
    if (path !== undefined) return [`- ${path}`]
    if (type === "simple" && typeof modelRepresentation === "string") return [modelRepresentation]
    return [`- ${String(label)} (not sent: only files of the workspace can be attached)`]
  })
  return lines.length === 0 ? text : `${text}\n\nAttached:\n${lines.join("\n")}`
}

export class AgentMessages {
  private readonly client: HostClient
  private readonly answers: DispatchAnswers

  constructor(client: HostClient, answers: DispatchAnswers) {
    this.client = client
    this.answers = answers
  }

  /** A message of the client with the choices of its session. */
  private hostMessage(
    chat: ChatChannel,
    message: SentMessage,
    when: HostMessage["when"],
    key: string
  ): HostMessage {
    const { placed, sessionId } = chat
    const { session } = placed
    const agent = this.client.agents.find(({ id }) => id === chat.chat.agentId)
    const chosen = [...this.client.channels.values()].flatMap((channel) =>
      channel instanceof SessionChannel && channel.sessionId === sessionId ? (channel.mode ?? []) : []
    )[0]
    const mode = chosen ?? chat.chat.mode ?? agent?.modes[0] ?? "ask"
    const model = chosenModel(agent, message.model?.id)
    return {
      sessionId,
      workspace: session.workspace,
      agentId: chat.chat.agentId,
      ...(this.client.drafts.has(sessionId) ? {} : { chatId: chat.chat.id }),
      text: textOf(chat, message),
      mode,
      ...(model === undefined ? {} : { model }),
      when,
      key
    }
  }

  startTurn(
    chat: ChatChannel,
    dispatch: Dispatch,
    { message, queuedMessageId, startedAt, turnId }: SentFields<"chat/turnStarted">
  ): Effect.Effect<void> {
    const ids = [turnId, ...(queuedMessageId === undefined ? [] : [turnOf(queuedMessageId)])]
    if (ids.some((id) => chat.hasTurn(id)) || chat.isBegun(turnId))
      return this.answers.answer(dispatch, "The turn has begun already.")
    if (chat.snapshot().activeTurn !== undefined)
      return this.answers.refuse(
        chat,
        dispatch,
        "A prompt is in progress. Wait for its end, or stop it, and send the message again."
      )
    const origin = this.answers.originOf(dispatch)
    const turn = {
      turnId,
      text: textOf(chat, message),
      origin,
      ...(queuedMessageId === undefined ? {} : { queuedMessageId })
    }
    // The turn has the text of the message, which waits no longer.
    const unqueued =
      queuedMessageId === undefined ? Effect.void : Effect.ignore(this.takeBack(chat, queuedMessageId))
    const sent = this.client.backend.send(this.hostMessage(chat, message, "turn", turnId))
    const call = chat.beginTurn(turn, Effect.andThen(unqueued, sent))
    return Effect.flatMap(this.answers.outcomeOf(call, chat), (reason) => {
      const hasTurn = chat.hasTurn(turnId)
      if (!hasTurn && chat.snapshot().activeTurn !== undefined)
        return this.duringOther(chat, dispatch, turn, reason)
      return Effect.sync(() => {
        if (!hasTurn) {
          const time = Date.parse(startedAt ?? "")
          const at = Number.isFinite(time) ? new Date(time).toISOString() : this.client.timeText()
          const started = { ...dispatch.action, startedAt: at } as unknown as ChatAction // decoded as the start of a turn
          chat.startTurn(started, origin)
        }
        if (reason === undefined) {
          chat.runs.start()
          return this.client.touch(chat.sessionId)
        }
        // A turn that the client has begun ends only with one of these: a refusal alone would leave it open.
        const error = { errorType: "refused", message: reason }
        this.client.publish(chat, { type: "chat/error", turnId, duration: 0, part: { kind: "error", error } })
      })
    })
  }

  /** Another turn has begun meanwhile, which the start of this one would replace in the client: the message waits, or a line says why not. */
  private duringOther(
    chat: ChatChannel,
    dispatch: Dispatch,
    { text, turnId }: BegunTurn,
    reason: string | undefined
  ): Effect.Effect<void> {
    if (reason !== undefined) return this.answers.refuse(chat, dispatch, reason)
    return Effect.sync(() => {
      chat.addWaiting({ key: turnId, text })
      chat.runs.start()
      this.client.reject(dispatch, "Another prompt is in progress. The message waits for its end.")
    })
  }

  pend(
    chat: ChatChannel,
    dispatch: Dispatch,
    { id, kind, message }: SentFields<"chat/pendingMessageSet">
  ): Effect.Effect<void> {
    const turnId = turnOf(id)
    if (chat.hasTurn(turnId)) return this.answers.answer(dispatch, "The message has a turn already.")
    let isAnswered = false
    const accept = (): void => {
      if (!isAnswered) this.answers.accept(dispatch)
      isAnswered = true
    }
    const body = this.hostMessage(chat, message, "next", turnId)
    const turn = { turnId, text: body.text, origin: undefined, queuedMessageId: id, onStart: accept }
    const asTurn = Effect.as(chat.beginTurn(turn, this.client.backend.send(body)), false)
    const asInput = Effect.as(this.client.backend.send({ ...body, when: "now", key: `${id}:now` }), true)
    // The run has ended meanwhile, or its agent takes no input during a turn.
    const delivered =
      kind === "steering"
        ? Effect.catchIf(
            asInput,
            ({ code }) => code === "conflict",
            () => asTurn
          )
        : asTurn
    return Effect.matchEffect(delivered, {
      onFailure: (failure) =>
        Effect.flatMap(this.answers.reasonOf(failure, chat), (reason) =>
          this.refusePending(chat, dispatch, { id, message }, reason)
        ),
      onSuccess: (isInput) =>
        Effect.sync(() => {
          accept()
          // The agent has it: the stream shows it.
          if (isInput) this.client.publish(chat, { type: "chat/pendingMessageRemoved", kind, id })
          else chat.runs.start()
        })
    })
  }

  /** Takes a message back that waits for its turn. */
  withdraw(chat: ChatChannel, dispatch: Dispatch, id: string): Effect.Effect<void> {
    return Effect.flatMap(this.answers.outcomeOf(this.takeBack(chat, id), chat), (reason) =>
      this.answers.answer(dispatch, reason)
    )
  }

  private takeBack({ place }: ChatChannel, id: string): Effect.Effect<void, Failure> {
    const { backend } = this.client
    return Effect.flatMap(backend.waiting(place), (waiting) => {
      const found = waiting.find(({ key }) => waitingIdOf(key) === id)
      return found === undefined
        ? Effect.fail(new Conflict({ message: "The message does not wait." }))
        : backend.withdraw(place, found.key)
    })
  }

  /** A message that no turn can have is shown as a turn with the reason, unless another turn shows it. */
  private refusePending(
    chat: ChatChannel,
    dispatch: Dispatch,
    { id, message }: Pick<SentFields<"chat/pendingMessageSet">, "id" | "message">,
    reason: string
  ): Effect.Effect<void> {
    if (chat.snapshot().activeTurn !== undefined) return this.answers.refuse(chat, dispatch, reason)
    return Effect.tap(this.answers.answer(dispatch, reason), () =>
      Effect.sync(() => {
        const turnId = turnOf(id)
        const started = { type: "chat/turnStarted", turnId, startedAt: this.client.timeText(), message }
        this.client.publish(chat, { ...started, queuedMessageId: id } as unknown as ChatAction) // decoded as a message
        const error = { errorType: "refused", message: reason }
        this.client.publish(chat, { type: "chat/error", turnId, duration: 0, part: { kind: "error", error } })
      })
    )
  }
}
