import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { confirmedLink, actingAs, gatewayEnv, gatewayOf, newAccount } from "@corral/testing/hub/Chats"
import { newToken } from "../../src/signin/SessionToken.ts"
import { type Answer, codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { until } from "@corral/testing/time/Until"

describe("The rate limit", () => {
  // 100 requests may take nine seconds until more than half of them pass.
  const hub = new HubInProcess({ env: { ...gatewayEnv, CORRAL_HUB_REQUESTS_PER_SECOND: "5" } })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** Number of 100 concurrent requests that are rate limited. */
  const refusedOf = async (client: () => HubClient): Promise<number> => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => client().ask("GET", "/client/projects"))
    )
    const refused = answers.filter((answer) => codeOf(answer) === "rate_limited")
    for (const { headers, status } of refused) {
      assert.strictEqual(status, 429)
      assert.isNotNull(headers.get("retry-after"))
    }
    return refused.length
  }

  it("counts callers without a sign-in by address, also with invented tokens", async () => {
    assert.isAbove(await refusedOf(() => new HubClient(hub.url, newToken("session"))), 50)
    assert.isAbove(await refusedOf(() => hub.client), 50)
  })

  it("counts signed-in callers separately", async () => {
    const [ada, bob] = [await hub.signedIn("ada"), await hub.signedIn("bob")]
    // The first request of a token counts for the address, which the strangers above have used up.
    await allowed(() => ada.ask("GET", "/client/auth/me"))
    await allowed(() => bob.ask("GET", "/client/auth/me"))
    assert.isAbove(await refusedOf(() => ada), 50)
    assert.strictEqual((await bob.ask("GET", "/client/auth/me")).status, 200)
  })

  /** Repeats a request until it is not rate limited. */
  const allowed = (ask: () => Promise<Answer>): Promise<Answer> =>
    until(async () => {
      const answer = await ask()
      return answer.status === 429 ? undefined : answer
    }, "a request that is not rate limited")

  /** Number of 100 concurrent requests that are rate limited. */
  const burst = async (client: HubClient, headers: () => Readonly<Record<string, string>>) => {
    const answers = Array.from({ length: 100 }, () =>
      client.ask("GET", "/client/auth/me", { headers: headers() })
    )
    return (await Promise.all(answers)).filter((answer) => codeOf(answer) === "rate_limited").length
  }

  it("counts a Gateway by account, and other callers without the account", async () => {
    const gateway = gatewayOf(hub)
    const ada = await hub.signedIn("ada")
    const [busy, calm] = [newAccount(), newAccount()]
    for (const account of [busy, calm]) {
      const body = { ...account, number: await confirmedLink(hub, account, ada.userId) }
      const bound = await allowed(() => gateway.ask("POST", "/integrations/bindings", { body }))
      assert.strictEqual(bound.status, 201, bound.text)
      await allowed(() => gateway.ask("GET", "/client/auth/me", actingAs(account)))
    }
    assert.isAbove(await burst(gateway, () => actingAs(busy).headers), 50)
    assert.strictEqual((await gateway.ask("GET", "/client/auth/me", actingAs(calm))).status, 200)
    await allowed(() => ada.ask("GET", "/client/auth/me"))
    assert.isAbove(await burst(ada, () => actingAs(newAccount()).headers), 50)
  })
})
