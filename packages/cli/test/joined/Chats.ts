/**
 * People who write to a bot: a fake Feishu, and real processes behind it, a Gateway, a Hub and an Edge with the scripted runtime.
 *
 * Owns all of it; `remove` ends it.
 */
import { assert } from "@effect/vitest"
import { type FakeOptions, FakePlatform, SECRET } from "@corral/testing/gateway/FakePlatform"
import type { FakeMessage } from "@corral/testing/gateway/FakeMessages"
import { GatewayProcess } from "@corral/testing/gateway/GatewayProcess"
import { GATEWAY_TOKEN, gatewayEnv, Person } from "@corral/testing/hub/Chats"
import type { ProjectRole } from "@corral/domain/project/Project"
import { Joined, type JoinedOptions } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"

export interface ChatsOptions {
  readonly joined?: JoinedOptions
  readonly gatewayEnv?: Readonly<Record<string, string>>
  readonly fake?: FakeOptions
  /** PostgreSQL of the Gateway, as its superuser; the one that all tests share by default. */
  readonly gatewayServer?: string
  /** Database of the Gateway, to share with the Hubs. */
  readonly gatewayDatabaseUrl?: string
}

/** User with an account on the platform, and their direct chat with the bot. */
export interface Chatter {
  readonly account: string
  readonly chat: string
  readonly name: string
}

export class Chats {
  readonly joined: Joined
  readonly fake: FakePlatform
  readonly gateway: GatewayProcess

  static async open({
    fake: fakeOptions,
    gatewayEnv: env,
    gatewayServer: server,
    gatewayDatabaseUrl: databaseUrl,
    joined: joinedOptions
  }: ChatsOptions = {}) {
    const joined = await Joined.open({
      ...joinedOptions,
      hubEnv: { ...gatewayEnv, ...joinedOptions?.hubEnv }
    })
    const fake = await FakePlatform.open(fakeOptions)
    const gateway = new GatewayProcess({
      ...(server === undefined ? {} : { server }),
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
      env: {
        CORRAL_FEISHU_DOMAIN: fake.url,
        CORRAL_FEISHU_APP_SECRET: SECRET,
        CORRAL_HUB_URL: joined.front.url,
        CORRAL_GATEWAY_HUB_TOKEN: GATEWAY_TOKEN,
        ...env
      }
    })
    await gateway.start()
    fake.gateway = gateway.url
    return new Chats(joined, fake, gateway)
  }

  private constructor(joined: Joined, fake: FakePlatform, gateway: GatewayProcess) {
    this.joined = joined
    this.fake = fake
    this.gateway = gateway
  }

  /** Starts the Gateway again after it ended. */
  async restartGateway(): Promise<void> {
    await this.gateway.start()
    this.fake.gateway = this.gateway.url
  }

  /** User with an account that is not linked. */
  stranger(name: string): Chatter {
    const account = this.fake.person(`ou_${name}`, name)
    return { account, name, chat: this.fake.direct(account) }
  }

  /** User with a linked account. Links it by message, browser and number, as users do. "owner" has the project. */
  async linked(name: string, role?: ProjectRole): Promise<Chatter> {
    const chatter = this.stranger(name)
    if (role !== undefined) {
      const { userId } = await this.joined.hub.signedIn(name)
      const added = await this.joined.owner.ask("POST", `/client/projects/${this.joined.projectId}/members`, {
        body: { userId, role }
      })
      assert.strictEqual(added.status, 201, added.text)
    }
    await this.sendMessage(chatter, "bind")
    await this.confirm(chatter, name)
    return chatter
  }

  /** Answers the last link in the direct chat, as that person of the Hub. */
  async confirm(chatter: Chatter, name: string): Promise<void> {
    const code = await this.linkCode(chatter)
    const person = await Person.signedIn(this.joined.hub, name)
    await person.open(code)
    const confirmed = await person.confirm(code)
    assert.strictEqual(confirmed.status, 200, confirmed.text)
    await this.sendMessage(chatter, (confirmed.body as { readonly number: string }).number)
    await this.botText(chatter.chat, /^Linked: /)
  }

  /** Of the last link that the bot has sent there. */
  async linkCode({ chat }: Chatter): Promise<string> {
    const card = await this.card(chat, "Link this account")
    const url = this.fake.shown(card.id).buttons.find(({ url }) => url !== undefined)?.url ?? ""
    assert.isTrue(url.startsWith(`${this.joined.front.url}/link/`), url)
    return url.slice(url.lastIndexOf("/") + 1)
  }

  /** Writes in a chat, the direct one if none is named, and waits until the Gateway has it. */
  async sendMessage(
    { account, chat }: Chatter,
    text: string,
    {
      chat: where = chat,
      ...options
    }: Parameters<FakePlatform["sendMessage"]>[3] & { readonly chat?: string } = {}
  ): Promise<FakeMessage> {
    const sent = this.fake.sendMessage(account, where, text, options)
    assert.isTrue(await sent.taken)
    return this.fake.message(sent.id)
  }

  /** Clicks on a button, again while the click could not be stored in time. */
  async click(
    { account }: Chatter,
    messageId: string,
    which: string | number,
    options: Parameters<FakePlatform["clicks"]>[3] = {}
  ): Promise<void> {
    let sent = options
    const { status, toast } = await until(async () => {
      const clicked = await this.fake.clicks(account, messageId, which, sent)
      sent = { ...options, eventId: clicked.eventId }
      return clicked.status === undefined || clicked.toast?.type === "error" ? undefined : clicked
    }, "a stored click")
    assert.deepStrictEqual([status, toast], [200, undefined])
  }

  /** Waits for a text of the bot after a number of its messages in the chat. */
  async botText(chat: string, what: RegExp, after = 0): Promise<string> {
    const texts = () =>
      this.fake
        .botMessages(chat)
        .slice(after)
        .flatMap(({ content, type }) =>
          type === "text" ? [(content as { readonly text: string }).text] : []
        )
    try {
      return await this.fake.until(() => texts().find((text) => what.test(text)), 25_000)
    } catch {
      throw new Error(
        `${what} was not said, but ${JSON.stringify(texts())}. ${this.gateway.stderr.slice(-2_000)}`
      )
    }
  }

  /** Waits for the last card with that title. */
  card(chat: string, title: string, after = 0): Promise<FakeMessage> {
    return this.fake.until(
      () =>
        this.fake
          .botMessages(chat)
          .slice(after)
          .filter(({ id, type }) => type === "interactive" && this.fake.shown(id).title === title)
          .at(-1),
      30_000
    )
  }

  /** Waits until a card of that title has that line. */
  async cardWith(chat: string, title: string, line: RegExp): Promise<FakeMessage> {
    return this.fake.until(
      () =>
        this.fake
          .botMessages(chat)
          .filter(({ type }) => type === "interactive")
          .find(({ id }) => {
            const shown = this.fake.shown(id)
            return shown.title === title && shown.lines.some((text) => line.test(text))
          }),
      30_000
    )
  }

  /** Every event that has come is done. */
  settled(): Promise<void> {
    return this.gateway.settled(0)
  }

  async remove(): Promise<void> {
    await this.gateway.remove()
    await this.fake.close()
    await this.joined.remove()
  }
}
