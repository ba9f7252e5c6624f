/** A direct chat with the bot: messages, cards and clicks on a fake Feishu, through the Gateway. */
import { assert } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import type { Chats, Chatter } from "../joined/Chats.ts"
import type { AgentWork, FaultConversation, FaultSurface } from "./FaultProduct.ts"
import { promptOf } from "./ScriptedWork.ts"

const DECISION = "The agent wants to run a command"
const QUESTION = "The agent has a question"
const BACKGROUND = "Working in the background"
const OFFLINE = "The machine is offline"
const PATIENCE_MS = 60_000

class ChatConversation implements FaultConversation {
  private readonly chats: Chats
  private readonly user: Chatter
  /** Number of messages of the bot before the conversation, and before its last message. */
  private readonly start: number
  private sentAt: number
  /** Questions about an offline machine that were answered. */
  private readonly queuedCards = new Set<string>()

  static async begin(chats: Chats, user: Chatter, work: AgentWork): Promise<ChatConversation> {
    const conversation = new ChatConversation(chats, user)
    await chats.sendMessage(user, `/new ${promptOf(work)}`)
    return conversation
  }

  constructor(chats: Chats, user: Chatter) {
    this.chats = chats
    this.user = user
    this.start = chats.fake.botMessages(user.chat).length
    this.sentAt = this.start
  }

  async send(work: AgentWork): Promise<void> {
    this.sentAt = this.chats.fake.botMessages(this.user.chat).length
    await this.chats.sendMessage(this.user, `/run ${promptOf(work)}`)
  }

  answers(count: number): Promise<ReadonlyArray<string>> {
    return this.until(async () => {
      const texts = this.textsAfter(this.start).filter((text) => /^answer(ed)? /.test(text))
      return texts.length >= count ? texts : undefined
    }, `${count} answers`)
  }

  async approval(): Promise<void> {
    await this.pendingCard(DECISION, "Allow once")
  }

  allow(): Promise<void> {
    return this.click(DECISION, "Allow once", "Allowed by owner")
  }

  async question(): Promise<void> {
    await this.pendingCard(QUESTION, "Skip")
  }

  async choose(place: number): Promise<void> {
    const { buttons } = this.chats.fake.shown(await this.pendingCard(QUESTION, "Skip"))
    const option = buttons[place - 1]
    assert.isDefined(option)
    await this.click(QUESTION, option.label, "Answered by owner")
  }

  background(): Promise<void> {
    return this.titled(BACKGROUND)
  }

  queued(): Promise<void> {
    return this.titled("Waiting for its turn")
  }

  running(): Promise<void> {
    return this.titled("Running")
  }

  async cancel(): Promise<void> {
    await this.chats.sendMessage(this.user, "/stop")
  }

  cancelled(): Promise<void> {
    return this.titled("Cancelled")
  }

  failed(): Promise<void> {
    return this.titled("Failed")
  }

  async close(): Promise<void> {
    await this.until(
      async () => ((await this.chats.gateway.waiting()) === 0 ? true : undefined),
      "an empty inbox"
    )
  }

  private textsAfter(count: number): ReadonlyArray<string> {
    return this.chats.fake
      .botMessages(this.user.chat)
      .slice(count)
      .flatMap(({ content, type }) => (type === "text" ? [(content as { readonly text: string }).text] : []))
  }

  /** Ids of the cards after a message, the last one first. */
  private cardsAfter(count: number): ReadonlyArray<string> {
    return this.chats.fake
      .botMessages(this.user.chat)
      .slice(count)
      .flatMap(({ id, type }) => (type === "interactive" ? [id] : []))
      .toReversed()
  }

  private async titled(title: string): Promise<void> {
    await this.until(
      async () => this.cardsAfter(this.sentAt).find((id) => this.chats.fake.shown(id).title === title),
      `a card "${title}"`
    )
  }

  private pendingCard(title: string, button: string): Promise<string> {
    return this.until(
      async () =>
        this.cardsAfter(this.sentAt).find((id) => {
          const shown = this.chats.fake.shown(id)
          return shown.title === title && shown.buttons.some(({ label }) => label === button)
        }),
      `a card "${title}"`
    )
  }

  /** Clicks once, and again after the bot says that it could not act. */
  private async click(title: string, button: string, done: string): Promise<void> {
    const { fake } = this.chats
    const id = await this.pendingCard(title, button)
    const before = fake.botMessages(this.user.chat).length
    let clicks = 0
    await this.until(async () => {
      const { buttons, lines } = fake.shown(id)
      if (lines.includes(done)) return true
      const refusals = this.textsAfter(before).filter((text) => /offline|try again/i.test(text)).length
      if (clicks > refusals || !buttons.some(({ label }) => label === button)) return undefined
      clicks++
      await fake.clicks(this.user.account, id, button)
      return undefined
    }, done)
  }

  /** Looks again and again. Answers the question about an offline machine: the message waits for it. */
  private async until<A>(look: () => Promise<A | undefined>, what: string): Promise<A> {
    const { fake } = this.chats
    try {
      return await until(
        async () => {
          for (const id of this.cardsAfter(this.start)) {
            if (fake.shown(id).title !== OFFLINE || this.queuedCards.has(id)) continue
            this.queuedCards.add(id)
            await fake.clicks(this.user.account, id, "Send when it's back")
          }
          return look()
        },
        what,
        PATIENCE_MS
      )
    } catch (error) {
      const cards = this.cardsAfter(this.start).map((id) => fake.shown(id))
      const shown = JSON.stringify({ texts: this.textsAfter(this.start), cards })
      throw new Error(`${shown} ${this.chats.gateway.stderr.slice(-1_000)}`, { cause: error })
    }
  }
}

/** The account of the chat is linked to the owner of the project. */
export const chatSurface = (chats: Chats, user: Chatter): FaultSurface => ({
  begin: (work) => ChatConversation.begin(chats, user, work)
})
