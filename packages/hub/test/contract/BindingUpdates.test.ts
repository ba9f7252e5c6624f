/** `/integrations/bindings/updates` over a real Hub. */
import type {
  BindingState,
  BindingUpdates,
  ChatAccount,
  ChatBinding,
  NextBindingUpdates
} from "@corral/domain/chat/ChatAccount"
import { confirmedLink, gatewayEnv, gatewayOf, newAccount } from "@corral/testing/hub/Chats"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { bindingUpdatesMigration } from "../../src/store/migrations/Release03.ts"

const PATH = "/integrations/bindings/updates"

describe(PATH, () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** A bot that no other test uses. */
  const newBot = (name: string) => {
    const bot = { platform: "feishu", app: `cli_${name}` }
    let delivered: NextBindingUpdates["delivered"] = []
    const ask = () => gatewayOf(hub).ask<BindingUpdates>("POST", PATH, { body: { ...bot, delivered } })
    return {
      account: (): ChatAccount => ({ ...newAccount(), ...bot }),
      ask,
      /** The next updates. They are noted by the request after it. */
      next: async () => {
        const { body, text } = await ask()
        delivered = body.items.map(({ bindingId, event }) => ({ bindingId, state: event.payload.state }))
        assert.notMatch(text, /usr_/)
        return body.items.map(({ event }): readonly [string, BindingState] => [
          event.payload.account.account,
          event.payload.state
        ])
      }
    }
  }
  const link = async (person: HubClient, account: ChatAccount) => {
    const number = await confirmedLink(hub, account, person.userId)
    const { body } = await gatewayOf(hub).ask<ChatBinding>("POST", "/integrations/bindings", {
      body: { ...account, number }
    })
    return body.id
  }
  const signedIn = (person: HubClient, age: string) =>
    hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) =>
          sql`UPDATE users SET signed_in_at = now() - ${age}::interval WHERE id = ${person.userId ?? ""}`
      )
    )

  it("has each state of a binding until it is noted", async () => {
    const bot = newBot("states")
    const ada = await hub.signedIn("ada")
    const account = bot.account()
    assert.deepStrictEqual(await bot.next(), [])
    const id = await link(ada, account)
    const first = await bot.ask()
    const [item] = first.body.items
    assert.deepInclude(item?.event, {
      type: "identity.binding.updated",
      payload: { v: 1, account, state: "linked" }
    })
    // Not noted: the same update, with the same id and key.
    assert.deepStrictEqual((await bot.ask()).body, first.body)
    assert.deepStrictEqual(await bot.next(), [[account.account, "linked"]])
    assert.deepStrictEqual(await bot.next(), [])
    await signedIn(ada, "91 days")
    assert.deepStrictEqual(await bot.next(), [[account.account, "suspended"]])
    await signedIn(ada, "1 day")
    assert.deepStrictEqual(await bot.next(), [[account.account, "linked"]])
    assert.strictEqual((await ada.ask("DELETE", `/client/chat-bindings/${id}`)).status, 204)
    assert.deepStrictEqual(await bot.next(), [[account.account, "unlinked"]])
    assert.deepStrictEqual(await bot.next(), [])
  })

  it("has the last of several changes, and the order of two bindings of an account", async () => {
    const bot = newBot("order")
    const [bob, eve] = [await hub.signedIn("bob"), await hub.signedIn("eve")]
    const account = bot.account()
    await link(bob, account)
    await gatewayOf(hub).ask("POST", "/integrations/bindings/unbind", { body: account })
    await link(eve, account)
    assert.deepStrictEqual(await bot.next(), [
      [account.account, "unlinked"],
      [account.account, "linked"]
    ])
    assert.deepStrictEqual(await bot.next(), [])
  })

  it("goes to the Gateway of the bot only, and notes nothing of another bot", async () => {
    const [bot, other] = [newBot("one"), newBot("two")]
    const ida = await hub.signedIn("ida")
    const account = bot.account()
    const bindingId = await link(ida, account)
    assert.deepStrictEqual(await other.next(), [])
    await gatewayOf(hub).ask("POST", PATH, {
      body: { platform: "feishu", app: "cli_two", delivered: [{ bindingId, state: "linked" }] }
    })
    assert.deepStrictEqual(await bot.next(), [[account.account, "linked"]])
    const refused = await ida.ask("POST", PATH, { body: { platform: "feishu", app: "x", delivered: [] } })
    assert.strictEqual(codeOf(refused), "unauthorized")
  })

  it("has no update for the states that an upgrade finds", async () => {
    const bot = newBot("upgrade")
    const [uma, vic, wes] = [await hub.signedIn("uma"), await hub.signedIn("vic"), await hub.signedIn("wes")]
    const suspended = bot.account()
    await link(uma, suspended)
    await link(vic, bot.account())
    const ended = await link(wes, bot.account())
    await wes.ask("DELETE", `/client/chat-bindings/${ended}`)
    await signedIn(uma, "91 days")
    const [, note = ""] = bindingUpdatesMigration
    await hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(note)))
    assert.deepStrictEqual(await bot.next(), [])
    await signedIn(uma, "1 day")
    assert.deepStrictEqual(await bot.next(), [[suspended.account, "linked"]])
  })
})
