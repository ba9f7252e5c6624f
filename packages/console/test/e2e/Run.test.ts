/** A run in a real browser, with a real Hub and a real Edge: live events, decisions, cancel, messages and hostile output. */
import { assert, describe, it } from "@effect/vitest"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import type { Joined } from "@corral/testing/stack/Joined"
import { makeSession } from "@corral/testing/hub/People"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { untilLettersAct } from "../harness/KeysDialog.ts"
import { decisionsSent, recordSent } from "../harness/SentRequests.ts"

describe.skipIf(!hasChromium)("a run in the console", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  const run = async (text: string, mode = "ask"): Promise<RunId> => (await joined.task({ text, mode })).runId
  const at = (target: string, options = {}): Promise<Page> =>
    browser.page(joined.front.url, token, target, options)
  const inWorkspace = (name: string): string => join(joined.edge.workspace, name)
  const pendingOf = async (runId: RunId): Promise<string> => {
    const { pendingApprovals } = await joined.runWith(runId, (of) => of.pendingApprovals.length > 0)
    return pendingApprovals[0] ?? ""
  }
  const done = (page: Page) => page.locator(".turn-state-completed").waitFor()
  const ended = (runId: RunId, state: string) => joined.runWith(runId, (of) => of.state === state)

  it("shows live events, accepts an approval and shows the changes", async () => {
    const runId = await run("/say Hello **there**\n/think hm\n/write made.txt first\\nsecond\n/say after")
    const page = await at(`/runs/${runId}`)
    await page.getByText("there", { exact: true }).waitFor()
    assert.strictEqual(await page.locator("strong", { hasText: "there" }).count(), 1)
    const approval = page.getByRole("region", { name: "Approval: Write made.txt" })
    await approval.getByText("low risk").waitFor()
    await approval.getByText("+second", { exact: true }).first().waitFor()
    assert.isFalse(existsSync(inWorkspace("made.txt")))
    assert.deepStrictEqual(await seriousOf(page), [])
    await approval.getByRole("button", { name: "Allow once" }).click()
    await done(page)
    await page.locator(".action").getByText("by you").waitFor()
    assert.strictEqual(readFileSync(inWorkspace("made.txt"), "utf8"), "first\nsecond\n")

    await page.getByRole("button", { name: "Changes", exact: true }).click()
    await page.getByRole("button", { name: /made\.txt/ }).waitFor()
    await page.getByText("+second", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Side by side" }).click()
    await page.locator(".diff-pair").first().waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "More actions" }).click()
    await page.getByRole("menuitem", { name: "Collapse all" }).click()
    await page.locator(".diff-pair").first().waitFor({ state: "detached" })
    // Keyboard: focus the file and expand it.
    await page.getByRole("group", { name: "Changed lines" }).focus()
    await page.keyboard.press("n")
    await page.locator(".file-fold:focus").waitFor()
    await page.keyboard.press("Enter")
    await page.locator(".diff-pair").first().waitFor()

    await page.getByRole("tab", { name: "Log" }).click()
    await page.getByRole("button", { name: /run\.completed/ }).waitFor()
    await page.context().close()
  })

  it("sends the reason of a denial to the agent", async () => {
    const runId = await run("/ask")
    const page = await at(`/runs/${runId}`)
    await page.getByRole("button", { name: "Deny and say why…" }).click()
    await page.getByLabel(/^Reason/).fill("not today")
    await page.keyboard.press("Enter")
    await page.getByText("denied: not today").first().waitFor()
    await done(page)
    await page.context().close()
  })

  it("executes the edited action", async () => {
    const runId = await run("/write edited.txt mine")
    const page = await at(`/runs/${runId}`)
    await page.getByRole("button", { name: "Edit and allow" }).click()
    await page.getByLabel("content").fill("yours\n")
    await page.getByRole("button", { name: "Allow edited action once" }).click()
    await done(page)
    assert.strictEqual(readFileSync(inWorkspace("edited.txt"), "utf8"), "yours\n")
    await page.context().close()
  })

  it("accepts a message, and stops", async () => {
    const runId = await run("/wait\n/hang")
    const page = await at(`/runs/${runId}`, { viewport: { width: 390, height: 800 } })
    await page.getByLabel("Message to the agent").fill("go on")
    await page.keyboard.press("Control+Enter")
    await page.getByText("go on", { exact: true }).nth(1).waitFor()
    const wide = await page.evaluate("document.documentElement.scrollWidth")
    assert.strictEqual(wide, 390)
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Stop" }).click()
    await page.locator(".turn-stopped").getByText("you").waitFor()
    await page.locator(".turn-state-cancelled").waitFor()
    await ended(runId, "cancelled")
    await page.context().close()
  })

  it("opens a preview in a new tab on the device for project members", async () => {
    const runId = await run("/wait\n/say after")
    await joined.runWith(runId, ({ state }) => state === "running")
    mkdirSync(inWorkspace("site"))
    writeFileSync(join(inWorkspace("site"), "index.html"), "<title>Made</title><p>Shown at the device</p>")
    const created = await joined.edge.client.ask("POST", "/v1/previews", {
      body: { workspace: "ws", runId, title: "The page", source: { kind: "folder", path: "site" } }
    })
    assert.strictEqual(created.status, 201, created.text)
    const { id } = created.body as { readonly id: string }
    const watcher = await joined.hub.people.signIn("watcher", "web")
    await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: watcher.userId, role: "viewer" }
    })
    const [page, watched] = await Promise.all([
      at(`/runs/${runId}`, { viewport: { width: 390, height: 800 } }),
      browser.page(joined.front.url, watcher.token, `/runs/${runId}`)
    ])
    const block = page.getByRole("region", { name: "Preview: The page" })
    await block.getByText("Opens only in a browser on laptop.").waitFor()
    const coming = page.context().waitForEvent("page")
    await block.getByRole("button", { name: "Open preview" }).click()
    const tab = await coming
    await tab.getByText("Shown at the device").waitFor()
    // The URL no longer contains the ticket, and the tab has no reference to the console.
    assert.match(tab.url(), /^http:\/\/127\.0\.0\.1:\d+\/$/)
    assert.deepStrictEqual(await tab.evaluate("[history.length, window.opener, document.referrer]"), [
      1,
      null,
      ""
    ])
    await tab.reload()
    await tab.getByText("Shown at the device").waitFor()
    assert.match(
      String(await block.getByRole("link", { name: "Open it here" }).getAttribute("href")),
      /^http:\/\/127\.0\.0\.1:\d+\/\?ticket=[\w-]{43}$/
    )
    assert.deepStrictEqual(await seriousOf(page), [])

    const notTheirs = watched.getByRole("region", { name: "Preview: The page" })
    await notTheirs.getByText("Only project members can open it.").waitFor()
    assert.isTrue(await notTheirs.getByRole("button", { name: "Open preview" }).isDisabled())

    // From a page of another site: the cookie comes with its answer and goes with the next request all the same.
    const { url } = (await joined.edge.client.ask("GET", `/v1/previews/${id}`)).body as {
      readonly url: string
    }
    await watched.route("https://hub.example/", (route) =>
      route.fulfill({ contentType: "text/html", body: "" })
    )
    await watched.goto("https://hub.example/")
    const next = watched.context().waitForEvent("page")
    await watched.evaluate(`void window.open(${JSON.stringify(url)}, "_blank", "noopener,noreferrer")`)
    await (await next).getByText("Shown at the device").waitFor()

    assert.strictEqual((await joined.edge.client.ask("DELETE", `/v1/previews/${id}`)).status, 204)
    await block.getByRole("button", { name: "Open preview" }).click()
    await block.getByText("The preview is closed.").waitFor()
    await Promise.all([page, watched].map((each) => each.context().close()))
  })

  it("resumes the event stream after a restart of the Hub", async () => {
    const runId = await run("/say before\n/wait\n/say after")
    const page = await at(`/runs/${runId}`)
    await page.getByText("before", { exact: true }).waitFor()
    await joined.hub.end()
    await page.getByText("Connection lost.").waitFor()
    await joined.hub.start()
    joined.found()
    await joined.online()
    await page.getByText("Connection lost.").waitFor({ state: "detached" })
    await page.getByLabel("Message to the agent").fill("here again")
    await page.getByRole("button", { name: "Send" }).click()
    await done(page)
    assert.strictEqual(await page.getByText("before", { exact: true }).count(), 1)
    await page.getByText("after", { exact: true }).waitFor()
    await page.context().close()
  })

  it("accepts one of two simultaneous decisions and names its decider to the other user", async () => {
    const runId = await run("/write both.txt one")
    const member = await joined.hub.people.signIn("second", "web")
    await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: member.userId, role: "member" }
    })
    const target = `/approvals/${await pendingOf(runId)}`
    const [first, second] = await Promise.all([
      at(target),
      browser.page(joined.front.url, member.token, target)
    ])
    await second.getByRole("button", { name: "Deny and say why…" }).click()
    await second.getByLabel(/^Reason/).fill("not now")
    const [allow, deny] = [
      first.getByRole("button", { name: "Allow once" }),
      second.getByRole("button", { name: "Deny request" })
    ]
    await allow.waitFor()
    // Dispatched together: a click would wait for each page to settle and see the other decision.
    await Promise.all([allow, deny].map((button) => button.dispatchEvent("click")))
    const outcomes = [first, second].map((page) => page.locator(".outcome"))
    await Promise.all(outcomes.map((outcome) => outcome.waitFor()))
    const { state, ...approval } = (await joined.owner.ask<HubApproval>("GET", `/client${target}`)).body
    const allowed = state === "approved"
    assert.strictEqual(approval.decidedBy, allowed ? joined.owner.userId : member.userId)
    const [loser, send] = allowed ? [second, /Allowed, .*by owner/] : [first, "Denied by second"]
    await loser.getByText(send).waitFor()
    await loser.getByText("Another user has already decided this approval.").waitFor()
    await (allowed ? first : second).getByText(allowed ? /Allowed, .*by you/ : "Denied by you").waitFor()
    await ended(runId, "completed")
    assert.strictEqual(existsSync(inWorkspace("both.txt")), allowed)
    await Promise.all([first, second].map((page) => page.context().close()))
  })

  it.each([
    ["a reason", "a run", "Deny and say why…", /^Reason/],
    ["a reason", "an approval", "Deny and say why…", /^Reason/],
    ["an edited action", "a run", "Edit", /^content/],
    ["an edited action", "an approval", "Edit", /^content/]
  ])(
    "keeps %s that was typed on the page of %s when another person decides first",
    async (what, place, open, field) => {
      const runId = await run(`/write ${what.split(" ").at(-1)}-${place.split(" ").at(-1)}.txt x`)
      const approval = await pendingOf(runId)
      const page = await at(place === "a run" ? `/runs/${runId}` : `/approvals/${approval}`)
      await page.getByRole("button", { name: open }).click()
      await page.getByLabel(field).fill("Put it in src instead.")
      const decided = await joined.owner.ask("POST", `/client/approvals/${approval}/decide`, {
        body: { decision: "allow", scope: "once" }
      })
      assert.strictEqual(decided.status, 200, decided.text)
      await ended(runId, "completed")
      const note = page.locator(".unsent-text")
      await note.getByText("Put it in src instead.").waitFor()
      assert.deepStrictEqual(await seriousOf(page), [])
      await note.getByRole("button", { name: "Dismiss" }).click()
      await note.waitFor({ state: "detached" })
      await page.context().close()
    }
  )

  it("is decided by keyboard, never by a single key", async () => {
    const runId = await run("/write keys.txt x")
    await pendingOf(runId)
    await pendingOf(await run("/write other.txt y"))
    const page = await at("/approvals")
    await page.getByRole("heading", { name: "Write keys.txt" }).waitFor()
    await page.getByRole("link", { name: /other\.txt/ }).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await untilLettersAct(page)
    await recordSent(page)
    await page.keyboard.press("j")
    await page.getByRole("heading", { name: "Write other.txt" }).waitFor()
    const [listed, open] = await Promise.all(
      [/keys\.txt/, /other\.txt/].map((name) =>
        page.getByRole("link", { name }).evaluate((link) => getComputedStyle(link).backgroundColor)
      )
    )
    assert.notStrictEqual(open, listed)
    await page.keyboard.press("d")
    await page.locator("[data-key=d]:focus").waitFor()
    assert.lengthOf(await decisionsSent(page), 0)
    await page.keyboard.press("Enter")
    await page.locator(".outcome-denied").waitFor()
    await page.keyboard.press("k")
    await page.getByRole("heading", { name: "Write keys.txt" }).waitFor()
    await page.keyboard.press("a")
    await page.locator("[data-key=a]:focus").waitFor()
    assert.lengthOf(await decisionsSent(page), 1)
    await page.keyboard.press("Enter")
    await page.locator(".outcome-approved").waitFor()
    await ended(runId, "completed")
    assert.isTrue(existsSync(inWorkspace("keys.txt")))
    await page.context().close()
  })

  it("renders only visible lines of ten thousand and marks a file that is too large", async () => {
    const lines = (count: number) => Array.from({ length: count }, (_, nth) => nth + 1).join("\\n")
    const files = Array.from({ length: 6 }, (_, nth) => `/write large${nth}.txt ${lines(1_900)}`)
    const runId = await run([...files, `/write whole.txt ${lines(10_000)}`].join("\n"), "auto_edit")
    await ended(runId, "completed")
    const page = await at(`/runs/${runId}`)
    await page.getByRole("button", { name: "Changes", exact: true }).click()
    const file = page.getByRole("button", { name: /large0\.txt/ })
    await file.waitFor()
    assert.strictEqual(await file.getAttribute("aria-expanded"), "false")
    await page.getByRole("button", { name: "More actions" }).click()
    await page.getByRole("menuitem", { name: "Expand all" }).click()
    // With it goes the focus, which keys to the list must not find in the menu.
    await page.getByRole("menu").waitFor({ state: "detached" })
    await page.getByText("+1", { exact: true }).first().waitFor()
    assert.isBelow(await page.locator(".diff-row").count(), 300)
    const scroller = page.getByRole("group", { name: "Changed lines" })
    assert.isAbove(await scroller.evaluate((element) => element.scrollHeight), 11_000 * 20)
    // By key to the last file, which the Edge does not send whole.
    for (let nth = 0; nth < 7; nth++) {
      await page.keyboard.press("n")
      await page.locator(`.file-fold[data-path="${nth < 6 ? `large${nth}` : "whole"}.txt"]:focus`).waitFor()
    }
    await page.getByText("Too large").waitFor()
    await page.context().close()
  })

  it("ignores repeated and unknown events and shows gaps", async () => {
    const runId = await run("/say real")
    await ended(runId, "completed")
    const page = await at("/approvals")
    const events = [
      [1, "run.message.delta", { v: 1, messageId: "m", channel: "text", text: "twice " }],
      [1, "run.message.delta", { v: 1, messageId: "m", channel: "text", text: "twice " }],
      [2, "run.later", { v: 1, text: "never shown" }],
      [3, "run.message.completed", { v: 9, text: "never shown" }]
    ].map(([seq, type, payload]) =>
      JSON.stringify({ id: `evt_${seq}`, seq, type, runId, createdAt: new Date().toISOString(), payload })
    )
    const afters: Array<string | null> = []
    await page.route("**/events?*", (route) => {
      if (!(route.request().headers()["accept"] ?? "").includes("text/event-stream")) return route.continue()
      afters.push(new URL(route.request().url()).searchParams.get("after"))
      if (afters.length === 1)
        return route.fulfill({
          contentType: "text/event-stream",
          body: events.map((line) => `data: ${line}\n\n`).join("")
        })
      if (afters.length > 2) return route.continue()
      const details = { reason: "replay_gap", lastSeq: 5 }
      return route.fulfill({
        status: 409,
        json: { code: "conflict", message: "Gone.", requestId: "req_1", details }
      })
    })
    await page.goto(`/runs/${runId}`)
    await page.getByText(/^Events 4 to \d+ are missing/).waitFor()
    assert.deepStrictEqual(afters.slice(0, 2), ["0", "3"])
    assert.strictEqual(await page.getByText("twice", { exact: true }).count(), 1)
    assert.strictEqual(await page.getByText("never shown").count(), 0)
    await page.getByText("This message is incomplete.").waitFor()
    await page.unroute("**/events?*")
    await page.getByText("2 unrecognized events").waitFor()
    await page.context().close()
  })

  it("shows hostile output as text and executes none of it", async () => {
    const hit = "window.__hit=1"
    const html = `<img src=x onerror="${hit}"><script>${hit}</script><iframe srcdoc="<script>parent.${hit}</script>"></iframe>`
    writeFileSync(
      inWorkspace("hostile.txt"),
      `\u001b[31mred\u001b[0m\u001b]0;title\u0007 \u202Etxt.exe\u2066 ${html}\u0000\r\nlast\n${"w".repeat(1_000_000)}\n`
    )
    const runId = await run(
      [
        `/say ${html} [link](javascript:${hit}) ![image](https://tracker.example/x.png) [good](https://example.com)`,
        "/say \u202Ereversed \u2067 and \u200F done",
        `/think <svg onload=${hit}>`,
        `/say ${">".repeat(3_000)} deep ${"[".repeat(3_000)}`,
        "/garbage 26",
        "/read hostile.txt",
        "/longline 1",
        "/say over"
      ].join("\n")
    )
    const requestedUrls: Array<string> = []
    const page = await at("/approvals")
    page.on("request", (request) => requestedUrls.push(request.url()))
    await page.goto(`/runs/${runId}`)
    await page.getByText("over", { exact: true }).waitFor()
    await done(page)
    const thread = page.getByRole("log", { name: "Thread" })
    const folds = thread.locator("details:not([open]) > summary")
    while ((await folds.count()) > 0) await folds.first().click()
    await thread.getByText("txt.exe").first().waitFor()
    await page.getByRole("button", { name: "Show all", exact: true }).click()
    const text = await thread.innerText()
    assert.include(text, "<script>window.__hit=1</script>")
    assert.include(text, "<U+202E>txt.exe<U+2066>")
    assert.notMatch(text, /[\u202a-\u202e\u2066-\u2069\u200f]/)
    assert.strictEqual(await page.evaluate("window.__hit"), undefined)
    assert.strictEqual(await thread.locator("img, iframe, script").count(), 0)
    const links = await thread.locator("a").evaluateAll((all) => all.map((a) => a.getAttribute("href") ?? ""))
    assert.deepStrictEqual(
      links.filter((href) => !/^(https?:|mailto:|\/)/.test(href)),
      []
    )
    for (const url of requestedUrls) assert.isTrue(url.startsWith(joined.front.url), url)
    assert.deepStrictEqual(browser.complaints, [])
    await page.context().close()
  })

  // Last, because it restarts Hub and Edge.
  it("is available in another browser after restarts of Hub and Edge", async () => {
    const session = await makeSession(joined.owner, { id: joined.projectId }, "Kept")
    const started = await joined.owner.ask<Task>("POST", "/web/agent-tasks", {
      body: {
        projectId: joined.projectId,
        sessionId: session.id,
        targetId: joined.deviceId,
        workspace: "ws",
        agentId: "scripted",
        mode: "ask",
        input: { text: "/say Good evening\n/write kept.txt for tomorrow\n/say Good night" }
      }
    })
    assert.strictEqual(started.status, 201, started.text)
    const { runId = assert.fail("no run") } = await joined.taskWith(
      started.body.id,
      (of) => of.runId !== undefined
    )
    const approvalId = await pendingOf(runId)
    const body = { decision: "allow", reason: "before night" }
    await joined.owner.ask("POST", `/client/approvals/${approvalId}/decide`, { body })
    await ended(runId, "completed")
    await joined.edge.stop()
    await joined.hub.end()
    await Promise.all([joined.hub.start(), joined.edge.start()])
    joined.found()
    await joined.online()

    const page = await at("/")
    await page.getByRole("link", { name: "Projects", exact: true }).click()
    await page.getByRole("link", { name: "Atlas" }).click()
    await page.getByRole("main").getByRole("link", { name: "Kept" }).click()
    await page.getByText("Good night", { exact: true }).waitFor()
    await page.getByRole("button", { name: /^Worked for/ }).click()
    await page.getByText("Good evening", { exact: true }).waitFor()
    await page.getByText(/Allowed, .*by you/).waitFor()
    await page.getByRole("button", { name: /^1 file changed/ }).click()
    await page.getByText("+for tomorrow", { exact: true }).waitFor()
    await page.goto(`/approvals/${approvalId}`)
    await page.getByText(/Allowed, .*by you/).waitFor()
    await page.context().close()
  })
})
