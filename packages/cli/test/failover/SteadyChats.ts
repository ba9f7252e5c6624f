/**
 * Messages to a bot while the database of its Gateway fails. The platform sends an event again until the Gateway accepts it. Finds afterwards whether
 * each accepted message ran once and was answered once.
 */
import { assert } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import { setTimeout as pause } from "node:timers/promises"
import type { Chats, Chatter } from "../joined/Chats.ts"

const PACE_MS = 2_000
/** The turns of an agent come one after another: some of them wait at the end. */
const ANSWERED_WITHIN_MS = 300_000

export class SteadyChats {
  readonly #chats: Chats
  readonly #user: Chatter
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

  get count(): number {
    return this.#taken.length
  }

  /** Deliveries that were not accepted. */
  get repeated(): number {
    return this.#chats.fake.delivery.all.filter(({ status }) => status !== 200).length
  }

  start(): void {
    this.#loop = this.#send()
  }

  /** Returns when the Gateway has accepted every message. */
  async stop(): Promise<void> {
    this.#isOver = true
    await this.#loop
    assert.notInclude(await Promise.all(this.#taken), false)
  }

  async check(): Promise<void> {
    await until(
      async () => (this.#answers().length >= this.count ? true : undefined),
      `${this.count} answers in the chat`,
      ANSWERED_WITHIN_MS
    )
    await until(
      async () => ((await this.#chats.gateway.waiting()) === 0 ? true : undefined),
      "an empty inbox of the Gateway"
    )
    assert.deepStrictEqual(
      this.#answers().toSorted((a, b) => a - b),
      Array.from({ length: this.count }, (_, at) => at)
    )
  }

  async #send(): Promise<void> {
    for (let at = 0; !this.#isOver; at++) {
      const { account, chat } = this.#user
      this.#taken.push(this.#chats.fake.sendMessage(account, chat, `/run /say answer ${at}`).taken)
      await pause(PACE_MS)
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
