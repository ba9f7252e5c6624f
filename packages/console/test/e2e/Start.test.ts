/** What Home asks the Hub for when it opens: each list once, and again where it read without a connection. */
import { assert, describe, it } from "@effect/vitest"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { sessionWithAgent } from "../harness/SessionFixtures.ts"
import type { Joined } from "@corral/testing/stack/Joined"

describe.skipIf(!hasChromium)("the start of Home", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  it("reads each list once, while a request waits and a device is online", async () => {
    const { runId } = await joined.task({ text: "/write beacon.txt light" })
    await joined.runWith(runId, ({ pendingApprovals }) => pendingApprovals.length > 0)
    const page = await browser.page(joined.front.url, token, "about:blank")
    let reads: Array<string> = []
    let hints = 0
    page.on("request", (request) => {
      const { pathname, search } = new URL(request.url())
      if (pathname === "/client/news") hints++
      else if (pathname.startsWith("/client/") && !pathname.includes("/runs/")) reads.push(pathname + search)
    })
    const isRepeated = () => new Set(reads).size < reads.length
    // A heartbeat of the device between two reads, or a connection that takes three seconds, makes it read again; not at each start.
    for (let start = 0; start === 0 || (start < 4 && isRepeated()); start++) {
      reads = []
      hints = 0
      await page.goto(joined.front.url)
      await page.getByRole("button", { name: "Allow once" }).waitFor()
      // The present state comes right after the connection, and is considered with the changes of a quarter of a second.
      await page.evaluate("new Promise((done) => setTimeout(done, 1_500))")
      assert.strictEqual(hints, 1)
    }
    assert.includeMembers(
      reads.map((read) => read.split("?", 1)[0]),
      [
        "/client/approvals",
        "/client/inputs",
        "/client/projects",
        "/client/runs",
        "/client/sessions",
        "/client/targets"
      ]
    )
    assert.deepStrictEqual(reads.toSorted(), [...new Set(reads)].toSorted())
    await browser.end(page)
  })

  it("shows what has changed between its reads and a late connection", async () => {
    const session = await sessionWithAgent(joined, "Before the connection")
    const page = await browser.page(joined.front.url, token, "about:blank")
    const connection = Promise.withResolvers<void>()
    await page.route("**/client/news", async (route) => {
      await connection.promise
      await route.continue()
    })
    const messages = page.waitForResponse((response) =>
      new URL(response.url()).pathname.endsWith("/messages")
    )
    await page.goto(`${joined.front.url}/sessions/${session.id}`)
    await (await messages).finished()
    await joined.owner.ask("POST", `/client/sessions/${session.id}/messages`, {
      body: { text: "in the gap", to: "people" }
    })
    connection.resolve()
    await page.getByRole("log").getByText("in the gap", { exact: true }).waitFor()
    await browser.end(page)
  })
})
