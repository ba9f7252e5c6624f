import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { SignInId } from "@corral/domain/identity/Ids"
import type { OpenSignIn, SignInKind } from "@corral/domain/identity/User"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { Client } from "pg"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { tries } from "@corral/testing/time/Effort"

interface Issued {
  readonly token: string
  readonly kind: string
}

let people = 0

describe("Sign-ins and their tokens", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const onStore = (statement: string) =>
    hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, unknown>>(statement))
    )

  /** Lets time pass for what is in the store. */
  const age = (table: string, column: string, time: string) =>
    onStore(`UPDATE ${table} SET ${column} = ${column} - interval '${time}'`)

  const refresh = async (client: HubClient, token: string): Promise<string> =>
    (await client.ask<Issued>("POST", "/client/auth/refresh", { token })).body.token

  const isGood = async (token: string): Promise<boolean> => {
    const answer = await hub.client.ask("GET", "/client/auth/me", { token })
    if (answer.status !== 200) assert.strictEqual(codeOf(answer), "unauthorized")
    return answer.status === 200
  }

  const actionsOf = async (client: HubClient): Promise<ReadonlyArray<unknown>> => {
    const rows =
      await onStore(`SELECT actor, action, outcome FROM audit WHERE actor = '${client.userId}' OR resource IN
      (SELECT id FROM sign_ins WHERE user_id = '${client.userId}') ORDER BY seq`)
    return rows.map(({ action }) => action)
  }

  describe("a person's own", () => {
    type Listed = { readonly items: ReadonlyArray<OpenSignIn> }
    const listed = async (client: HubClient) =>
      (await client.ask<Listed>("GET", "/client/auth/sessions")).body.items
    const another = async (name: string, kind: SignInKind) => {
      const { signInId, token, userId } = await hub.people.signIn(name, kind)
      return { id: signInId as SignInId, client: new HubClient(hub.url, token, userId) }
    }

    it("are listed while valid, newest first, with the current one marked", async () => {
      const [first, second, over] = [
        await another("lists", "web"),
        await another("lists", "cli"),
        await another("lists", "cli")
      ]
      await another("lists other", "web")
      await onStore(`UPDATE sign_ins SET idle_until = now() WHERE id = '${over.id}'`)
      const items = await listed(first.client)
      assert.deepStrictEqual(
        items.map(({ current, id, kind }) => [id, kind, current]),
        [
          [second.id, "cli", false],
          [first.id, "web", true]
        ]
      )
      const page = await first.client.ask<Listed & { readonly nextCursor: string }>(
        "GET",
        "/client/auth/sessions?limit=1"
      )
      const next = `/client/auth/sessions?limit=1&cursor=${page.body.nextCursor}`
      assert.deepStrictEqual((await first.client.ask<Listed>("GET", next)).body.items, items.slice(1))
    })

    it("can be ended one by one by their user only", async () => {
      const [first, second, foreign] = [
        await another("ends", "web"),
        await another("ends", "cli"),
        await another("ends other", "web")
      ]
      const end = (id: string) => first.client.ask("DELETE", `/client/auth/sessions/${id}`)
      const refused = await end(foreign.id)
      const absent = await end(`sin_${"0".repeat(26)}`)
      for (const answer of [refused, absent])
        assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"])
      assert.isTrue(await isGood(foreign.client.token ?? ""))
      assert.strictEqual((await end(second.id)).status, 204)
      assert.isFalse(await isGood(second.client.token ?? ""))
      assert.strictEqual((await end(second.id)).status, 403)
      assert.deepStrictEqual((await actionsOf(first.client)).slice(-1), ["sign_in.revoke"])
      assert.strictEqual((await end(first.id)).status, 204)
      assert.isFalse(await isGood(first.client.token ?? ""))
    })

    it("can be ended all at once except the current one", async () => {
      const [stored, cli, web, foreign] = [
        await another("clears", "web"),
        await another("clears", "cli"),
        await another("clears", "web"),
        await another("clears other", "web")
      ]
      assert.strictEqual((await stored.client.ask("DELETE", "/client/auth/sessions")).status, 204)
      assert.deepStrictEqual(
        await Promise.all([stored, cli, web, foreign].map(({ client }) => isGood(client.token ?? ""))),
        [true, false, false, true]
      )
    })
  })

  describe("refresh", () => {
    it("exchanges the token; the old one stays valid for 30 s", async () => {
      const ada = await hub.signedIn("ada")
      const first = ada.token ?? ""
      const answer = await ada.ask<Issued>("POST", "/client/auth/refresh")
      assert.deepStrictEqual([answer.status, answer.body.kind], [200, "desktop"])
      const second = answer.body.token
      assert.deepStrictEqual([await isGood(first), await isGood(second)], [true, true])
      // The answer to the first exchange was lost.
      assert.strictEqual(await refresh(ada, first), second)
      const third = await refresh(ada, second)
      assert.deepStrictEqual([await isGood(second), await isGood(third)], [true, true])
      assert.strictEqual(new Set([first, second, third]).size, 3)
    })

    it("ends the sign-in when an exchanged token is used later", async () => {
      const ada = await hub.signedIn("reused")
      const first = ada.token ?? ""
      const second = await refresh(ada, first)
      await age("replaced_tokens", "replaced_at", "31 seconds")
      assert.isTrue(await isGood(second))
      assert.strictEqual(
        codeOf(await ada.ask("POST", "/client/auth/refresh", { token: first })),
        "unauthorized"
      )
      assert.deepStrictEqual([await isGood(first), await isGood(second)], [false, false])
      assert.deepStrictEqual(await actionsOf(ada), ["sign_in.issue", "sign_in.refresh", "sign_in.revoke"])
      assert.include(hub.stderr, "an exchanged token was used again")
    })

    it("gives concurrent and repeated exchanges of one token the same new token, which outlives the old one", () =>
      fc.assert(
        fc.asyncProperty(
          // How many clients exchange the newest token at once, and how many repeat the exchange of which earlier one.
          fc.array(fc.record({ concurrent: fc.integer({ min: 1, max: 6 }), repeated: fc.nat(9) }), {
            minLength: 1,
            maxLength: 4
          }),
          async (rounds) => {
            const ada = await hub.signedIn(`many ${people++}`)
            const tokens = [ada.token ?? ""]
            for (const { concurrent, repeated } of rounds) {
              const newest = tokens.at(-1) ?? ""
              const fresh = await Promise.all(Array.from({ length: concurrent }, () => refresh(ada, newest)))
              tokens.push(fresh[0] ?? "")
              assert.deepStrictEqual(new Set(fresh), new Set([tokens.at(-1)]))
              const earlier = repeated % (tokens.length - 1)
              assert.strictEqual(await refresh(ada, tokens[earlier] ?? ""), tokens[earlier + 1])
            }
            assert.strictEqual(new Set(tokens).size, rounds.length + 1)
            await age("replaced_tokens", "replaced_at", "31 seconds")
            assert.isTrue(await isGood(tokens.at(-1) ?? ""))
            assert.isFalse(await isGood(tokens.at(-2) ?? ""))
            assert.isFalse(await isGood(tokens.at(-1) ?? ""))
          }
        ),
        { numRuns: tries(8).arbitrary.runs }
      ))

    it("forgets how a new token was made once its old token is invalid", async () => {
      const ada = await hub.signedIn("salts")
      const second = await refresh(ada, ada.token ?? "")
      await age("replaced_tokens", "replaced_at", "31 seconds")
      await refresh(ada, second)
      const rows = await onStore(
        `SELECT salt IS NULL AS forgotten FROM replaced_tokens r JOIN sign_ins s ON s.id = r.sign_in_id
          WHERE user_id = '${ada.userId}' ORDER BY replaced_at`
      )
      assert.deepStrictEqual(rows, [{ forgotten: true }, { forgotten: false }])
    })

    it("extends the idle time, never the cap", async () => {
      const ada = await hub.signedIn("capped")
      await onStore(`UPDATE sign_ins SET cap_at = now() + interval '1 hour' WHERE user_id = '${ada.userId}'`)
      const { body } = await ada.ask<{ readonly expiresAt: string }>("POST", "/client/auth/refresh")
      assert.isBelow(new Date(body.expiresAt).getTime(), Date.now() + 3_601_000)
    })
  })

  it.each([
    ["without use", "idle_until"],
    ["at its cap", "cap_at"]
  ])("ends %s", async (_, column) => {
    const ada = await hub.signedIn(column)
    assert.isTrue(await isGood(ada.token ?? ""))
    await onStore(
      `UPDATE sign_ins SET ${column} = now() - interval '1 second' WHERE user_id = '${ada.userId}'`
    )
    assert.isFalse(await isGood(ada.token ?? ""))
  })

  it("stays valid while it is used", async () => {
    const ada = await hub.signedIn("sliding")
    await onStore(`UPDATE sign_ins SET last_seen_at = now() - interval '2 minutes', idle_until = now() + interval '1 minute'
      WHERE user_id = '${ada.userId}'`)
    const { body } = await ada.ask<{ readonly expiresAt: string }>("GET", "/client/auth/me")
    assert.isAbove(new Date(body.expiresAt).getTime(), Date.now() + 29 * 86_400_000)
  })

  it("notifies every Hub of ended sign-ins and keys", async () => {
    const { database, host, user } = await hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.map(
          sql<{ readonly host: string; readonly user: string; readonly database: string }>`
            SELECT current_setting('unix_socket_directories') AS host, current_user AS user, current_database() AS database`,
          ([row]) => row ?? { host: "", user: "", database: "" }
        )
      )
    )
    const listener = new Client(
      hub.databaseUrl === undefined ? { host, user, database } : { connectionString: hub.databaseUrl }
    )
    await listener.connect()
    try {
      await listener.query("LISTEN corral_sign_in_ended")
      const next = () =>
        new Promise<string>((resolve) =>
          listener.once("notification", ({ payload = "" }) => resolve(payload))
        )
      const { signInId, token } = await hub.people.signIn("told")
      const ended = next()
      assert.strictEqual((await hub.client.ask("POST", "/client/auth/logout", { token })).status, 204)
      assert.strictEqual(await ended, signInId)
      assert.isFalse(await isGood(token))

      const again = await hub.people.signIn("told")
      await refresh(hub.client, again.token)
      await age("replaced_tokens", "replaced_at", "31 seconds")
      const reused = next()
      assert.isFalse(await isGood(again.token))
      assert.strictEqual(await reused, again.signInId)

      const ada = await hub.atBrowser("told")
      const { body } = await ada.ask<{ readonly id: string }>("POST", "/client/auth/keys", {
        body: { name: "ci", scopes: ["read"] }
      })
      const removed = next()
      await ada.ask("DELETE", `/client/auth/keys/${body.id}`)
      assert.strictEqual(await removed, body.id)
    } finally {
      await listener.end()
    }
  })

  it.each(["corral_s_", "corral_d_", "corral_j_", "corral_k_", "corral_x_"])(
    "rejects an invented %s token",
    async (prefix) => {
      assert.isFalse(await isGood(prefix + "A".repeat(43)))
    }
  )

  it("stores no token", async () => {
    const ada = await hub.signedIn("kept")
    const second = await refresh(ada, ada.token ?? "")
    const browser = await hub.atBrowser("kept")
    const { body } = await browser.ask<{ readonly token: string }>("POST", "/client/auth/keys", {
      body: { name: "kept", scopes: ["read"] }
    })
    const tables = ["sign_ins", "replaced_tokens", "api_keys", "audit", "device_codes", "login_attempts"]
    for (const table of tables) {
      const text = JSON.stringify(await onStore(`SELECT t::text FROM ${table} t`))
      for (const token of [ada.token ?? "", second, body.token]) {
        assert.notInclude(text, token)
        assert.notInclude(text, Buffer.from(token).toString("hex"))
      }
    }
  })
})
