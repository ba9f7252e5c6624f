/** Sign-in of the command line at a Hub, approved in a browser. */
import { assert } from "@effect/vitest"
import type { Joined } from "@corral/testing/stack/Joined"
import type { Corral } from "./Corral.ts"

export const signIn = async (
  corral: Corral,
  joined: Joined,
  url = joined.front.url,
  name = "owner"
): Promise<void> => {
  const login = corral.start("login", "--hub", url)
  const [, userCode] = await login.warned(/shows the code ([A-Z0-9-]+)\n/)
  const browser = await joined.hub.atBrowser(name)
  const answered = await browser.ask("POST", "/client/auth/device/approve", {
    body: { userCode, decision: "allow" }
  })
  assert.strictEqual(answered.status, 204, answered.text)
  assert.strictEqual(await login.ended, 0)
  assert.deepStrictEqual(login.out, [`You are signed in to ${url} as ${name}.`])
}
