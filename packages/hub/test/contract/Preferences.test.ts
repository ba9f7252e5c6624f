/** `/client/preferences` over a real Hub. */
import type { IntegrationReceipt } from "@corral/domain/chat/ChatAccount"
import type { IssuedApiKey } from "@corral/domain/identity/ApiKey"
import {
  MAX_PREFERENCES_BYTES,
  type Preferences,
  type UpdatePreferences
} from "@corral/domain/preference/Preferences"
import {
  actingAs,
  confirmedLink,
  gatewayEnv,
  gatewayOf,
  messageReceived,
  newAccount
} from "@corral/testing/hub/Chats"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { newId } from "@corral/testing/hub/Mirror"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ChangeFollower } from "../harness/ChangeFollower.ts"

const PATH = "/client/preferences"

describe(PATH, () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const change = (client: HubClient, body: UpdatePreferences) =>
    client.ask<Preferences>("PATCH", PATH, { body })
  const read = async (client: HubClient) => (await client.ask<Preferences>("GET", PATH)).body

  it("begins empty, merges fields and removes those with null", async () => {
    const ada = await hub.signedIn("ada")
    assert.deepStrictEqual(await read(ada), { version: 0 })
    assert.deepStrictEqual((await change(ada, { theme: "dark", singleKeys: false })).body, {
      version: 1,
      theme: "dark",
      singleKeys: false
    })
    const quietHours = { from: "22:00", to: "07:00", timeZone: "Asia/Shanghai" }
    await change(ada, { version: 1, quietHours, singleKeys: null })
    assert.deepStrictEqual(await read(ada), { version: 2, theme: "dark", quietHours })
    // Nothing changes.
    assert.strictEqual((await change(ada, { theme: "dark", language: null })).body.version, 2)
  })

  it("returns 409 with the document for another version", async () => {
    const bob = await hub.signedIn("bob")
    const { body: first } = await change(bob, { diffLayout: "split" })
    for (const version of [0, 2]) {
      const refused = await change(bob, { version, diffLayout: "unified" })
      assert.deepStrictEqual(
        [refused.status, codeOf(refused), (refused.body as { details?: unknown }).details],
        [409, "conflict", { preferences: first }]
      )
    }
    assert.deepStrictEqual(await read(bob), first)
  })

  it.each<unknown>([
    { themes: "dark" },
    { theme: "blue" },
    { notifications: { browser: true, later: true } },
    { quietHours: { from: "7", to: "8", timeZone: "UTC" } },
    { quietHours: { from: "07:00", to: "08:00", timeZone: "Mars" } },
    { version: -1, theme: "dark" },
    { lastChoices: [{ projectId: "prj_1" }] },
    { lastChoices: [{ workspace: "a\0" }] },
    []
  ])("returns 422 for %j and changes nothing", async (body) => {
    const eve = await hub.signedIn("eve")
    const refused = await eve.ask("PATCH", PATH, { body })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
    assert.deepStrictEqual(await read(eve), { version: 0 })
  })

  it("refuses a document that is too large, by its bytes", async () => {
    const ida = await hub.signedIn("ida")
    const choiceOf = (workspace: string) => ({
      projectId: newId<never>("prj"),
      workspace: workspace as never
    })
    // Three bytes each.
    const large = Array.from({ length: 10 }, () => choiceOf("字".repeat(1_000)))
    const refused = await change(ida, { lastChoices: large })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [413, "payload_too_large"])
    assert.deepInclude((refused.body as { details?: unknown }).details, { maxBytes: MAX_PREFERENCES_BYTES })
    assert.strictEqual((await change(ida, { lastChoices: large.slice(0, 4) })).status, 200)
  })

  it("is closed to API keys, chat accounts and other users", async () => {
    const [ada, max] = [await hub.signedIn("ada2"), await hub.signedIn("max")]
    await change(max, { language: "zh" })
    assert.deepStrictEqual(await read(ada), { version: 0 })
    const browser = await hub.atBrowser("max")
    const issued = await browser.ask<IssuedApiKey>("POST", "/client/auth/keys", {
      body: { name: "ci", scopes: ["read", "write"] }
    })
    const key = new HubClient(hub.url, issued.body.token)
    for (const method of ["GET", "PATCH"])
      assert.strictEqual(
        (await key.ask(method, PATH, method === "GET" ? {} : { body: { theme: "dark" } })).status,
        403
      )
    const account = newAccount()
    const number = await confirmedLink(hub, account, max.userId)
    const gateway = gatewayOf(hub)
    await gateway.ask("POST", "/integrations/bindings", { body: { ...account, number } })
    const asMax = actingAs(account)
    assert.strictEqual((await gateway.ask("GET", PATH, asMax)).status, 403)
    assert.strictEqual((await gateway.ask("PATCH", PATH, { ...asMax, body: { theme: "dark" } })).status, 403)
    // Its events say in which language to answer.
    const receive = () =>
      gateway.ask<IntegrationReceipt>("POST", "/integrations/events", { body: messageReceived(account) })
    assert.strictEqual((await receive()).body.user?.language, "zh")
    await change(max, { language: null })
    assert.notProperty((await receive()).body.user, "language")
  })

  it("loses no change of two writers: each is stored, or refused with the document", async () => {
    const uma = await hub.signedIn("uma")
    const projects = Array.from({ length: 12 }, () => newId<never>("prj"))
    /** Adds a choice to what is stored, again after a refusal. Counts the refusals. */
    const add = async (projectId: never): Promise<number> => {
      let stored = await read(uma)
      for (let refusals = 0; ; refusals++) {
        const lastChoices = [{ projectId }, ...(stored.lastChoices ?? [])]
        const answer = await change(uma, { version: stored.version, lastChoices })
        if (answer.status === 200) return refusals
        assert.strictEqual(codeOf(answer), "conflict")
        stored = (answer.body as unknown as { details: { preferences: Preferences } }).details.preferences
      }
    }
    const halves = [projects.slice(0, 6), projects.slice(6)]
    const writers = halves.map(async (half) => {
      for (const projectId of half) await add(projectId)
    })
    // Changes of single fields need no version.
    const switches = Array.from({ length: 6 }, (_, n) => change(uma, { singleKeys: n % 2 === 0 }))
    await Promise.all([...writers, ...switches])
    const stored = await read(uma)
    assert.sameMembers(stored.lastChoices?.map(({ projectId }) => projectId) ?? [], projects)
    assert.isBoolean(stored.singleKeys)
  })

  it("notifies the other browsers of the user, and no other user", async () => {
    const [kim, lea] = [await hub.signedIn("kim"), await hub.signedIn("lea")]
    const [ofKim, ofLea] = [await ChangeFollower.open(kim), await ChangeFollower.open(lea)]
    await change(kim, { theme: "dark" })
    await ofKim.hint({ kind: "preferences" })
    await change(lea, { theme: "dark" })
    await ofLea.hint({ kind: "preferences" })
    assert.deepStrictEqual<ReadonlyArray<unknown>>(ofKim.hints, [{ kind: "preferences", id: kim.userId }])
    assert.deepStrictEqual<ReadonlyArray<unknown>>(ofLea.hints, [{ kind: "preferences", id: lea.userId }])
    await Promise.all([ofKim.close(), ofLea.close()])
  })

  it("keeps fields of a later Hub on the same database", async () => {
    const zoe = await hub.signedIn("zoe")
    const stored = await hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const later = JSON.stringify({ theme: "sepia", density: "compact" })
        yield* sql`INSERT INTO preferences (user_id, version, document) VALUES (${zoe.userId ?? ""}, 4, ${later})`
        yield* Effect.promise(() => change(zoe, { version: 4, language: "en" }))
        return yield* sql<{ readonly document: string }>`
          SELECT document FROM preferences WHERE user_id = ${zoe.userId ?? ""}`
      })
    )
    assert.deepStrictEqual(JSON.parse(stored[0]?.document ?? ""), {
      theme: "sepia",
      density: "compact",
      language: "en"
    })
    assert.deepStrictEqual(await read(zoe), { version: 5, language: "en" })
  })
})
