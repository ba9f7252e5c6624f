import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { PrincipalKind } from "@corral/domain/identity/User"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { readFileSync } from "node:fs"
import { effort } from "@corral/testing/time/Effort"
import { SESSION_COOKIE, CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { csrfOf } from "../../src/signin/SessionToken.ts"
import {
  actingAs,
  confirmedLink,
  gatewayEnv,
  GATEWAY_TOKEN,
  gatewayOf,
  newAccount,
  startedLink
} from "@corral/testing/hub/Chats"
import { type HubRequestOptions, codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"

/** Every endpoint that issues a credential which outlives the one in the request. */
const issuing = ["device approve", "api key", "chat link"] as const
type Issuing = (typeof issuing)[number]

/** Endpoints whose answer holds a token, and why a stolen token gains nothing there. */
const answeringTokens = {
  "POST /client/auth/device/token": "needs the answer of a recent browser sign-in",
  "POST /client/auth/keys": "needs a recent browser sign-in",
  "POST /client/auth/refresh": "the same sign-in, with the same cap and the same detection of reuse",
  "POST /client/devices/join-tokens": "one device within an hour; a device's key opens no endpoint for people"
}

describe("Issued credentials", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it("are issued by the listed endpoints only", () => {
    const contract = JSON.parse(
      readFileSync(new URL("../../../../openapi/hub.json", import.meta.url), "utf8")
    ) as {
      readonly paths: Record<string, Record<string, { readonly responses: Record<string, object> }>>
      readonly components: { readonly schemas: Record<string, { readonly properties?: object }> }
    }
    const holdsToken = (response: object): boolean =>
      [...JSON.stringify(response).matchAll(/#\/components\/schemas\/(\w+)/g)].some(([, name = ""]) =>
        Object.hasOwn(contract.components.schemas[name]?.properties ?? {}, "token")
      )
    const found = Object.entries(contract.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { responses }]) => Object.values(responses).some(holdsToken))
        .map(([method]) => `${method.toUpperCase()} ${path}`)
    )
    assert.deepStrictEqual(found.toSorted(), Object.keys(answeringTokens).toSorted())
  })

  /** What the caller holds, and how the request carries it. */
  const carried = async (
    kind: PrincipalKind,
    age: number,
    asCookie: boolean
  ): Promise<Required<Pick<HubRequestOptions, "headers" | "token">>> => {
    if (kind === "chat") {
      const account = newAccount()
      const { userId } = await hub.people.signIn("ada")
      const number = await confirmedLink(hub, account, userId)
      await gatewayOf(hub).ask("POST", "/integrations/bindings", { body: { ...account, number } })
      return { token: GATEWAY_TOKEN, ...actingAs(account) }
    }
    const signIn = await hub.people.signIn("ada", kind === "key" ? "web" : kind)
    const wanted = { name: "ci", scopes: ["read", "write"] as const, expiresInDays: 1 }
    const token =
      kind === "key"
        ? (await hub.people.act(Effect.flatMap(ApiKeyStore, (keys) => keys.create(signIn.userId, wanted))))
            .token
        : signIn.token
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`
          UPDATE sign_ins SET authenticated_at = now() - make_interval(secs => ${age}) WHERE id = ${signIn.signInId}`
      )
    )
    if (!asCookie) return { token, headers: {} }
    const headers = { cookie: `${SESSION_COOKIE}=${token}`, origin: hub.url, [CSRF_HEADER]: csrfOf(token) }
    return { token: null, headers }
  }

  /** The request, and how many credentials there are. */
  const request: Readonly<
    Record<
      Issuing,
      { readonly path: string; readonly body: () => Promise<unknown>; readonly countQuery: string }
    >
  > = {
    "device approve": {
      path: "/client/auth/device/approve",
      body: async () => {
        const started = await hub.client.ask<{ readonly userCode: string }>(
          "POST",
          "/client/auth/device/start",
          {
            body: { kind: "cli" }
          }
        )
        return { userCode: started.body.userCode, decision: "allow" }
      },
      countQuery: "SELECT count(*)::int AS n FROM device_codes WHERE decision = 'allow'"
    },
    "api key": {
      path: "/client/auth/keys",
      body: () => Promise.resolve({ name: "ci", scopes: ["read"] }),
      countQuery: "SELECT count(*)::int AS n FROM api_keys WHERE revoked_at IS NULL"
    },
    "chat link": {
      path: "/client/chat-links/confirm",
      body: async () => ({ code: await startedLink(hub, newAccount()) }),
      countQuery: "SELECT count(*)::int AS n FROM chat_links WHERE number_hash IS NOT NULL"
    }
  }

  const count = async (statement: string): Promise<number> => {
    const rows = await hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<{ readonly n: number }>(statement))
    )
    return rows[0]?.n ?? 0
  }

  const cases = fc.record({
    kind: fc.constantFrom(...PrincipalKind.literals),
    asCookie: fc.boolean(),
    // Seconds; around the limit too, with room for the time that the request itself takes.
    age: fc.oneof(fc.integer({ min: 0, max: 840 }), fc.integer({ min: 901, max: 7_000_000 })),
    what: fc.constantFrom(...issuing)
  })

  it("require a browser's cookie and a sign-in of the last 15 minutes", () =>
    fc.assert(
      fc.asyncProperty(cases, async ({ age, asCookie, kind, what }) => {
        const { body, countQuery, path } = request[what]
        const { headers, token } = await carried(kind, age, asCookie)
        const payload = await body()
        const before = await count(countQuery)
        const linkCookie = `__Host-corral-link=${"a".repeat(22)}`
        const cookie = [headers["cookie"], linkCookie].filter((text) => text !== undefined).join("; ")
        // The page opens a link before it confirms it.
        if (what === "chat link")
          await hub.client.ask("POST", "/client/chat-links/look", {
            body: payload,
            token,
            headers: { ...headers, cookie }
          })
        const answer = await hub.client.ask("POST", path, {
          body: payload,
          token,
          headers: { ...headers, cookie }
        })
        const issues = kind === "web" && asCookie && age <= 900
        assert.strictEqual(await count(countQuery), before + (issues ? 1 : 0), answer.text)
        if (issues) return assert.isBelow(answer.status, 300, answer.text)
        if (kind === "web" && asCookie) return assert.strictEqual(codeOf(answer), "conflict", answer.text)
        assert.include(["permission_denied", "unauthorized"], codeOf(answer), answer.text)
      }),
      { numRuns: 60 * effort }
    ))
})
