/** Confined runs in a real browser: a program that waits for a connection, decided in the console, and what a refusal looks like. */
import { assert, describe, it } from "@effect/vitest"
import type { RunId } from "@corral/domain/identity/Ids"
import { probeBubblewrap } from "@corral/edge/confinement/Bubblewrap"
import { systemMounts } from "@corral/edge/confinement/SystemFolders"
import { EdgeBeforeServer } from "@corral/testing/edge/EdgeInProcess"
import type { Joined } from "@corral/testing/stack/Joined"
import { Effect } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"

const canConfine =
  "program" in (await Effect.runPromise(probeBubblewrap(process.env["PATH"], systemMounts(false))))
const hasCurl = existsSync("/usr/bin/curl")

/** Prints the status, and what it got. */
const FETCH = "curl -sS -o got.txt -w %{http_code} http://asked.test/; echo ended $?"

describe.skipIf(!hasChromium || !canConfine || !hasCurl)(
  "a connection of a confined run in the console",
  () => {
    let joined: Joined
    let browser: ConsoleBrowser
    let token: string
    const edges: Array<EdgeBeforeServer> = []
    withJoinedConsole((opened) => ({ joined, browser, token } = opened), {
      makeEdge: (options) => {
        const edge = new EdgeBeforeServer(options)
        edges.push(edge)
        return edge
      }
    })

    const arrived = () => edges[0]?.arrived.splice(0) ?? []
    /** The page of a run whose command is allowed. */
    const running = async (): Promise<{ readonly page: Page; readonly runId: RunId }> => {
      const { runId } = await joined.task({ text: `/shell ${FETCH}\n/say after` })
      const page = await browser.page(joined.front.url, token, `/runs/${runId}`)
      await page
        .getByRole("region", { name: /^Approval: Run curl/ })
        .getByRole("button", { name: "Allow once" })
        .click()
      return { page, runId }
    }
    const request = (page: Page) => page.getByRole("region", { name: "Approval: Connect to asked.test:80" })
    const outputOf = async (runId: RunId): Promise<string> => {
      await joined.runWith(runId, ({ state }) => state === "completed")
      const log = await joined.edge.client.log(runId)
      return String(log.find(({ type }) => type === "run.tool.result")?.payload["output"])
    }

    it("lets the program continue when it is allowed", async () => {
      const { page, runId } = await running()
      await request(page).getByText("http://asked.test/").first().waitFor()
      await request(page).getByText("medium risk").waitFor()
      const { state } = await joined.runWith(runId, ({ pendingApprovals }) => pendingApprovals.length > 0)
      assert.strictEqual(state, "waiting_approval")
      assert.deepStrictEqual(arrived(), [])
      assert.deepStrictEqual(await seriousOf(page), [])
      await request(page).getByRole("button", { name: "Allow once" }).click()
      assert.strictEqual(await outputOf(runId), "200ended 0\n")
      assert.strictEqual(readFileSync(join(joined.edge.workspace, "got.txt"), "utf8"), "from outside")
      assert.deepStrictEqual(arrived(), ["asked.test"])
      await page.getByText("confined by bubblewrap").first().waitFor()
      await page.context().close()
    })

    it("fails cleanly when it is denied, and the run continues", async () => {
      const { page, runId } = await running()
      await request(page).getByRole("button", { name: "Deny", exact: true }).click()
      assert.strictEqual(await outputOf(runId), "403ended 0\n")
      assert.deepStrictEqual(arrived(), [])
      await page.getByText("The connection to asked.test:80 was not approved.").first().waitFor()
      await page.getByText("after", { exact: true }).waitFor()
      await page.context().close()
    })

    it("of two runs to one host at the same moment have their own approvals", async () => {
      const [first, second] = [await running(), await running()]
      await request(first.page).waitFor()
      await request(second.page).getByRole("button", { name: "Deny", exact: true }).click()
      assert.strictEqual(await outputOf(second.runId), "403ended 0\n")
      await request(first.page).getByRole("button", { name: "Allow once" }).click()
      assert.strictEqual(await outputOf(first.runId), "200ended 0\n")
      for (const { page } of [first, second]) await page.context().close()
    })
  }
)

describe.skipIf(!hasChromium)("a device that requires confinement without its means", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened), {
    edge: { env: { CORRAL_EDGE_CONFINEMENT: "required", PATH: "/nowhere" } }
  })

  it("refuses a task with one sentence, which the console shows", async () => {
    const created = await joined.tryTask({ text: "/say hello" })
    assert.strictEqual(created.status, 201, created.text)
    const task = await joined.taskWith(created.body.id, ({ state }) => state === "failed")
    const page = await browser.page(joined.front.url, token, `/tasks/${task.id}`)
    const sentence =
      "This Edge runs agents in this mode only if it can confine them. bubblewrap is not installed."
    await page.getByText(sentence).first().waitFor()
    await page.context().close()
  })
})
