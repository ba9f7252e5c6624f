/** What people arrange in the console, at a real Hub: each page's forms and what becomes of them. No Edge runs: devices are what one would have reported. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ApprovalId, DeviceId, ProjectId } from "@corral/domain/Ids"
import { draft } from "@corral/domain/RunEvent"
import type { Page } from "playwright-core"
import { gatewayEnv } from "../../../hub/test/harness/Chats.ts"
import type { HubClient } from "../../../hub/test/harness/HubClient.ts"
import { HubProcess } from "../../../hub/test/harness/HubProcess.ts"
import { created, Mirror, newId, resolved, started } from "../../../hub/test/harness/Mirror.ts"
import { registerDevice, report } from "../../../hub/test/harness/Offers.ts"
import { makeProject } from "../../../hub/test/harness/Teams.ts"
import { ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"

describe.skipIf(!hasChromium)("settings in the console", { timeout: 60_000 }, () => {
  const hub = new HubProcess({ env: gatewayEnv })
  let browser: ConsoleBrowser
  let owner: HubClient
  let token: string
  let projectId: ProjectId
  let deviceId: DeviceId
  beforeAll(async () => {
    ;[browser] = await Promise.all([ConsoleBrowser.open(), hub.start()])
    owner = await hub.signedIn("owner")
    token = (await hub.people.signIn("owner", "web")).token
    projectId = (await makeProject(owner)).id
    deviceId = (await registerDevice(owner, { sharedWith: [projectId] })).id
    await report(hub, deviceId, { workspaces: ["site", "docs"] })
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    await hub.remove()
  })

  const at = (target: string, as = token): Promise<Page> => browser.page(hub.url, as, target)
  const closing = async (page: Page): Promise<void> => {
    await page.context().close()
    assert.deepStrictEqual(browser.complaints, [])
  }
  /** An approval of a device of its own, which was never there. */
  const asked = async (...after: ReadonlyArray<"expired" | "cancelled">) => {
    const mirror = new Mirror(hub)
    const id = newId<ApprovalId>("apr")
    await mirror.device(owner.userId, projectId)
    const expiresAt = new Date(Date.now() + 600_000).toISOString()
    const request = {
      action: "shell",
      risk: "medium",
      title: "Run make",
      command: "make",
      editable: false,
      scopes: ["once"]
    } as const
    const runId = await mirror.run(
      projectId,
      created,
      started,
      draft("run.approval.requested", { approvalId: id, request, expiresAt }),
      ...after.map((state) => draft("run.approval.resolved", { approvalId: id, state }))
    )
    return { id, runId, mirror }
  }

  it("says of an approval why it cannot be decided: expired, withdrawn, its device away, revoked or gone", async () => {
    const [expired, withdrawn, pending] = [await asked("expired"), await asked("cancelled"), await asked()]
    const page = await at(`/approvals/${expired.id}`)
    await page.getByText("Nobody decided in time, and the action was not allowed.").waitFor()
    assert.strictEqual(await page.getByRole("button", { name: "Allow once" }).count(), 0)
    await page.goto(`/approvals/${withdrawn.id}`)
    await page.getByText("The agent does not wait for it any more.").waitFor()
    await page.goto(`/approvals/${newId("apr")}`)
    await page.getByText("There is no such approval, or you may not see it.").waitFor()

    await page.goto(`/approvals/${pending.id}`)
    await page.getByText("edge is not connected: no decision reaches it now.").waitFor()
    await page.getByRole("button", { name: "Allow once" }).click()
    await page.getByText("The device is not connected, and nothing was decided.").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    const path = `/client/devices/${pending.mirror.targetId}`
    assert.strictEqual((await owner.ask("PATCH", path, { body: { state: "revoked" } })).status, 200)
    await page.getByText("edge was revoked: nothing can be decided there any more.").waitFor()
    assert.strictEqual((await owner.ask("DELETE", path)).status, 204)
    await page.reload()
    await page.getByText("Its device is gone, or not shared with the project any more").waitFor()
    // While it is looked at, the mirror hears that somebody else decided.
    await pending.mirror.append(pending.runId, 4, resolved(pending.id, "denied"))
    await page.getByText("Denied by someone").waitFor()
    await closing(page)
  })
})
