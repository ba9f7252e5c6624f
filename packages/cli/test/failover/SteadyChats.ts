/**
 * Messages to a bot while the database of its Gateway fails. The platform sends an event again, up to four times, until the Gateway accepts it. Finds
 * afterwards whether each accepted message ran and was answered once.
 */
import { assert } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import { setTimeout as pause } from "node:timers/promises"
import type { Chats, Chatter } from "../joined/Chats.ts"

const PACE_MS = 2_000
const OFFLINE = "The machine is offline"
/** The turns of an agent come one after another: some of them wait at the end. */
const ANSWERED_WITHIN_MS = 300_000

export class SteadyChats {
  /** Numbers of the messages that the Gateway accepted. */
  accepted: ReadonlyArray<number> = []
  readonly #chats: Chats
  readonly #user: Chatter
  /** Cards that were answered. */
  readonly #queuedCards = new Set<string>()
  readonly #taken: Array<Promise<boolean>> = []
  #isOver = false
  #loop: Promise<unknown> = Promise.resolve()

  static async open(chats: Chats): Promise<SteadyChats> {
    return new SteadyChats(chats, await chats.linked("owner"))
  }

  private constructor(chats: Chats, user: Chatter) {
    this.#chats = chats
    this.#user = user
  }

  /** Deliveries that were not accepted. */
  get repeated(): number {
    return this.#chats.fake.delivery.all.filter(({ status }) => status !== 200).length
  }

  start(): void {
    this.#loop = this.#send()
  }

  /** Returns when the platform sends no event again. */
  async stop(): Promise<void> {
    this.#isOver = true
    await this.#loop
    const taken = await Promise.all(this.#taken)
    this.accepted = taken.flatMap((isTaken, at) => (isTaken ? [at] : []))
    assert.isNotEmpty(this.accepted)
  }

  async check(): Promise<void> {
    const missing = () => {
      const answers = new Set(this.#answers())
      return this.accepted.filter((at) => !answers.has(at))
    }
    await until(
      async () => {
        await this.#sendWhenBack()
        return missing().length === 0 ? true : undefined
      },
      "an answer to each accepted message",
      ANSWERED_WITHIN_MS
    ).catch(() => undefined)
    assert.isEmpty(missing())
    await until(
      async () => ((await this.#chats.gateway.waiting()) === 0 ? true : undefined),
      "an empty inbox of the Gateway"
    )
    // Also of a message whose acceptance the platform did not see.
    const answers = this.#answers()
    assert.strictEqual(new Set(answers).size, answers.length)
  }

  async #send(): Promise<void> {
    for (let at = 0; !this.#isOver; at++) {
      const { account, chat } = this.#user
      this.#taken.push(this.#chats.fake.sendMessage(account, chat, `/run /say answer ${at}`).taken)
      await pause(PACE_MS)
    }
  }

  /** Answers the bot's question about a message that met an offline machine. */
  async #sendWhenBack(): Promise<void> {
    const { fake } = this.#chats
    for (const { id, type } of fake.botMessages(this.#user.chat)) {
      if (type !== "interactive" || this.#queuedCards.has(id) || fake.shown(id).title !== OFFLINE) continue
      this.#queuedCards.add(id)
      await fake.clicks(this.#user.account, id, "Send when it's back")
    }
  }

  /** Numbers of the answers, as often as the bot sent them. */
  #answers(): ReadonlyArray<number> {
    return this.#chats.fake.botMessages(this.#user.chat).flatMap(({ content, type }) => {
      const { text = "" } = type === "text" ? (content as { readonly text?: string }) : {}
      const number = /^answer (\d+)$/.exec(text)?.[1]
      return number === undefined ? [] : [Number(number)]
    })
  }
}
