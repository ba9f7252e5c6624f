import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import type { BrowserClient } from "@corral/testing/hub/Browser"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"

interface Started {
  readonly deviceCode: string
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete: string
  readonly expiresInSeconds: number
  readonly intervalSeconds: number
}

interface IssuedToken {
  readonly token: string
  readonly kind: string
  readonly state: string
  readonly intervalSeconds: number
}

describe("Sign-in of a program", () => {
  const hub = new HubInProcess()
  let ada: BrowserClient
  beforeAll(async () => {
    await hub.start()
    ada = await hub.atBrowser("ada")
  })
  afterAll(() => hub.remove())

  const start = async (body: object = { kind: "cli" }): Promise<Started> => {
    const answer = await hub.client.ask<Started>("POST", "/client/auth/device/start", { body })
    assert.strictEqual(answer.status, 200)
    return answer.body
  }
  const ask = ({ deviceCode }: Started) =>
    hub.client.ask<IssuedToken>("POST", "/client/auth/device/token", { body: { deviceCode } })
  const answer = (userCode: string, decision: "allow" | "deny", client: HubClient = ada) =>
    client.ask("POST", "/client/auth/device/approve", { body: { userCode, decision } })
  const onStore = (statement: string) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)))

  it("waits for a user, then signs in as that user once", async () => {
    const started = await start({ kind: "cli", clientName: "laptop" })
    assert.match(started.userCode, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    assert.deepStrictEqual([started.expiresInSeconds, started.intervalSeconds], [600, 5])
    assert.strictEqual(started.verificationUri, `${hub.url}/device`)
    assert.strictEqual(started.verificationUriComplete, `${hub.url}/device?code=${started.userCode}`)

    const pending = await ask(started)
    assert.deepStrictEqual(
      [pending.status, pending.body],
      [202, { state: "pending", intervalSeconds: 5 } as IssuedToken]
    )
    const shown = await ada.ask<object>("GET", `/client/auth/device?userCode=${started.userCode}`)
    assert.deepInclude(shown.body, { kind: "cli", clientName: "laptop" })
    assert.strictEqual((await answer(started.userCode.toLowerCase().replace("-", " "), "allow")).status, 204)
    const issued = await ask(started)
    assert.deepStrictEqual([issued.status, issued.body.kind], [200, "cli"])
    const me = await hub.client.ask<{ readonly user: { readonly id: string } }>("GET", "/client/auth/me", {
      token: issued.body.token
    })
    assert.strictEqual(me.body.user.id, ada.userId)
    assert.strictEqual(codeOf(await ask(started)), "unauthorized")
    assert.strictEqual(codeOf(await answer(started.userCode, "allow")), "permission_denied")
    assert.strictEqual(
      codeOf(await ada.ask("GET", `/client/auth/device?userCode=${started.userCode}`)),
      "permission_denied"
    )
  })

  it("issues one token to concurrent polls", async () => {
    const started = await start()
    await answer(started.userCode, "allow")
    const statuses = (await Promise.all(Array.from({ length: 6 }, () => ask(started)))).map(
      ({ status }) => status
    )
    assert.deepStrictEqual(statuses.toSorted(), [200, 401, 401, 401, 401, 401])
  })

  it("is slowed down when it polls too often", async () => {
    const started = await start()
    const intervals = [await ask(started), await ask(started), await ask(started)].map(
      ({ body }) => body.intervalSeconds
    )
    assert.deepStrictEqual(intervals, [5, 10, 15])
    await onStore(
      `UPDATE device_codes SET asked_at = asked_at - interval '16 seconds' WHERE decision IS NULL`
    )
    assert.strictEqual((await ask(started)).body.intervalSeconds, 15)
  })

  it("gets a denial once", async () => {
    const started = await start()
    assert.strictEqual((await answer(started.userCode, "deny")).status, 204)
    // The first answer counts.
    assert.strictEqual(codeOf(await answer(started.userCode, "allow")), "permission_denied")
    assert.strictEqual(codeOf(await ask(started)), "permission_denied")
    assert.strictEqual(codeOf(await ask(started)), "unauthorized")
  })

  it("expires after ten minutes", async () => {
    const started = await start()
    await onStore(`UPDATE device_codes SET created_at = created_at - interval '601 seconds'`)
    assert.strictEqual(codeOf(await answer(started.userCode, "allow")), "permission_denied")
    assert.strictEqual(codeOf(await ask(started)), "unauthorized")
  })

  it("can't be decided without a sign-in, or with a key", async () => {
    const { userCode } = await start()
    const body = { userCode, decision: "allow" }
    assert.strictEqual(
      codeOf(await hub.client.ask("POST", "/client/auth/device/approve", { body })),
      "unauthorized"
    )
    const key = await ada.ask<{ readonly token: string }>("POST", "/client/auth/keys", {
      body: { name: "ci", scopes: ["read", "write"] }
    })
    assert.strictEqual(
      codeOf(await hub.client.ask("POST", "/client/auth/device/approve", { token: key.body.token, body })),
      "permission_denied"
    )
  })

  it.each([
    [{}],
    [{ kind: "web" }],
    [{ kind: "cli", clientName: "" }],
    [{ kind: "cli", clientName: "a\u0000b" }],
    [{ kind: "cli", clientName: "\ud800" }],
    [{ kind: "cli", clientName: "x".repeat(10_000) }],
    [{ kind: 1 }]
  ])("rejects an invalid body (%#)", async (body) => {
    const refused = await hub.client.ask("POST", "/client/auth/device/start", { body })
    assert.strictEqual(codeOf(refused), "schema_validation_failed")
  })

  it.each(["", "x", "'; DROP TABLE device_codes;--", "\u0000", "\ud800", "x".repeat(4_096)])(
    "finds no program for an unknown code (%#)",
    async (code) => {
      const response = await hub.client.ask("POST", "/client/auth/device/token", {
        body: { deviceCode: code }
      })
      assert.strictEqual(codeOf(response), "unauthorized")
      assert.strictEqual(codeOf(await answer(code.slice(0, 32), "allow")), "permission_denied")
    }
  )

  it("has a page for the decision, which runs and loads only its own script", async () => {
    const response = await fetch(`${hub.url}/device?code=BCDF-GHJK`)
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("content-type"), "text/html; charset=utf-8")
    const policy = response.headers.get("content-security-policy") ?? ""
    assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; /)
    assert.include(policy, "frame-ancestors 'none'")
    const page = await response.text()
    assert.notInclude(page, "BCDF")
    for (const [tag, directive] of [
      ["script", "script-src"],
      ["style", "style-src"]
    ] as const) {
      const [, text = ""] = new RegExp(`<${tag}[^>]*>([^]*?)</${tag}>`).exec(page) ?? []
      const hash = createHash("sha256").update(text).digest("base64")
      assert.include(policy, `${directive} 'sha256-${hash}'`)
    }
  })
})
