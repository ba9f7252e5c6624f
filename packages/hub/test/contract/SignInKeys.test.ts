import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { BrowserClient } from "@corral/testing/hub/Browser"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"

interface Key {
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  readonly token: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly lastUsedAt?: string
}
interface Page {
  readonly items: ReadonlyArray<Key>
  readonly nextCursor: string | null
}

const KEYS = "/client/auth/keys"

describe("API keys", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const create = async (
    owner: BrowserClient,
    body: object = { name: "ci", scopes: ["read"] }
  ): Promise<Key> => {
    const answer = await owner.ask<Key>("POST", KEYS, { body })
    assert.strictEqual(answer.status, 201)
    return answer.body
  }
  const holding = (key: Key): HubClient => new HubClient(hub.url, key.token)

  it("act as their user until they are removed", async () => {
    const ada = await hub.atBrowser("ada")
    const key = await create(ada, { name: "nightly", scopes: ["read", "read"], expiresInDays: 1 })
    assert.match(key.token, /^corral_k_[\w-]{43}$/)
    assert.deepStrictEqual(key.scopes, ["read"])
    assert.strictEqual(new Date(key.expiresAt).getTime() - new Date(key.createdAt).getTime(), 86_400_000)
    const me = await holding(key).ask<{ readonly user: { readonly id: string }; readonly kind: string }>(
      "GET",
      "/client/auth/me"
    )
    assert.deepStrictEqual([me.body.user.id, me.body.kind], [ada.userId, "key"])
    const [listed] = (await ada.ask<Page>("GET", KEYS)).body.items
    assert.strictEqual(listed?.id, key.id)
    assert.isString(listed?.lastUsedAt)
    assert.notProperty(listed, "token")

    assert.strictEqual((await ada.ask("DELETE", `${KEYS}/${key.id}`)).status, 204)
    assert.strictEqual(codeOf(await holding(key).ask("GET", "/client/auth/me")), "unauthorized")
    assert.strictEqual(codeOf(await ada.ask("DELETE", `${KEYS}/${key.id}`)), "permission_denied")
  })

  it("are invalid after their expiry", async () => {
    const key = await create(await hub.atBrowser("ended"))
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = ${key.id}`
      )
    )
    assert.strictEqual(codeOf(await holding(key).ask("GET", "/client/auth/me")), "unauthorized")
  })

  it("are limited to their scopes, and manage neither keys nor sign-ins", async () => {
    const ada = await hub.atBrowser("scoped")
    const all = holding(await create(ada, { name: "all", scopes: ["read", "write"] }))
    for (const [method, path] of [
      ["GET", KEYS],
      ["POST", KEYS],
      ["DELETE", `${KEYS}/key_01K00000000000000000000000`],
      ["POST", "/client/auth/refresh"],
      ["POST", "/client/auth/logout"],
      ["POST", "/client/approvals/apr_01K00000000000000000000000/decide"]
    ] as const) {
      const answer = await all.ask(method, path)
      assert.strictEqual(codeOf(answer), "permission_denied", `${method} ${path}`)
      assert.include(answer.text, "The scopes of this key don't allow this.", `${method} ${path}`)
    }
    // However the path is spelt.
    const { url } = hub
    for (const path of [
      "/client/%61uth/keys",
      "/client/auth/%6beys",
      "/CLIENT/auth/keys",
      "/client//auth/keys"
    ]) {
      const headers = { authorization: `Bearer ${all.token}` }
      assert.include([403, 404], (await fetch(url + path, { headers })).status, path)
    }
    const writer = holding(await create(ada, { name: "writer", scopes: ["write"] }))
    assert.strictEqual(codeOf(await writer.ask("GET", "/client/auth/me")), "permission_denied")
    assert.strictEqual(codeOf(await writer.ask("GET", "/client/audit")), "permission_denied")
    const reader = holding(await create(ada))
    assert.strictEqual((await reader.ask("GET", "/client/audit")).status, 200)
  })

  it("are rejected in a cookie", async () => {
    const key = await create(await hub.atBrowser("cookie"))
    const answer = await hub.client.ask("GET", "/client/auth/me", {
      headers: { cookie: `__Host-corral=${key.token}` }
    })
    assert.strictEqual(codeOf(answer), "unauthorized")
  })

  it("are listed for their owner only, in pages", async () => {
    const [ada, eve] = [await hub.atBrowser("owner"), await hub.atBrowser("eve")]
    const created = [await create(ada), await create(ada), await create(ada)].map(({ id }) => id)
    const first = (await ada.ask<Page>("GET", `${KEYS}?limit=2`)).body
    const second = (await ada.ask<Page>("GET", `${KEYS}?limit=2&cursor=${first.nextCursor}`)).body
    assert.deepStrictEqual(
      [...first.items, ...second.items].map(({ id }) => id).toSorted(),
      created.toSorted()
    )
    assert.isNull(second.nextCursor)
    assert.deepStrictEqual((await eve.ask<Page>("GET", KEYS)).body.items, [])
    assert.strictEqual(
      codeOf(await eve.ask("GET", `${KEYS}?limit=2&cursor=${first.nextCursor}`)),
      "schema_validation_failed"
    )
    // Keys of another user and missing keys get the same response.
    const theirs = await eve.ask<object>("DELETE", `${KEYS}/${created[0]}`)
    const missing = await eve.ask<object>("DELETE", `${KEYS}/key_01K00000000000000000000000`)
    assert.strictEqual(codeOf(theirs), "permission_denied")
    assert.deepStrictEqual({ ...theirs.body, requestId: "" }, { ...missing.body, requestId: "" })
  })

  it("are limited to 100 per user", async () => {
    const ada = await hub.atBrowser("collector")
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`
          INSERT INTO api_keys (id, user_id, name, scopes, token_hash, created_at, expires_at)
          SELECT 'key_' || i, ${ada.userId}, 'k', 'read', sha256(i::text::bytea), now(), now() FROM generate_series(1, 100) AS i`
      )
    )
    const answer = await ada.ask("POST", KEYS, { body: { name: "one more", scopes: ["read"] } })
    assert.strictEqual(codeOf(answer), "conflict")
  })

  it.each<object>([
    {},
    { name: "", scopes: ["read"] },
    { name: "x".repeat(10_000), scopes: ["read"] },
    { name: "a\u0000", scopes: ["read"] },
    { name: "a\nb", scopes: ["read"] },
    { name: "\udc00", scopes: ["read"] },
    { name: "x", scopes: [] },
    { name: "x", scopes: ["admin"] },
    { name: "x", scopes: ["read"], expiresInDays: 0 },
    { name: "x", scopes: ["read"], expiresInDays: 367 },
    { name: "x", scopes: ["read"], expiresInDays: 1.5 }
  ])("reject an invalid body (%#)", async (body) => {
    const ada = await hub.atBrowser("wrong")
    assert.strictEqual(codeOf(await ada.ask("POST", KEYS, { body })), "schema_validation_failed")
  })

  it("keep names unchanged", async () => {
    const name = `Robert'); DROP TABLE api_keys;-- "💾" <b>`
    assert.strictEqual((await create(await hub.atBrowser("bobby"), { name, scopes: ["read"] })).name, name)
  })
})
