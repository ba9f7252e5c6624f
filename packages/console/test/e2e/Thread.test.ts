/** The thread of a session in two real browsers: turns, decisions, queued messages and scrolling, by clicking and typing. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { makeSession } from "@corral/testing/hub/People"
import { PIXEL } from "@corral/testing/hub/HubClient"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { announcements, recordAnnouncements } from "../harness/Announcements.ts"
import {
  type ConsoleBrowser,
  drawn,
  hasChromium,
  primaryActions,
  seriousOf
} from "../harness/ConsoleBrowser.ts"
import { type WebSignIn, withJoinedConsole } from "../harness/JoinedConsole.ts"
import { turnWith } from "../harness/SessionFixtures.ts"

const WORDS = ["one", "two", "three", "four", "five"]

describe.skipIf(!hasChromium)("a thread", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let owner: WebSignIn
  let mate: WebSignIn
  withJoinedConsole((opened) => ({ joined, browser, owner } = opened))
  beforeAll(async () => {
    mate = await joined.hub.people.signIn("mate", "web")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: mate.userId, role: "member" }
    })
    assert.strictEqual(added.status, 201, added.text)
  })

  /** A session with the scripted agent. */
  const talk = async (title: string, mode = "ask"): Promise<Session> => {
    const session = await makeSession(joined.owner, { id: joined.projectId }, title)
    const added = await joined.owner.ask("POST", `/client/sessions/${session.id}/agents`, {
      body: { agentId: "scripted", targetId: joined.deviceId, workspace: "ws", mode }
    })
    assert.strictEqual(added.status, 201, added.text)
    return session
  }
  const open = async ({ id }: Session, { token }: WebSignIn, options = {}): Promise<Page> => {
    const page = await browser.page(joined.front.url, token, `/sessions/${id}`, options)
    await field(page).waitFor()
    return page
  }
  const field = (page: Page) => page.getByRole("textbox", { name: "Message" })
  const thread = (page: Page) => page.getByRole("log", { name: "Thread" })
  const answers = (page: Page) => page.locator(".turn-settled .answer")
  const sendText = async (page: Page, text: string): Promise<void> => {
    await field(page).fill(text)
    await field(page).press("Enter")
  }

  it("has five turns of two people, each an answer and one folded line, in both browsers", async () => {
    const session = await talk("Five turns")
    const [first, second] = await Promise.all([open(session, owner), open(session, mate)])
    for (const [turn, word] of WORDS.entries()) {
      await sendText(turn % 2 === 0 ? first : second, `/think hm\n/list\n/say ${word}`)
      for (const page of [first, second]) {
        await answers(page).nth(turn).getByText(word, { exact: true }).waitFor()
        assert.strictEqual(await page.locator(".turn .work").count(), 0, "work is folded")
      }
    }
    await first
      .getByRole("button", { name: /^Worked for .* · 1 search$/ })
      .nth(4)
      .waitFor()
    await first.getByRole("heading", { name: /^mate/ }).first().waitFor()
    await second
      .getByRole("heading", { name: /^owner/ })
      .first()
      .waitFor()
    const unread = () =>
      joined.owner.ask<Session>("GET", `/client/sessions/${session.id}`).then(({ body }) => body.unread)
    await until(async () => (await unread()) === 0 || undefined, "the thread marked as read", 10_000)

    // A row that unfolds stays where it is.
    const fold = first.getByRole("button", { name: /^Worked for/ }).last()
    const before = await fold.boundingBox()
    await fold.click()
    await first.locator(".action", { hasText: "files" }).waitFor()
    await drawn(first)
    const after = await fold.boundingBox()
    assert.approximately(after?.y ?? 0, before?.y ?? -1, 2)
    assert.deepStrictEqual(await seriousOf(first), [])
    await browser.end(first, second)
  })

  it("tells both who decided when two people decide at once", async () => {
    const session = await talk("Two deciders")
    const [first, second] = await Promise.all([open(session, owner), open(session, mate)])
    await sendText(first, "/write both.txt one\n/say over")
    const cards = [first, second].map((page) =>
      page.getByRole("region", { name: "Approval: Write both.txt" })
    )
    const [allow, deny] = [
      cards[0]?.getByRole("button", { name: "Allow once" }),
      cards[1]?.getByRole("button", { name: "Deny", exact: true })
    ]
    await Promise.all([allow?.waitFor(), deny?.waitFor()])
    assert.deepStrictEqual(await seriousOf(first), [])
    // Dispatched together: a click would wait for each page to settle and see the other decision.
    await Promise.all([allow, deny].map((button) => button?.dispatchEvent("click")))
    await answers(first).getByText("over", { exact: true }).waitFor()
    const allowed = existsSync(join(joined.edge.workspace, "both.txt"))
    const [winner, loser] = allowed ? ["owner", second] : ["mate", first]
    await loser.locator(".decided-note").getByText(`by ${winner}`).waitFor()
    await loser.getByRole("button", { name: "Dismiss" }).click()
    await loser.locator(".decided-note").waitFor({ state: "detached" })
    await browser.end(first, second)
  })

  it("copies a command, its output and an answer, and keeps a reason that was typed when the request ended", async () => {
    const session = await talk("Reasons")
    const page = await open(session, owner, { permissions: ["clipboard-read", "clipboard-write"] })
    const copies = async (name: string, text: string): Promise<void> => {
      await page.getByRole("button", { name: "Copied", exact: true }).first().waitFor({ state: "detached" })
      await page.getByRole("button", { name, exact: true }).last().click()
      const clipboard = () => page.evaluate("navigator.clipboard.readText()")
      await until(async () => (await clipboard()) === text || undefined, `a copy of ${text}`)
    }
    await sendText(page, "/shell echo one && echo two\n/say Use `open(9)` **now**.")
    await page.getByRole("button", { name: "Deny and say why…" }).click()
    await copies("Copy command", "echo one && echo two")
    await page.getByLabel("Reason for the agent (optional)").fill("Put it in src instead.")
    const run = await turnWith(joined, session, ({ pendingApprovals }) => pendingApprovals.length > 0)
    const decided = await joined.owner.ask("POST", `/client/approvals/${run.pendingApprovals[0]}/decide`, {
      body: { decision: "allow", scope: "once" }
    })
    assert.strictEqual(decided.status, 200, decided.text)
    const composer = page.locator(".composer textarea")
    await composer.and(page.getByText("Put it in src instead.")).waitFor()
    await answers(page).getByText("open(9)").waitFor()
    await copies("Copy answer", "Use `open(9)` **now**.")
    await page.getByRole("button", { name: /^Worked for/ }).click()
    await page.locator("summary.action-line").click()
    await copies("Copy output", "one\ntwo\n")
    await browser.end(page)
  })

  it("leaves focus and keys to the text when an approval appears, and returns the focus", async () => {
    const session = await talk("Focus")
    const page = await open(session, owner)
    await sendText(page, "/sleep 700\n/write focus.txt x\n/say over")
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "")
    await field(page).focus()
    const card = page.getByRole("region", { name: "Approval: Write focus.txt" })
    // Letters that would answer an approval.
    while (!(await card.isVisible())) await page.keyboard.type("a")
    await page.keyboard.type("yes and no")
    assert.match(await field(page).inputValue(), /^a+yes and no$/)
    const focused = await page.evaluate("document.activeElement?.tagName")
    assert.strictEqual(focused, "TEXTAREA")
    assert.isFalse(existsSync(join(joined.edge.workspace, "focus.txt")))

    // Its answer is the page's one primary action.
    assert.deepStrictEqual(await primaryActions(page), ["Allow once"])
    // A new approval reacts to no key: it is text then. Tab ends it, and the next try begins outside of it again.
    const arm = async (key: string, button: string, leave: () => Promise<unknown>) => {
      const armed = page.locator(`[data-key=${button}]:focus`)
      for (let isArmed = false; !isArmed; isArmed = (await armed.count()) > 0) {
        await page.keyboard.press("Tab")
        await leave()
        await page.keyboard.press(key)
      }
    }
    // No field has the focus: the keys of the card work on the whole page, and each moves the focus only.
    await arm("d", "d", () => field(page).evaluate("document.activeElement.blur()"))
    assert.isFalse(existsSync(join(joined.edge.workspace, "focus.txt")))
    await arm("n", "d", () => card.focus())
    await arm("y", "a", () => card.focus())
    await page.keyboard.press("Enter")
    await card.waitFor({ state: "detached" })
    await page.locator("textarea:focus").waitFor()
    assert.match(await field(page).inputValue(), /yes and no[dny]*$/)
    await answers(page).getByText("over", { exact: true }).waitFor()
    await browser.end(page)
  })

  it("announces each state of a turn once, and no piece of its text", async () => {
    const session = await talk("Announced")
    const page = await open(session, owner)
    await recordAnnouncements(page)
    await sendText(page, "/stream 200 400 20\n/write announced.txt x\n/sleep 700\n/say over")
    await page.getByRole("region", { name: "Approval: Write announced.txt" }).waitFor()
    await page.getByRole("button", { name: "Allow once" }).click()
    await answers(page).getByText("over", { exact: true }).waitFor()
    const texts = await until(
      async () => {
        const all = await announcements(page)
        return all.includes("The agent is done.") ? all : undefined
      },
      "the end of the turn announced",
      10_000
    )
    const states = texts.filter((text) => text.startsWith("The agent "))
    assert.deepStrictEqual(states, [
      "The agent is working.",
      "The agent needs you.",
      "The agent is working.",
      "The agent is done."
    ])
    // Other notes are few: none for each of the 200 pieces.
    assert.isBelow(texts.length, 12, JSON.stringify(texts))
    await browser.end(page)
  })

  it("allows all pending approvals of a kind after it has listed them", async () => {
    const session = await talk("Many")
    const page = await open(session, owner, { viewport: { width: 390, height: 844 } })
    await sendText(page, "/flood 3 20 ls src")
    await page.getByText("1 of 3").waitFor()
    assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), 390)
    for (const name of ["Allow once", "Deny"]) {
      const box = await page.getByRole("button", { name, exact: true }).boundingBox()
      assert.isAtMost((box?.y ?? 844) + (box?.height ?? 0), 844, name)
    }
    await page
      .getByRole("region", { name: /^Approval/ })
      .getByRole("button", { name: "More" })
      .click()
    await page.getByRole("menuitem", { name: "Allow all 3 of this kind…" }).click()
    const dialog = page.getByRole("dialog", { name: "Allow these 3 once?" })
    await dialog.getByRole("listitem").nth(2).waitFor()
    assert.strictEqual(await dialog.getByRole("listitem").count(), 3)
    await dialog.getByRole("button", { name: "Allow 3 once" }).click()
    await answers(page).getByText("3 of 3 allowed").waitFor()
    await browser.end(page)
  })

  it("queues a message while the agent works, which another person edits and its author takes back", async () => {
    const session = await talk("Queue")
    const [first, second] = await Promise.all([open(session, owner), open(session, mate)])
    await sendText(first, "/wait\n/say over")
    await first.locator(".live").waitFor()
    await sendText(first, "/say never")
    for (const page of [first, second])
      await page
        .getByRole("list", { name: "Messages that are not sent yet" })
        .getByText("/say never")
        .waitFor()
    await second.getByRole("button", { name: "Edit", exact: true }).click()
    await second.getByRole("textbox", { name: "Edit the message" }).fill("/say edited")
    await second.getByRole("button", { name: "Save", exact: true }).click()
    await first
      .getByRole("list", { name: "Messages that are not sent yet" })
      .getByText("/say edited")
      .waitFor()
    await first.getByRole("button", { name: "Withdraw" }).click()
    for (const page of [first, second])
      await page.getByRole("list", { name: "Messages that are not sent yet" }).waitFor({ state: "detached" })
    // The text is back in the composer, from where it goes to the agent at once.
    // The hint about the message may come before the answer to its author.
    await until(
      async () => (await field(first).inputValue()) === "/say edited" || undefined,
      "the text in the composer"
    )
    await field(first).fill("now")
    await field(first).press("Control+Enter")
    await answers(second).getByText("over", { exact: true }).waitFor()
    await second.getByText("Sent while it worked").waitFor()
    await browser.end(first, second)
  })

  it("is renamed in its menu, which gets the focus back", async () => {
    const page = await open(await talk("Old title"), owner)
    const menu = page.getByRole("main").getByRole("button", { name: "More" })
    await menu.press("Enter")
    await page.getByRole("menuitem", { name: "Rename" }).press("Enter")
    await page.getByRole("dialog", { name: "Rename session" }).getByLabel("Title").fill("New title")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await page.getByRole("heading", { level: 1, name: "New title" }).waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "More")
    await browser.end(page)
  })

  it("shows why a turn failed, and sends it again", async () => {
    const session = await talk("Failure")
    const page = await open(session, owner)
    await sendText(page, "/fail The tests did not pass.")
    const failure = page.getByRole("region", { name: "Failed" })
    await failure.getByText("The tests did not pass.").waitFor()
    assert.strictEqual(await failure.getByText("internal").isVisible(), false)
    assert.deepStrictEqual(await seriousOf(page), [])
    await failure.getByRole("button", { name: "Try again" }).click()
    await failure.nth(1).waitFor()
    await browser.end(page)
  })

  it("stops following when the reader scrolls up, and says what is new below", async () => {
    const session = await talk("Long", "auto_edit")
    const page = await open(session, owner)
    await sendText(page, `${"/say a line to read\n".repeat(60)}/stream 4000 200 40\n/say over`)
    const scroller = thread(page)
    const untilAtEnd = () =>
      page.waitForFunction(() => {
        const { clientHeight, scrollHeight, scrollTop } =
          document.querySelector("[role=log]") ?? document.body
        return scrollHeight > 2_000 && scrollHeight - scrollTop - clientHeight <= 40
      })
    await page.getByText("Writing…").waitFor()
    await untilAtEnd()
    await scroller.hover()
    await page.mouse.wheel(0, -400)
    await page.getByRole("button", { name: "New below" }).waitFor()
    // A wheel scrolls in several frames.
    const top = await scroller.evaluate(async (element) => {
      for (let last = -1; last !== element.scrollTop;) {
        last = element.scrollTop
        for (let frame = 0; frame < 3; frame++) await new Promise((done) => requestAnimationFrame(done))
      }
      return element.scrollTop
    })
    const height = await scroller.evaluate((element) => element.scrollHeight)
    await page.waitForFunction(
      (least) => (document.querySelector("[role=log]")?.scrollHeight ?? 0) > least,
      height
    )
    assert.strictEqual(await scroller.evaluate((element) => element.scrollTop), top)
    await page.getByRole("button", { name: "New below" }).click()
    await page.getByRole("button", { name: "New below" }).waitFor({ state: "detached" })
    await untilAtEnd()
    await page.getByRole("button", { name: "Stop" }).first().click()
    await page.locator(".turn-state-cancelled").waitFor()
    await browser.end(page)
  })

  it("loads earlier messages above, without moving what is visible", async () => {
    const session = await talk("Old")
    for (let nth = 1; nth <= 60; nth++)
      await joined.owner.ask("POST", `/client/sessions/${session.id}/messages`, {
        body: { text: `note ${nth}`, to: "people" },
        headers: { "idempotency-key": `note-${nth}` }
      })
    const page = await open(session, owner)
    await page.getByText("note 60", { exact: true }).waitFor()
    assert.strictEqual(await page.getByText("note 1", { exact: true }).count(), 0)
    await thread(page).hover()
    await page.mouse.wheel(0, -100_000)
    await page.waitForFunction(() => document.querySelector("[role=log]")?.scrollTop === 0)
    const oldest = page.getByText("note 11", { exact: true })
    await oldest.scrollIntoViewIfNeeded()
    const before = await oldest.boundingBox()
    await page.getByRole("button", { name: "Load earlier" }).click()
    await page.getByText("note 1", { exact: true }).waitFor()
    await drawn(page)
    const after = await oldest.boundingBox()
    // The button above has left.
    assert.approximately(after?.y ?? 0, before?.y ?? -1, 4)
    await browser.end(page)
  })

  // Last, because it restarts the Hub and the Edge.
  it("continues over a killed Hub, a restarted Edge and an offline device, and sends an image", async () => {
    const session = await talk("Restarts")
    const [first, second] = await Promise.all([open(session, owner), open(session, mate)])
    // The scripted agent also says the rest of its last prompt: where the image is.
    const texts = ["one", "two", "three", "four", "dot.png"]
    const answered = (turn: number) =>
      Promise.all(
        [first, second].map((page) =>
          answers(page)
            .nth(turn)
            .getByText(texts[turn] ?? "")
            .first()
            .waitFor()
        )
      )
    await sendText(first, "/say one")
    await answered(0)
    await sendText(second, "/sleep 900\n/say two")
    await first.getByText("/sleep 900").waitFor()
    await joined.hub.end("SIGKILL")
    await joined.hub.start()
    joined.found()
    await answered(1)
    await sendText(first, "/say three")
    await answered(2)
    await joined.edge.stop()
    await joined.online(joined.deviceId, "offline")
    await second
      .getByText(/is offline/)
      .first()
      .waitFor()
    await sendText(second, "/say four")
    await first.getByText(/^Waits for/).waitFor()
    await joined.edge.start()
    await answered(3)
    const image = { name: "dot.png", mimeType: "image/png", buffer: PIXEL }
    await first.locator("input[type=file]").setInputFiles(image)
    await first.getByRole("list", { name: "Attached files" }).getByText("dot.png").waitFor()
    await field(first).fill("/say five")
    // Enter sends nothing while a file is on its way; the button waits for it.
    await first.getByRole("button", { name: "Send", exact: true }).click()
    await answered(4)
    await second.getByRole("img", { name: "dot.png" }).waitFor()
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<Message> }>(
      "GET",
      `/client/sessions/${session.id}/messages?limit=200`
    )
    const sent = body.items.filter(({ author }) => author.kind === "user").toReversed()
    assert.deepStrictEqual(
      sent.map(({ delivery }) => `${delivery?.state} ${delivery?.context}`),
      ["delivered new", ...Array.from({ length: 4 }, () => "delivered resumed")]
    )
    await browser.end(first, second)
  })
})
