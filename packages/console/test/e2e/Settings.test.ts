/** Forms of the console with a real Hub. No Edge runs: devices are reported by the test. */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Project, ProjectMember } from "@corral/domain/project/Project"
import type { ApprovalId, DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import { readFileSync } from "node:fs"
import type { Locator, Page } from "playwright-core"
import { confirmedLink, GATEWAY_TOKEN, gatewayEnv, newAccount } from "@corral/testing/hub/Chats"
import { HubClient } from "@corral/testing/hub/HubClient"
import { HubProcess } from "@corral/testing/hub/HubProcess"
import { createdRun, Mirror, newId, approvalResolved, runStarted } from "@corral/testing/hub/Mirror"
import { registerDevice, reportOffer } from "@corral/testing/hub/Offers"
import { makeProject, makeSession } from "@corral/testing/hub/People"
import { until } from "@corral/testing/time/Until"
import { ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"

describe.skipIf(!hasChromium)("settings in the console", () => {
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
    await reportOffer(hub, deviceId, { workspaces: ["site", "docs"] })
  })
  afterAll(async () => {
    await browser?.close()
    await hub.remove()
  })

  /** One page per user. Each test loads it again, with cached files. */
  const pages = new Map<string, Page>()
  const at = async (target: string, as = token): Promise<Page> => {
    const existing = pages.get(as)
    if (existing !== undefined) await existing.goto(target)
    const page = existing ?? (await browser.page(hub.url, as, target))
    pages.set(as, page)
    return page
  }
  afterEach(() => assert.deepStrictEqual(browser.complaints, []))
  const ofProject = (tab: string, id = projectId) => `/projects/${id}?tab=${tab}`
  const rowOf = (page: Page, text: string | RegExp): Locator =>
    page.getByRole("listitem").filter({ hasText: text })
  /** Chooses an action of the row's menu. */
  const chosen = async (page: Page, within: Locator, name: string) => {
    await within.getByRole("button", { name: /^Actions for / }).click()
    await page.getByRole("menuitem", { name, exact: true }).click()
  }
  /** Chooses it in the row's menu, and the same word in the dialog that asks. */
  const chosenAndConfirmed = async (page: Page, within: Locator, name: string) => {
    await chosen(page, within, name)
    const dialog = page.getByRole("alertdialog")
    await dialog.getByRole("button", { name, exact: true }).click()
    await dialog.waitFor({ state: "detached" })
  }
  /** Presses it, and the same word in the dialog that asks. */
  const confirmed = async (page: Page, within: Locator | Page, name: string, confirm = name) => {
    await within.getByRole("button", { name, exact: true }).click()
    const dialog = page.getByRole("alertdialog")
    await dialog.getByRole("button", { name: confirm, exact: true }).click()
    await dialog.waitFor({ state: "detached" })
  }

  /** An approval on a device that was never online. */
  const confirmations = async (...after: ReadonlyArray<"expired" | "cancelled">) => {
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
      createdRun,
      runStarted,
      draft("run.approval.requested", { approvalId: id, request, expiresAt }),
      ...after.map((state) => draft("run.approval.resolved", { approvalId: id, state }))
    )
    return { id, runId, mirror }
  }

  it("explains why an approval can't be decided: expired, withdrawn, or its device disconnected, revoked or removed", async () => {
    const [expired, withdrawn, pending] = [
      await confirmations("expired"),
      await confirmations("cancelled"),
      await confirmations()
    ]
    const page = await at(`/approvals/${expired.id}`)
    await page.getByText("No decision was made in time. The action was not allowed.").waitFor()
    assert.strictEqual(await page.getByRole("button", { name: "Allow once" }).count(), 0)
    await page.goto(`/approvals/${withdrawn.id}`)
    await page.getByText("The agent no longer needs this decision.").waitFor()
    await page.goto(`/approvals/${newId("apr")}`)
    await page.getByText("This approval doesn't exist, or you don't have access to it.").waitFor()

    await page.goto(`/approvals/${pending.id}`)
    await page.getByText("edge is disconnected.").waitFor()
    await page.getByRole("button", { name: "Allow once" }).click()
    await page.getByText("The device is disconnected. No decision was made.").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    const path = `/client/devices/${pending.mirror.targetId}`
    assert.strictEqual((await owner.ask("PATCH", path, { body: { state: "revoked" } })).status, 200)
    await page.getByText("edge was revoked. You can no longer decide its approvals.").waitFor()
    assert.strictEqual((await owner.ask("DELETE", path)).status, 204)
    await page.reload()
    await page.getByText("The device was removed, or it is no longer shared with this project.").waitFor()
    // Another user decides while the page is open.
    await pending.mirror.append(pending.runId, 4, approvalResolved(pending.id, "denied"))
    await page.getByText("Denied by someone").waitFor()
  })

  it("changes a member's role, explains a rejected change, and removes members including oneself", async () => {
    const [grace, linus] = [await hub.signedIn("grace"), await hub.signedIn("linus")]
    const { id } = await makeProject(owner, "private", [
      [grace, "admin"],
      [linus, "viewer"]
    ])
    const web = await hub.people.signIn("grace", "web")
    const page = await at(ofProject("members", id), web.token)
    const role = page.getByLabel("Role of linus")
    // The second choice waits for the first, which stays on the screen meanwhile.
    const first = Promise.withResolvers<void>()
    await page.route(
      "**/members/*",
      async (route) => {
        await first.promise
        await route.continue()
      },
      { times: 1 }
    )
    const untilRole = (name: string, what: string) =>
      until(async () => (await role.inputValue()) === name || undefined, what)
    await role.selectOption("Member")
    await untilRole("member", "the first choice")
    const members = async () =>
      (
        await owner.ask<{ readonly items: ReadonlyArray<ProjectMember> }>(
          "GET",
          `/client/projects/${id}/members`
        )
      ).body.items.map(({ name, role }) => `${name} ${role}`)
    // An admin can't appoint or change owners.
    await role.selectOption("Owner")
    assert.sameMembers(await members(), ["owner owner", "grace admin", "linus viewer"])
    first.resolve()
    await page.getByRole("alert").waitFor()
    assert.sameMembers(await members(), ["owner owner", "grace admin", "linus member"])
    await untilRole("member", "the role before the refused choice")
    await chosenAndConfirmed(page, rowOf(page, "linus"), "Remove")
    await rowOf(page, "linus").waitFor({ state: "detached" })
    await chosenAndConfirmed(page, rowOf(page, "grace"), "Remove")
    await page.getByText("It may not exist, or your role doesn't allow this.").waitFor()
    assert.strictEqual(await page.getByRole("tab", { name: "Members" }).count(), 0)
    assert.deepStrictEqual(await members(), ["owner owner"])
  })

  it("does not say that no device is shared while the devices load", async () => {
    const page = await browser.page(hub.url, token, "/nowhere")
    await page.route("**/targets?*", () => undefined)
    await page.goto(ofProject("workspaces"))
    await page.getByText("No linked workspaces.").waitFor()
    assert.strictEqual(await page.getByText("No device is shared").count(), 0)
    await browser.end(page)
  })

  it("links and unlinks a workspace of a shared device", async () => {
    const page = await at(ofProject("workspaces"))
    await page.getByRole("button", { name: "Link workspace" }).click()
    const dialog = page.getByRole("dialog", { name: "Link workspace" })
    await dialog.getByLabel("Device", { exact: true }).selectOption("laptop")
    await dialog.getByLabel("Workspace", { exact: true }).selectOption("docs")
    assert.deepStrictEqual(await seriousOf(page), [])
    await dialog.getByRole("button", { name: "Link workspace" }).click()
    await dialog.waitFor({ state: "detached" })
    await rowOf(page, "docs").getByText("laptop").waitFor()
    await confirmed(page, rowOf(page, "docs"), "Unlink")
    await page.getByText("No linked workspaces.").waitFor()
  })

  it("saves project settings, and deletes the project after a confirmation", async () => {
    const { id } = await makeProject(owner)
    const page = await at(ofProject("settings", id))
    await page.getByLabel("Name").fill("Harbour")
    await page.getByLabel("Visibility").selectOption("internal")
    await page.getByLabel("Who can decide approvals").selectOption("owner")
    await page.getByLabel("Users can decide approvals of their own runs").uncheck()
    await page.getByLabel("Chats that receive an agent's answer").selectOption("all")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Saved.").waitFor()
    await page.getByRole("heading", { level: 1, name: "Harbour" }).waitFor()
    const { body } = await owner.ask<Project>("GET", `/client/projects/${id}`)
    assert.deepInclude<object>(body, {
      name: "Harbour",
      visibility: "internal",
      approvals: { approvers: "owner", ownRequests: false },
      chats: { answers: "all" }
    })
    assert.strictEqual(await page.getByLabel("Who can decide approvals").inputValue(), "owner")
    await page.getByRole("button", { name: "Delete project" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click()
    await page.getByRole("alertdialog").waitFor({ state: "detached" })
    await confirmed(page, page, "Delete project", "Delete")
    await page.getByRole("heading", { level: 1, name: "Projects" }).waitFor()
    await page.getByRole("link", { name: "Atlas" }).first().waitFor()
    await page.getByRole("link", { name: "Harbour" }).first().waitFor({ state: "detached" })
    assert.strictEqual((await owner.ask("GET", `/client/projects/${id}`)).status, 403)
  })

  it("adds and removes a session agent, and hides the actions from a viewer", async () => {
    const viewer = await hub.people.signIn("vera", "web")
    const added = await owner.ask("POST", `/client/projects/${projectId}/members`, {
      body: { userId: viewer.userId, role: "viewer" }
    })
    assert.strictEqual(added.status, 201)
    const body = { targetId: deviceId, workspace: "site" }
    assert.strictEqual(
      (await owner.ask("POST", `/client/projects/${projectId}/workspaces`, { body })).status,
      201
    )
    const target = `/sessions/${(await makeSession(owner, { id: projectId })).id}`
    const agentsOf = async (page: Page) => {
      await page.getByRole("button", { name: "More", exact: true }).click()
      await page.getByRole("menuitem", { name: "Agents" }).click()
      return page.getByRole("dialog", { name: "Agents" })
    }
    const page = await at(target)
    await agentsOf(page)
    await page.getByRole("button", { name: "Add agent" }).click()
    const dialog = page.getByRole("dialog", { name: "Add agent" })
    await dialog.getByLabel("Agent", { exact: true }).selectOption("Agent scripted")
    await dialog.getByRole("button", { name: "Add agent" }).click()
    const row = page.getByRole("list", { name: "Agents" }).getByRole("listitem")
    await row.getByText("laptop · site").waitFor()
    const other = await at(target, viewer.token)
    await other.getByText("Viewers of this project can't write.").waitFor()
    await other.getByRole("button", { name: "More", exact: true }).click()
    await other.getByRole("menuitem", { name: "Copy id" }).waitFor()
    assert.strictEqual(await other.getByRole("menuitem", { name: /Rename|Archive|Fork/ }).count(), 0)
    await other.keyboard.press("Escape")
    const others = await agentsOf(other)
    await others.getByText("Agent scripted").waitFor()
    const offered = await other.getByRole("button").allTextContents()
    assert.deepStrictEqual(
      offered.filter((name) => /Add agent|Remove|Send|Make default/.test(name)),
      []
    )
    await confirmed(page, row, "Remove")
    await page.getByText("No agents yet.").waitFor()
  })

  it("unlinks a chat account", async () => {
    const account = newAccount()
    const number = await confirmedLink(hub, account, owner.userId)
    const bound = await new HubClient(hub.url, GATEWAY_TOKEN).ask("POST", "/integrations/bindings", {
      body: { ...account, number }
    })
    assert.strictEqual(bound.status, 201, bound.text)
    const page = await at("/account")
    await confirmed(page, rowOf(page, account.account), "Unlink")
    await page.getByText("No linked chat accounts.").waitFor()
  })

  it("filters, verifies and exports the audit log", async () => {
    const { id } = await makeProject(owner)
    await owner.ask("PATCH", `/client/projects/${id}`, { body: { name: "Quay" } })
    const page = await at(`/audit?projectId=${id}`)
    const records = page.getByRole("list", { name: /Records/ }).locator("> li")
    await records.getByText("You created the project Quay").waitFor()
    await records.getByText("You changed the project Quay").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    assert.notInclude(await records.first().locator(".audit-sentence").innerText(), id)
    await records.first().locator("summary").click()
    await records.first().getByText(id).first().waitFor()
    const table = page.getByRole("region", { name: /Records/ }).locator("tbody tr")
    await page.getByRole("button", { name: "Show as table" }).click()
    await table.nth(1).waitFor()
    await page.getByLabel("Action", { exact: true }).selectOption("project.update")
    await page.waitForURL(/action=project\.update/)
    await table.nth(1).waitFor({ state: "detached" })
    await table.getByText("Update a project").waitFor()
    await page.getByRole("button", { name: "Show as sentences" }).click()
    await records.getByText("You changed the project Quay").waitFor()
    await page.getByText("More filters").click()
    await page.getByLabel("To", { exact: true }).fill("2020-01-01T00:00")
    await page.getByRole("button", { name: "Filter" }).click()
    await page.getByText("No matching records.").waitFor()
    assert.strictEqual(await page.getByLabel("Action", { exact: true }).inputValue(), "project.update")
    await page.getByRole("button", { name: "Verify integrity" }).click()
    await page.getByText("Audit log is intact. 2 records checked.").waitFor()
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export" }).click()
    ])
    const lines = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n")
    assert.deepStrictEqual(
      lines.map((line) => (JSON.parse(line) as { readonly action: string }).action),
      ["project.create", "project.update"]
    )
  })

  it("renames, revokes and removes a device, and hides the actions from other users", async () => {
    const { id } = await registerDevice(owner, { name: "bench", sharedWith: [projectId] })
    const mate = await hub.people.signIn("vera", "web")
    const page = await at("/devices")
    await chosen(page, rowOf(page, "bench"), "Rename")
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("crane")
    await dialog.getByRole("button", { name: "Save" }).click()
    const row = rowOf(page, "crane")
    await chosenAndConfirmed(page, row, "Revoke")
    await row.getByText("revoked").waitFor()
    const other = await at("/devices", mate.token)
    await rowOf(other, "crane").getByText("revoked").waitFor()
    await rowOf(other, "crane").getByRole("button", { name: "Actions for crane" }).click()
    await other.getByRole("menuitem", { name: "Copy ID" }).waitFor()
    assert.strictEqual(await other.getByRole("menuitem").count(), 1)
    await other.keyboard.press("Escape")
    await chosenAndConfirmed(page, row, "Remove")
    await row.waitFor({ state: "detached" })
    assert.strictEqual((await owner.ask("GET", `/client/devices/${id}`)).status, 403)
  })

  it("adds a member by email, and gives no details about an unknown email", async () => {
    await hub.people.signIn("Ida", "web", "ida@example.com")
    const { id } = await makeProject(owner)
    const page = await at(ofProject("members", id))
    await page.getByRole("button", { name: "Add member" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Email or user ID").fill("unknown@example.com")
    await dialog.getByRole("button", { name: "Add member" }).click()
    await dialog.getByText("No single user has this address.").waitFor()
    await dialog.getByLabel("Email or user ID").fill("IDA@example.com")
    await dialog.getByRole("button", { name: "Add member" }).click()
    await rowOf(page, "Ida").waitFor()
  })

  it("decides the sign-in of a program on the Hub's own page, in both languages", async () => {
    const started = async () =>
      (
        await hub.client.ask<{ readonly userCode: string }>("POST", "/client/auth/device/start", {
          body: { kind: "cli", clientName: "<b>corral</b> on bench" }
        })
      ).body.userCode
    const page = await at(`/device?code=${await started()}`)
    await page.getByText("<b>corral</b> on bench (command line) wants to sign in as you").waitFor()
    await page.waitForFunction(() => document.activeElement?.textContent === "Deny")
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Enter another code" }).click()
    await page.getByLabel("Code").fill("BBBB-BBBB")
    await page.getByRole("button", { name: "Continue" }).click()
    await page.getByText("No program is waiting for this code.").waitFor()
    await page.getByLabel("Code").fill(await started())
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "Allow" }).click()
    await page.getByText("Signed in. You can close this page").waitFor()

    const options = { locale: "zh-CN", colorScheme: "dark", viewport: { width: 320, height: 640 } } as const
    const chinese = await browser.page(hub.url, token, `/device?code=${await started()}`, options)
    await chinese.getByText("请求以您的身份登录").waitFor()
    assert.strictEqual(await chinese.locator("html").getAttribute("lang"), "zh")
    assert.isAtMost(await chinese.evaluate(() => document.documentElement.scrollWidth), 320)
    assert.deepStrictEqual(await seriousOf(chinese), [])
    await chinese.getByRole("button", { name: "拒绝" }).click()
    await chinese.getByText("已拒绝登录。").waitFor()
    await chinese.context().close()
  })

  it("lists active sign-ins and signs out one or all others", async () => {
    const [here, there] = [await hub.people.signIn("nomad", "web"), await hub.people.signIn("nomad", "cli")]
    await hub.people.signIn("nomad", "web")
    const page = await at("/account", here.token)
    const list = page.getByRole("list", { name: "Active sign-ins" })
    const cli = list.getByRole("listitem").filter({ hasText: "Command line" })
    await cli.waitFor()
    assert.strictEqual(await list.getByRole("listitem").count(), 3)
    assert.deepStrictEqual(await seriousOf(page), [])
    await confirmed(page, cli, "Sign out")
    await cli.waitFor({ state: "detached" })
    const answer = await hub.client.ask("GET", "/client/auth/me", { token: there.token })
    assert.strictEqual(answer.status, 401)
    await confirmed(page, page, "Sign out all others")
    await list.getByRole("listitem").nth(1).waitFor({ state: "detached" })
    await list.getByRole("listitem").getByText("current").waitFor()
  })
})
