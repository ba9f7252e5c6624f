/** A session of the Agent Host Protocol with its chat, as the window of an editor has it. */
import { assert } from "@effect/vitest"
import { pathToFileURL } from "node:url"
import type { AgentHostClient, ReceivedAction } from "./AgentHostClient.ts"

type Fields = Readonly<Record<string, unknown>>

const textIn = (value: unknown): string => (typeof value === "string" ? value : "")
const fieldsIn = (value: unknown): Fields => Object(value) as Fields

/** A tool call that waits for a person. */
export interface WaitingCall {
  readonly turnId: string
  readonly toolCallId: string
  readonly title: string
  readonly input: string
  readonly options: ReadonlyArray<{ readonly id: string; readonly label: string; readonly kind: string }>
}

/** A question that waits for a person. */
export interface WaitingQuestions {
  readonly id: string
  readonly message: string
  readonly questions: ReadonlyArray<{
    readonly id: string
    readonly kind: string
    readonly message: string
    readonly options?: ReadonlyArray<{ readonly id: string; readonly label: string }>
  }>
}

export type AnswerValue =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "selected"; readonly value: string }
  | { readonly kind: "selected-many"; readonly value: ReadonlyArray<string> }

export class AgentHostSession {
  readonly client: AgentHostClient
  readonly resource: string
  readonly chat: string
  /** State of the session and of its chat at the subscription. */
  readonly state: Fields
  readonly chatState: Fields

  /** A session without a message. */
  static async create(
    client: AgentHostClient,
    provider: string,
    folder: string,
    config: Fields = {}
  ): Promise<AgentHostSession> {
    const resource = `${provider}:/${crypto.randomUUID()}`
    const params = { provider, workingDirectories: [pathToFileURL(folder).href], config }
    await client.call("createSession", params, resource)
    return AgentHostSession.open(client, resource)
  }

  static async open(client: AgentHostClient, resource: string): Promise<AgentHostSession> {
    const state = await client.subscribe(resource)
    const chat = textIn(state["defaultChat"])
    return new AgentHostSession(client, resource, { state, chat, chatState: await client.subscribe(chat) })
  }

  private constructor(
    client: AgentHostClient,
    resource: string,
    { chat, chatState, state }: Pick<AgentHostSession, "chat" | "chatState" | "state">
  ) {
    this.client = client
    this.resource = resource
    this.chat = chat
    this.state = state
    this.chatState = chatState
  }

  /** Starts a turn. Returns its id. */
  async prompt(text: string, more: Fields = {}): Promise<string> {
    const turnId = crypto.randomUUID()
    const message = { text, origin: { kind: "user" }, ...more }
    const startedAt = new Date().toISOString()
    await this.client.perform(this.chat, { type: "chat/turnStarted", turnId, startedAt, message })
    return turnId
  }

  /** Sends a message that waits for the end of the turn, and asserts that it is accepted. */
  async queue(id: string, text: string): Promise<void> {
    const message = { text, origin: { kind: "user" } }
    const action = { type: "chat/pendingMessageSet", kind: "queued", id, message }
    assert.isUndefined((await this.client.perform(this.chat, action)).rejectionReason)
  }

  /** The first tool call of a turn that waits, or the one after `after` others. */
  async confirmation(turnId: string, after = 0): Promise<WaitingCall> {
    const waits = ({ action, channel }: ReceivedAction) =>
      channel === this.chat &&
      action.type === "chat/toolCallReady" &&
      action["turnId"] === turnId &&
      action["confirmed"] === undefined
    const { action } = await this.client.action(
      (each) => waits(each) && this.client.actions.filter(waits).indexOf(each) >= after,
      "a tool call that waits"
    )
    const { confirmationTitle, options, toolCallId, toolInput } = action
    return {
      turnId,
      toolCallId: textIn(toolCallId),
      title: textIn(fieldsIn(confirmationTitle)["markdown"] ?? confirmationTitle),
      input: textIn(toolInput),
      options: (options ?? []) as WaitingCall["options"] // as the protocol has it
    }
  }

  /** Decides a tool call with one of its options. Resolves with the echo. */
  confirm({ options, toolCallId, turnId }: WaitingCall, kind: "approve" | "deny", label?: string) {
    const option = options.find((each) => each.kind === kind && (label === undefined || each.label === label))
    const decision =
      kind === "approve"
        ? { approved: true, confirmed: "user-action" }
        : { approved: false, reason: "denied", reasonMessage: "not now" }
    return this.client.perform(this.chat, {
      type: "chat/toolCallConfirmed",
      turnId,
      toolCallId,
      ...decision,
      ...(option === undefined ? {} : { selectedOptionId: option.id })
    })
  }

  /** The first questions that wait, or those after `after` others. */
  async questions(after = 0): Promise<WaitingQuestions> {
    const asks = ({ action, channel }: ReceivedAction) =>
      channel === this.chat && action.type === "chat/inputRequested"
    const { action } = await this.client.action(
      (each) => asks(each) && this.client.actions.filter(asks).indexOf(each) >= after,
      "a question"
    )
    const { id, message, questions } = fieldsIn(action["request"])
    return {
      id: textIn(id),
      message: textIn(message),
      questions: (questions ?? []) as WaitingQuestions["questions"] // as the protocol has it
    }
  }

  /** Answers questions. Resolves with the echo. */
  answer({ id }: WaitingQuestions, answers: Readonly<Record<string, AnswerValue>>) {
    const submitted = Object.entries(answers).map(([question, value]) => [
      question,
      { state: "submitted", value }
    ])
    return this.client.perform(this.chat, {
      type: "chat/inputCompleted",
      requestId: id,
      response: "accept",
      answers: Object.fromEntries(submitted)
    })
  }

  decline({ id }: WaitingQuestions) {
    return this.client.perform(this.chat, {
      type: "chat/inputCompleted",
      requestId: id,
      response: "decline"
    })
  }

  stop(turnId: string) {
    return this.client.perform(this.chat, { type: "chat/turnCancelled", turnId, duration: 0 })
  }

  /** The type of the action that ended a turn. */
  async ended(turnId: string): Promise<string> {
    const { action } = await this.client.action(
      ({ action, channel }) =>
        channel === this.chat &&
        ["chat/turnComplete", "chat/turnCancelled", "chat/error"].includes(action.type) &&
        action["turnId"] === turnId,
      "the end of the turn"
    )
    return action.type
  }

  /** Text of a turn that was received as actions. */
  text(turnId: string): string {
    return this.client.actions
      .filter(({ action, channel }) => channel === this.chat && action["turnId"] === turnId)
      .map(({ action }) => {
        if (action.type === "chat/delta") return textIn(action["content"])
        return action.type === "chat/responsePart" ? textIn(fieldsIn(action["part"])["content"]) : ""
      })
      .join("")
  }

  /** Waits until the text of a turn matches. */
  async hasText(turnId: string, text: string): Promise<void> {
    await this.client.action(() => this.text(turnId).includes(text), `the text ${text}`)
  }
}
