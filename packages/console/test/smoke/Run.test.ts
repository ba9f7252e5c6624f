/** A run that is started, approved and read in a real browser, with a real Hub and a real Edge: the surface works. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Joined } from "@corral/testing/stack/Joined"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"

describe.skipIf(!hasChromium)("the console", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  it("starts a run, approves its action and shows its result", async () => {
    const start = `/start?projectId=${joined.projectId}&agentId=scripted`
    const page = await browser.page(joined.front.url, token, start)
    await page
      .getByLabel("Message", { exact: true })
      .fill("/write made.txt first\\nsecond\n/say All **done**")
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await page.waitForURL(/\/sessions\/ses_/)

    const approval = page.getByRole("region", { name: "Approval: Write made.txt" })
    await approval.getByText("+second", { exact: true }).first().waitFor()
    assert.isFalse(existsSync(join(joined.edge.workspace, "made.txt")))
    await approval.getByRole("button", { name: "Allow once" }).click()
    await page.locator("strong", { hasText: "done" }).waitFor()
    assert.strictEqual(readFileSync(join(joined.edge.workspace, "made.txt"), "utf8"), "first\nsecond\n")
    await page.getByText("1 file").first().waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })
})
