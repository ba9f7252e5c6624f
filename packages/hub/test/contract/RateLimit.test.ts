import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { newToken } from "../../src/signin/SessionToken.ts"
import { codeOf, HubClient } from "../harness/HubClient.ts"
import { HubProcess } from "../harness/HubProcess.ts"

describe("The rate limit", { timeout: 60_000 }, () => {
  const hub = new HubProcess({ env: { CORRAL_HUB_REQUESTS_PER_SECOND: "20" } })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** How many of 100 at once are refused for their number. */
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

  it("counts who came without a sign-in by address, whatever token they made up", async () => {
    assert.isAbove(await refusedOf(() => new HubClient(hub.url, newToken("session"))), 50)
    assert.isAbove(await refusedOf(() => hub.client), 50)
  })

  it("leaves those who are signed in what is theirs, each their own", async () => {
    const [ada, bob] = [await hub.signedIn("ada"), await hub.signedIn("bob")]
    // The first request of a token counts for the address, which the strangers above have used up.
    const known = async (client: HubClient): Promise<void> => {
      while ((await client.ask("GET", "/client/auth/me")).status === 429);
    }
    await known(ada)
    await known(bob)
    assert.isAbove(await refusedOf(() => ada), 50)
    assert.strictEqual((await bob.ask("GET", "/client/auth/me")).status, 200)
  })
})
