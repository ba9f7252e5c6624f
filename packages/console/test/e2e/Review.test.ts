/** The side panel in a real browser, with a real Hub and a real Edge: changes as a review, files, previews and the log. */
import { afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Session } from "@corral/domain/session/Session"
import { makeSession } from "@corral/testing/hub/People"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { BrowserContextOptions, Locator, Page } from "playwright-core"
import {
  type ConsoleBrowser,
  drawn,
  hasChromium,
  primaryActions,
  seriousOf
} from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { storedAs } from "../harness/SentRequests.ts"

const desktop = { width: 1_280, height: 800 }
const phone = { width: 390, height: 844 }

const hours = Array.from({ length: 30 }, (_, nth) => `export const hour${nth} = open(${nth})`)

describe.skipIf(!hasChromium)("the side panel", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  let session: Session
  let first: RunId
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    session = await newSession()
    write("hours.js", hours.join("\n"))
    write("before.txt", "the same\ntext\nas before\n")
    write("tool.sh", "echo tool\n")
    first = await turn(session, "Correct the opening hours", async (runId) => {
      write(
        "hours.js",
        hours.map((line, nth) => (nth === 12 ? "export const hour12 = open(8)" : line)).join("\n")
      )
      write("src/app/deep/one.ts", "export const one = 1\n")
      write("src/app/deep/two.ts", "/** Two. */\nexport const two = 'two'\n")
      write("huge.min.js", `${"x".repeat(100_000)}\nshort\n`)
      write("picture.png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]))
      write("large.txt", Array.from({ length: 900 }, (_, nth) => `row ${nth}`).join("\n"))
      renameSync(inWorkspace("before.txt"), inWorkspace("after.txt"))
      chmodSync(inWorkspace("tool.sh"), 0o755)
      const created = await joined.edge.client.ask("POST", "/v1/previews", {
        body: { workspace: "ws", runId, title: "The page", source: { kind: "folder", path: "src" } }
      })
      assert.strictEqual(created.status, 201, created.text)
    })
  })

  const prefer = (diffLayout: "split" | null) =>
    joined.owner.ask("PATCH", "/client/preferences", { body: { diffLayout } })
  // Every page is of the same user.
  afterEach(() => prefer(null))

  const inWorkspace = (name: string): string => join(joined.edge.workspace, name)
  const write = (name: string, content: string | Buffer): void => {
    mkdirSync(join(inWorkspace(name), ".."), { recursive: true })
    writeFileSync(inWorkspace(name), content)
  }

  const newSession = async (): Promise<Session> => {
    const created = await makeSession(joined.owner, { id: joined.projectId }, "Opening hours")
    const agent = await joined.owner.ask("POST", `/client/sessions/${created.id}/agents`, {
      body: { agentId: "scripted", targetId: joined.deviceId, workspace: "ws", mode: "auto_edit" }
    })
    assert.strictEqual(agent.status, 201, agent.text)
    return created
  }

  const runsOf = async ({ id }: Session): Promise<ReadonlyArray<HubRun>> =>
    (
      await joined.owner.ask<{ readonly items: ReadonlyArray<HubRun> }>(
        "GET",
        `/client/runs?sessionId=${id}&limit=200`
      )
    ).body.items

  /** Sends a message, and waits for its run. */
  const send = async (to: Session, text: string): Promise<RunId> => {
    const sent = await joined.owner.ask("POST", `/client/sessions/${to.id}/messages`, { body: { text } })
    assert.strictEqual(sent.status, 201, sent.text)
    const run = await until(
      async () => (await runsOf(to)).find(({ input }) => input.text === text),
      "the run of the message",
      30_000
    )
    return run.id
  }

  /** Starts a turn that waits until `go on`. */
  const startTurn = async (of: Session, title: string): Promise<RunId> => {
    const runId = await send(
      of,
      `/say ${title}\n/artifact ${title.split(" ")[0]}.txt text/plain made\n/wait\n/say Done.`
    )
    const hasArtifact = async () =>
      (await joined.owner.ask("GET", `/client/runs/${runId}/events?limit=200`)).text.includes(
        "run.artifact.ready"
      )
    await until(async () => (await hasArtifact()) || undefined, "the artifact", 30_000)
    return runId
  }
  const endTurn = async (runId: RunId): Promise<void> => {
    await joined.owner.ask("POST", `/client/runs/${runId}/input`, { body: { text: "go on" } })
    await joined.runWith(runId, ({ state }) => state === "completed")
  }
  /** A turn that changes files. */
  const turn = async (
    of: Session,
    title: string,
    change: (runId: RunId) => Promise<void> | void
  ): Promise<RunId> => {
    const runId = await startTurn(of, title)
    await change(runId)
    await endTurn(runId)
    return runId
  }

  const open = async (of: Session, runId?: RunId, options: BrowserContextOptions = {}, tab = "changes") => {
    const run = runId === undefined ? "" : `&run=${runId}`
    const target = `/sessions/${of.id}?panel=${tab}${run}`
    const page = await browser.page(joined.front.url, token, target, { viewport: desktop, ...options })
    await page.getByRole("region", { name: /^(Side panel|侧边面板)$/ }).waitFor()
    return page
  }
  const head = (page: Page, path: string) => page.locator(`.file-fold[data-path="${path}"]`)
  const line = (page: Page, name: string | RegExp) => page.getByRole("group", { name })
  const bar = (page: Page) => page.getByRole("region", { name: "Changes", exact: true }).locator(".panel-bar")
  const list = (page: Page) => page.getByRole("group", { name: "Changed lines" })

  it("shows every kind of change, with syntax colours and changed words", async () => {
    const page = await open(session, first)
    await head(page, "hours.js").waitFor()
    await bar(page).getByText("8 files").waitFor()
    await line(page, "line 13, added: export const hour12 = open(8)").waitFor()
    await line(page, "line 13, removed: export const hour12 = open(12)").waitFor()
    assert.deepStrictEqual(await page.locator(".diff-removed .diff-word").allTextContents(), ["12"])
    assert.deepStrictEqual(await page.locator(".diff-added .diff-word").allTextContents(), ["8"])
    await page.locator(".diff-added .hljs-keyword").first().waitFor()
    await page.getByText("Renamed without other changes.").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])

    // A line of 100,000 characters, in steps.
    await list(page).focus()
    await page.keyboard.press("n")
    await page.keyboard.press("n")
    await page.keyboard.press("n")
    await page.locator('.file-fold[data-path="huge.min.js"]:focus').waitFor()
    await page.getByRole("button", { name: "Show 20,000 characters" }).click()
    await page.getByRole("button", { name: "Show 20,000 characters" }).waitFor()
    const width = await list(page).evaluate((element) => element.scrollWidth - element.clientWidth)
    assert.strictEqual(width, 0)

    // A large file is folded until its button opens it.
    await page.keyboard.press("n")
    await page.locator('.file-fold[data-path="large.txt"]:focus').waitFor()
    assert.strictEqual(await head(page, "large.txt").getAttribute("aria-expanded"), "false")
    await page.getByRole("button", { name: "Show 900 changed lines" }).click()
    await line(page, "line 1, added: row 0").waitFor()
    for (const path of ["picture.png", "src/app/deep/one.ts", "src/app/deep/two.ts", "tool.sh"]) {
      await page.keyboard.press("n")
      await page.locator(`.file-fold[data-path="${path}"]:focus`).waitFor()
    }
    await page.getByText("Only the mode of the file changed.").waitFor()
    await page.getByText("Binary file. Its content is not shown.").waitFor()

    await page.getByRole("button", { name: "File tree" }).click()
    const tree = page.getByRole("navigation", { name: "File tree" })
    await tree.getByRole("button", { name: /^src\/app\/deep/, expanded: true }).click()
    assert.strictEqual(await tree.getByRole("button", { name: /one\.ts/ }).count(), 0)
    await tree.getByRole("button", { name: /hours\.js/ }).click()
    await page.locator('.file-fold[data-path="hours.js"]:focus').waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })

  it("reviews by keyboard alone, survives a reload, and sends all comments as one message", async () => {
    const reviewed = await newSession()
    const runId = await turn(reviewed, "Two files", () => {
      write("a.ts", "const a = 1\nconst b = 2\nconst c = 3\n")
      write("b.ts", "const d = 4\n")
    })
    const page = await open(reviewed)
    await head(page, "a.ts").waitFor()
    await list(page).focus()
    await page.keyboard.press("n")
    await page.locator('.file-fold[data-path="a.ts"]:focus').waitFor()
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.locator('[aria-label^="line 2, added"]:focus').waitFor()
    // A range: this line and the next one.
    await page.keyboard.press("Shift+J")
    await page.locator('[aria-label^="line 3, added"]:focus').waitFor()
    await page.keyboard.press("c")
    await page.getByRole("textbox", { name: "Comment on lines 2–3" }).waitFor()
    await page.keyboard.type("Why jnvc?")
    await page.keyboard.press("Enter")
    await page.keyboard.type("```")
    await page.keyboard.press("Control+Enter")
    await page.getByRole("article", { name: "Comment on lines 2–3" }).and(page.locator(":focus")).waitFor()
    await page.getByRole("status").getByText("1 comment, not sent").waitFor()
    assert.deepStrictEqual(await primaryActions(page), ["Send 1 comment"])

    await page.keyboard.press("n")
    await page.locator('.file-fold[data-path="b.ts"]:focus').waitFor()
    await page.keyboard.press("v")
    await page.getByText("viewed 1 of 2").waitFor()
    assert.strictEqual(await head(page, "b.ts").getAttribute("aria-expanded"), "false")
    await page.reload()
    await page.getByText("viewed 1 of 2").waitFor()
    assert.strictEqual(await head(page, "b.ts").getAttribute("aria-expanded"), "false")
    await page.getByRole("article", { name: "Comment on lines 2–3" }).getByText("Why jnvc?").waitFor()

    await list(page).focus()
    await page.keyboard.press("n")
    await page.keyboard.press("n")
    await page.keyboard.press("v")
    await page.keyboard.press("j")
    await page.locator('[aria-label^="line 1, added: const d"]:focus').waitFor()
    await page.keyboard.press("c")
    await page.keyboard.type("Use the constant.")
    await page.keyboard.press("Control+Shift+Enter")
    await page.getByText("2 comments sent.").waitFor()
    assert.strictEqual(await page.getByRole("article").filter({ hasText: "not sent" }).count(), 0)

    const run = await until(
      async () => (await runsOf(reviewed)).find(({ id }) => id !== runId),
      "the turn of the comments",
      30_000
    )
    const expected = [
      "Please address these 2 comments on the changes.",
      "",
      "1. `a.ts`, lines 2–3",
      "",
      "   ```diff",
      "   +const b = 2",
      "   +const c = 3",
      "   ```",
      "",
      "   Why jnvc?",
      "   ```",
      "",
      "2. `b.ts`, line 1",
      "",
      "   ```diff",
      "   +const d = 4",
      "   ```",
      "",
      "   Use the constant."
    ].join("\n")
    // What the agent received, at its Edge. The Hub knows the run before the Edge does.
    await joined.runWith(run.id, ({ lastSeq }) => lastSeq > 0)
    const { body } = await joined.edge.client.ask("GET", `/v1/runs/${run.id}`)
    assert.strictEqual((body as HubRun).input.text, expected)
    await joined.owner.ask("POST", `/client/runs/${run.id}/cancel`)
    await browser.end(page)
  })

  it("comments by pointer on a line and on a range, and edits and removes comments", async () => {
    const page = await open(session, first)
    const number = (name: string) => line(page, name).locator(".diff-number").last()
    await line(page, "line 13, added: export const hour12 = open(8)").hover()
    await page.getByRole("button", { name: "Comment on line 13" }).click()
    await page.getByRole("textbox", { name: "Comment on line 13" }).fill("First.")
    // Another field does not take the place of one with text.
    await number("line 15: export const hour14 = open(14)").click()
    assert.strictEqual(await page.getByRole("textbox", { name: "Comment on line 13" }).inputValue(), "First.")
    await page.getByRole("button", { name: "Add comment" }).click()
    const comment = page.getByRole("article", { name: "Comment on line 13" })
    await comment.getByRole("button", { name: "Edit" }).click()
    await page.getByRole("textbox", { name: "Comment on line 13" }).fill("Changed.")
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Save comment" }).click()
    await comment.getByText("Changed.").waitFor()

    await number("line 14: export const hour13 = open(13)").hover()
    await page.mouse.down()
    await number("line 16: export const hour15 = open(15)").hover()
    const selected = page.locator(".line-selected-both, .line-selected-new")
    await selected.nth(2).waitFor()
    assert.strictEqual(await selected.count(), 3)
    await page.mouse.up()
    await page.getByRole("textbox", { name: "Comment on lines 14–16" }).waitFor()
    await page.keyboard.press("Escape")
    await number("line 12: export const hour11 = open(11)").click({ modifiers: ["Shift"] })
    await page.getByRole("textbox", { name: "Comment on lines 12–14" }).waitFor()
    await page.getByRole("button", { name: "Cancel" }).click()
    await page.getByRole("textbox", { name: /^Comment on/ }).waitFor({ state: "detached" })
    await comment.getByRole("button", { name: "Remove" }).click()
    await comment.waitFor({ state: "detached" })
    await page.getByRole("status").getByText("1 comment, not sent").waitFor({ state: "detached" })
    await browser.end(page)
  })

  it("shows changes side by side where the page is wide, and remembers it", async () => {
    const page = await open(session, first)
    await storedAs(page, () => page.getByRole("button", { name: "Side by side" }).click())
    await page.locator(".diff-pair").first().waitFor()
    assert.isAtLeast(await list(page).evaluate((element) => element.clientWidth), 900)
    await line(page, "line 13, changed: export const hour12 = open(8)").hover()
    await page.getByRole("button", { name: "Comment on removed line 13" }).click()
    await page.getByRole("textbox", { name: "Comment on removed line 13" }).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.reload()
    await page.locator(".diff-pair").first().waitFor()
    // Too narrow for two columns of code.
    await page.setViewportSize({ width: 1_000, height: 800 })
    await page.locator(".diff-line").first().waitFor()
    assert.strictEqual(await page.getByRole("button", { name: "Side by side" }).count(), 0)
    await browser.end(page)
  })

  it.each([
    { width: 1_200, hasSidebar: false },
    { width: 1_280, hasSidebar: false },
    { width: 1_679, hasSidebar: false },
    { width: 1_680, hasSidebar: true },
    { width: 2_560, hasSidebar: true }
  ])("shows two columns of code beside the thread at $width", async ({ hasSidebar, width }) => {
    const page = await open(session, first, { viewport: { width, height: 800 } })
    await page.getByRole("button", { name: "Side by side" }).click()
    await page.locator(".diff-pair").first().waitFor()
    const boxOf = async (place: Locator) => (await place.boundingBox()) ?? assert.fail("not shown")
    const [thread, review] = [await boxOf(page.locator(".thread-main")), await boxOf(page.locator(".review"))]
    assert.isAtLeast(thread.width, 352)
    assert.isAtLeast(review.width, 840)
    assert.isAtMost(Math.abs(thread.x + thread.width - review.x), 2)
    assert.isAtMost(Math.abs(review.x + review.width - width), 2)
    // What is written there is seen, and one way leads elsewhere.
    await page.getByRole("textbox", { name: "Message" }).click()
    assert.strictEqual(await page.locator(".sidebar").isVisible(), hasSidebar)
    const back = page.locator(".thread-head").getByRole("link", { name: "Home" })
    assert.strictEqual(await back.count(), hasSidebar ? 0 : 1)
    assert.deepStrictEqual(await seriousOf(page), [])
    // Unified again, everything has its place back.
    await page.getByRole("button", { name: "Side by side" }).click()
    await page.locator(".diff-pair").first().waitFor({ state: "detached" })
    assert.isTrue(await page.locator(".sidebar").isVisible())
    await browser.end(page)
  })

  it("keeps the title and the buttons of a working session in a narrow thread", async () => {
    const live = await newSession()
    await turn(live, "A file", () => write("live.ts", "const live = 1\n"))
    const second = await startTurn(live, "Working")
    const runs = await runsOf(live)
    const page = await open(live, runs.find(({ id }) => id !== second)?.id)
    await page.getByRole("button", { name: "Side by side" }).click()
    await page.locator(".diff-pair").first().waitFor()
    const header = page.locator(".thread-head")
    await header.getByText("Working").waitFor()
    assert.isFalse(await header.evaluate((element) => element.scrollWidth > element.clientWidth))
    assert.isAtLeast((await header.locator("h1").boundingBox())?.width ?? 0, 48)
    await page.getByRole("button", { name: "Stop" }).first().waitFor()
    await endTurn(second)
    await browser.end(page)
  })

  it("shows one column on a phone, also where two were chosen", async () => {
    const page = await open(session, first, { viewport: phone })
    await prefer("split")
    const preferences = page.waitForResponse(
      (response) => response.request().method() === "GET" && response.url().endsWith("/client/preferences")
    )
    await page.reload()
    await preferences
    await page.locator(".diff-line").first().waitFor()
    await drawn(page)
    assert.strictEqual(await page.locator(".diff-pair").count(), 0)
    const isSideways = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert.isFalse(isSideways)
    await browser.end(page)
  })

  it("marks the changes as stale when a turn starts, and keeps comments at their lines", async () => {
    const reviewed = await newSession()
    await turn(reviewed, "First", () => write("kept.txt", "one\ntwo\nthree\n"))
    const page = await open(reviewed)
    await line(page, "line 2, added: two").locator(".diff-number").last().click()
    await page.getByRole("textbox", { name: "Comment on line 2" }).fill("Keep me.")
    await page.getByRole("button", { name: "Add comment" }).click()
    const second = await startTurn(reviewed, "Second")
    write("kept.txt", "zero\none\ntwo\nthree\nfour\n")
    await page.getByText("The files changed since.").waitFor()
    // The reader's lines did not move.
    await line(page, "line 2, added: two").waitFor()
    await page.getByRole("button", { name: "Load again" }).click()
    await line(page, "line 1, added: zero").waitFor()
    await page.getByText("The files changed since.").waitFor({ state: "detached" })
    await page.getByRole("article", { name: "Comment on line 3" }).getByText("Keep me.").waitFor()
    await endTurn(second)
    await page.getByText("The files changed since.").waitFor()
    await page.getByRole("button", { name: "Load again" }).click()
    await page.getByText("The files changed since.").waitFor({ state: "detached" })
    await page.getByRole("article", { name: "Comment on line 3" }).waitFor()

    // An earlier turn, and back.
    await page.getByRole("button", { name: "This turn", exact: true }).click()
    await page.getByRole("menuitemradio", { name: /First/ }).click()
    await line(page, "line 2, added: two").waitFor()
    assert.strictEqual(await page.getByRole("article", { name: /^Comment on/ }).count(), 0)
    await page.getByRole("button", { name: "Turn 1" }).waitFor()
    await browser.end(page)
  })

  it("loads the changes of a turn in progress again, and a changed file is no longer viewed", async () => {
    const reviewed = await newSession()
    const runId = await startTurn(reviewed, "Slowly")
    write("slow.txt", "one\ntwo\n")
    write("same.txt", "the same\n")
    const page = await open(reviewed, runId, { viewport: { width: 1_000, height: 800 } })
    for (const path of ["same.txt", "slow.txt"])
      await page.getByRole("checkbox", { name: `Viewed: ${path}` }).check()
    await page.getByText("viewed 2 of 2").waitFor()
    await head(page, "slow.txt").click()
    await line(page, "line 2, added: two").locator(".diff-number").last().click()
    await page.getByRole("textbox", { name: "Comment on line 2" }).fill("Keep me.")
    // In a sheet, Escape neither closes the sheet nor loses the text.
    await page.keyboard.press("Escape")
    assert.strictEqual(
      await page.getByRole("textbox", { name: "Comment on line 2" }).inputValue(),
      "Keep me."
    )
    // Nor does another tab.
    await page.getByRole("tab", { name: "Log" }).click()
    await page.getByRole("tab", { name: "Changes" }).click()
    assert.strictEqual(
      await page.getByRole("textbox", { name: "Comment on line 2" }).inputValue(),
      "Keep me."
    )
    await page.getByRole("button", { name: "Add comment" }).click()
    write("slow.txt", "zero\none\ntwo\n")
    await page.getByRole("button", { name: "More actions" }).click()
    await page.getByRole("menuitem", { name: "Load again" }).click()
    await page.getByText("viewed 1 of 2").waitFor()
    await page.getByRole("article", { name: "Comment on line 3" }).getByText("Keep me.").waitFor()
    write("slow.txt", "rewritten\n")
    await endTurn(runId)
    await page.getByText("The files changed since.").waitFor()
    await page.getByRole("button", { name: "Load again" }).click()
    await line(page, "line 1, added: rewritten").waitFor()
    await page.getByText("These lines are no longer in the changes.").waitFor()
    await page.getByRole("article", { name: "Comment on line 2" }).getByText("+two").waitFor()
    await browser.end(page)
  })

  it("renders only visible lines of 200 files, below the head of the file in view", async () => {
    const many = await newSession()
    const lines = Array.from({ length: 60 }, (_, nth) => `const value${nth} = ${nth}`).join("\n")
    await turn(many, "Many", () => {
      for (let nth = 100; nth < 299; nth++) write(`many/file${nth}.ts`, `${lines}\n`)
      write("many/long.txt", `${"y".repeat(100_000)}\n`)
    })
    const page = await open(many)
    await line(page, "line 1, added: const value0 = 0").first().waitFor()
    await bar(page).getByText("200 files").waitFor()
    assert.isBelow(await page.locator(".diff-row").count(), 200)
    const height = await list(page).evaluate((element) => element.scrollHeight)
    assert.isAbove(height, 199 * 60 * 20)
    await list(page).evaluate(async (element) => {
      for (let nth = 0; nth < 120; nth++) {
        element.scrollTop += 240
        await new Promise((resolve) => requestAnimationFrame(resolve))
      }
    })
    assert.isBelow(await page.locator(".diff-row").count(), 200)
    const [top, sticky] = await list(page).evaluate((element) => [
      element.getBoundingClientRect().top,
      element.querySelector(".virtual-head")?.getBoundingClientRect().top
    ])
    assert.isAtMost(Math.abs((sticky ?? 0) - (top ?? 0)), 1)
    await browser.end(page)
  })

  it("fills the screen of a phone", async () => {
    const page = await open(session, first, { viewport: phone, hasTouch: true, isMobile: true })
    await head(page, "hours.js").waitFor()
    assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), 390)
    const box = await page.getByRole("region", { name: "Side panel" }).boundingBox()
    assert.deepStrictEqual([box?.width, box?.height], [390, 844])
    await line(page, "line 13, added: export const hour12 = open(8)").locator(".diff-number").last().tap()
    await page.getByRole("textbox", { name: "Comment on line 13" }).fill("From the train.")
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Add comment" }).tap()
    await page.getByRole("button", { name: "Send 1 comment" }).waitFor()
    await browser.end(page)
  })

  it("shows the log as lines with details and a filter, artifacts and previews", async () => {
    const page = await open(session, first, {}, "log")
    await page.getByRole("button", { name: /run\.created/ }).click()
    await page.getByText('"workspace": "ws"').waitFor()
    await page.getByLabel("Event type").selectOption("run.completed")
    await page.getByText("1 event", { exact: true }).waitFor()
    assert.strictEqual(await page.getByRole("button", { name: /run\.created/ }).count(), 0)
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("tab", { name: "Artifacts" }).click()
    await page.getByRole("link", { name: "Correct.txt" }).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("tab", { name: "Preview" }).click()
    const preview = page.getByRole("region", { name: "Preview: The page" })
    await preview.getByRole("button", { name: "Open preview" }).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })

  // Last, because it stops the device.
  it("shows files of the workspace, and says when the device is offline", async () => {
    const page = await open(session, first, {}, "files")
    await page.getByRole("button", { name: /^src/ }).click()
    await page.getByRole("button", { name: /^app/ }).click()
    await page.getByRole("button", { name: /^deep/ }).click()
    await page.getByRole("button", { name: /^two\.ts/ }).click()
    await page.getByText("export const two").waitFor()
    await page.locator(".hljs-string", { hasText: "two" }).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "All files" }).click()
    await page.getByRole("button", { name: /^picture\.png/ }).click()
    await page.getByText("Image. It can't be shown here").waitFor()
    await page.getByRole("button", { name: "All files" }).click()
    await joined.edge.stop()
    await joined.online(joined.deviceId, "offline")
    await page.getByRole("button", { name: /^hours\.js/ }).click()
    await page.getByText("laptop is offline. Its files can't be read now.").waitFor()
    await browser.end(page)
  })
})
