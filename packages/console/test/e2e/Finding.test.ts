/** Finding things: the sidebar, the palette with search, the board, notifications, and the frame around the pages. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { Session } from "@corral/domain/session/Session"
import type { BrowserContextOptions, Page } from "playwright-core"
import { makeSession } from "@corral/testing/hub/People"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { type ConsoleBrowser, drawn, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { hideTab, observedTab } from "../harness/HiddenTab.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { openKeys } from "../harness/KeysDialog.ts"
import { openDirectly } from "../harness/Pages.ts"
import { storedAs } from "../harness/SentRequests.ts"
import {
  daysBack,
  manySessions,
  sendMessage,
  sessionWithAgent,
  turnWith
} from "../harness/SessionFixtures.ts"

const phone = { width: 390, height: 844 }
const desktop = { width: 1_280, height: 800 }

describe.skipIf(!hasChromium)("finding things", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  let hours: Session
  let calendar: Session
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    hours = await sessionWithAgent(joined, "Fix opening hours")
    await sendMessage(joined, hours, "/say The shop handles Sunday hours wrongly.")
    await turnWith(joined, hours, ({ state }) => state === "completed")
    await makeSession(joined.owner, { id: joined.projectId }, "Release notes")
    calendar = await makeSession(joined.owner, { id: joined.projectId }, "Calendar")
    await until(
      async () => {
        const found = await joined.owner.ask<{ readonly items: ReadonlyArray<unknown> }>(
          "GET",
          "/client/search?q=Sunday"
        )
        return found.body.items.length > 0 ? true : undefined
      },
      "the text in the search",
      30_000
    )
    await daysBack(joined, hours, 1)
  })

  const at = (target: string, options: BrowserContextOptions = {}): Promise<Page> =>
    browser.page(joined.front.url, token, target, { viewport: desktop, ...options })
  const sidebar = (page: Page) => page.getByRole("navigation", { name: "Sessions" })
  const group = (page: Page, name: string) => sidebar(page).getByRole("list", { name, exact: true })

  it("groups sessions by day, and finds yesterday's text with the palette, by keyboard", async () => {
    const page = await at("/projects")
    await group(page, "Yesterday").getByRole("link", { name: "Fix opening hours" }).waitFor()
    await group(page, "Today").getByRole("link", { name: "Calendar" }).waitFor()

    await page.keyboard.press("Control+k")
    const field = page.getByRole("combobox", { name: "Search and commands" })
    await page.locator("[role=combobox]:focus").waitFor()
    await page
      .getByRole("group", { name: "Recent sessions" })
      .getByRole("option", { name: /Calendar/ })
      .waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    // Letters are the query, not shortcuts.
    await page.keyboard.type("sunday c?")
    await page.getByText("Nothing found for “sunday c?”.").waitFor()
    await field.fill("sunday HOURS")
    const found = page.getByRole("group", { name: "In threads" }).getByRole("option").first()
    await found.waitFor()
    assert.deepStrictEqual(await found.locator(".palette-text > bdi mark").allTextContents(), [
      "Sunday",
      "hours"
    ])
    await page
      .getByRole("status")
      .getByText(/\d results?/)
      .waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    const active = await field.getAttribute("aria-activedescendant")
    assert.strictEqual(await page.locator(`[id="${active}"]`).getAttribute("aria-selected"), "true")
    await page.keyboard.press("Enter")
    await page.waitForURL(new RegExp(`/sessions/${hours.id}`))
    await page.getByRole("heading", { level: 1, name: "Fix opening hours" }).waitFor()
    await group(page, "Yesterday").locator("[aria-current=page]", { hasText: "Fix opening hours" }).waitFor()

    // Neighbours in the order of the list.
    await page.keyboard.press("Alt+ArrowUp")
    await page.getByRole("heading", { level: 1, name: "Release notes" }).waitFor()
    await page.keyboard.press("Alt+ArrowDown")
    await page.getByRole("heading", { level: 1, name: "Fix opening hours" }).waitFor()
    await browser.end(page)
  })

  it("opens a long thread at the text that was found, unfolded and in view", async () => {
    const talk = await makeSession(joined.owner, { id: joined.projectId }, "Long talk")
    const note = async (text: string) => {
      const sent = await joined.owner.ask("POST", `/client/sessions/${talk.id}/messages`, {
        body: { text, to: "people" }
      })
      assert.strictEqual(sent.status, 201, sent.text)
    }
    await note([...Array.from({ length: 12 }, (_, nth) => `Line ${nth}`), "A pelican at the end"].join("\n"))
    for (let nth = 0; nth < 70; nth++) await note(`Later note ${nth}`)
    await until(
      async () => {
        const found = await joined.owner.ask<{ readonly items: ReadonlyArray<unknown> }>(
          "GET",
          "/client/search?q=pelican"
        )
        return found.body.items.length > 0 ? true : undefined
      },
      "the text in the search",
      30_000
    )
    const page = await at("/projects")
    await group(page, "Today").getByRole("link", { name: "Long talk" }).waitFor()
    await page.keyboard.press("Control+k")
    await page.getByRole("combobox", { name: "Search and commands" }).fill("pelican")
    await page.getByRole("group", { name: "In threads" }).getByRole("option").first().click()
    await page.waitForURL(new RegExp(`/sessions/${talk.id}`))
    await page.locator(".entry-found", { hasText: "A pelican at the end" }).waitFor()
    await page.waitForFunction(() => {
      const text = [...document.querySelectorAll(".entry-found .said, .entry-found .clipped")].find((each) =>
        each.textContent?.includes("pelican")
      )
      const place = text?.getBoundingClientRect()
      return place !== undefined && place.top >= 0 && place.bottom <= innerHeight
    })
    await browser.end(page)
  })

  it("runs commands, returns the focus, and shows the keys, whose letters can be switched off", async () => {
    const page = await at("/devices")
    const heading = page.getByRole("heading", { level: 1, name: "Devices" })
    await heading.waitFor()
    const search = page.getByRole("button", { name: "Search and commands" })
    await search.click()
    await page.locator("[role=combobox]:focus").waitFor()
    await page.keyboard.press("Control+k")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await search.click()
    await page.locator("[role=combobox]:focus").waitFor()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await page.waitForFunction(() => document.activeElement?.textContent?.includes("Search and commands"))

    await search.click()
    // The name in the other language works too.
    await page.getByRole("combobox").fill("深色")
    await page.getByRole("option", { name: "Use the dark theme" }).waitFor()
    await page.keyboard.press("Enter")
    await page.locator("html[data-theme=dark]").waitFor()
    await page.getByRole("dialog").waitFor({ state: "detached" })

    const keys = await openKeys(page)
    assert.deepStrictEqual(await seriousOf(page), [])
    await storedAs(page, () => keys.getByRole("checkbox").uncheck())
    await page.keyboard.press("Escape")
    await keys.waitFor({ state: "detached" })
    await heading.click()
    await page.keyboard.press("c")
    await page.keyboard.press("Control+Shift+O")
    await page.waitForURL((url) => url.pathname === "/start")
    const preferences = page.waitForResponse(
      (response) => response.request().method() === "GET" && response.url().endsWith("/client/preferences")
    )
    await page.goto("/devices")
    await preferences
    await heading.waitFor()
    await drawn(page)
    await page.keyboard.press("c")
    await page.keyboard.press("Control+k")
    await page.getByRole("option", { name: "Show keyboard shortcuts" }).click()
    await keys.getByRole("checkbox").check()
    await page.keyboard.press("Escape")
    await keys.waitFor({ state: "detached" })
    assert.strictEqual(new URL(page.url()).pathname, "/devices")
    await page.keyboard.press("c")
    await page.waitForURL((url) => url.pathname === "/start")
    await browser.end(page)
  })

  it("pins, renames and archives by keyboard, and lists what is archived", async () => {
    const page = await at("/devices")
    const menuOf = async (title: string) => {
      await sidebar(page)
        .getByRole("button", { name: `Options for ${title}` })
        .press("Enter")
      await page.getByRole("menu").waitFor()
    }
    await menuOf("Calendar")
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("menuitem", { name: "Pin" }).press("Enter")
    await group(page, "Pinned").getByRole("link", { name: "Calendar" }).waitFor()
    await page.getByRole("menu").waitFor({ state: "detached" })
    await page.reload()
    await group(page, "Pinned").getByRole("link", { name: "Calendar" }).waitFor()

    await menuOf("Release notes")
    await page.getByRole("menuitem", { name: "Rename…" }).press("Enter")
    await page.getByRole("dialog", { name: "Rename session" }).waitFor()
    await page.getByLabel("Title").fill("<b>Notes</b>")
    await page.keyboard.press("Enter")
    await group(page, "Today").getByRole("link", { name: "<b>Notes</b>" }).waitFor()
    await page.getByRole("dialog").waitFor({ state: "detached" })

    await menuOf("<b>Notes</b>")
    await page.getByRole("menuitem", { name: "Archive" }).press("Enter")
    await sidebar(page).getByRole("link", { name: "<b>Notes</b>" }).waitFor({ state: "detached" })
    await sidebar(page).getByRole("button", { name: "All sessions" }).click()
    await page.getByRole("menuitemradio", { name: "Archived" }).click()
    await sidebar(page).getByRole("link", { name: "<b>Notes</b>" }).waitFor()
    await menuOf("<b>Notes</b>")
    await page.getByRole("menuitem", { name: "Reopen" }).press("Enter")
    await sidebar(page).getByText("No archived sessions.").waitFor()
    await browser.end(page)
  })

  it("shows what needs the user, and unread messages as they come and go", async () => {
    const page = await at("/devices")
    const row = sidebar(page).getByRole("link", { name: /Fix opening hours/ })
    await row.waitFor()
    await sendMessage(joined, hours, "/write opening.txt Sunday")
    const { pendingApprovals } = await turnWith(joined, hours, (run) => run.pendingApprovals.length > 0)
    await row.getByText("Needs you").waitFor()
    await page.waitForFunction(() => document.title.startsWith("(1) "))
    await sidebar(page).getByRole("button", { name: "All sessions" }).click()
    await page.getByRole("menuitemradio", { name: "Needs you" }).click()
    await sidebar(page)
      .getByRole("link", { name: /Calendar/ })
      .waitFor({ state: "detached" })
    await row.waitFor()
    await joined.owner.ask("POST", `/client/approvals/${String(pendingApprovals[0])}/decide`, {
      body: { decision: "allow" }
    })
    await sidebar(page).getByText("Nothing needs you.").waitFor()
    await sidebar(page).getByRole("button", { name: "Needs you" }).click()
    await page.getByRole("menuitemradio", { name: "All sessions" }).click()
    await row.getByText(/\d unread messages?/).waitFor()
    await row.click()
    await page.getByRole("heading", { level: 1, name: "Fix opening hours" }).waitFor()
    await row.getByText(/unread/).waitFor({ state: "detached" })
    await browser.end(page)
  })

  it("moves a card over the board as its run continues", async () => {
    const page = await at("/board")
    const column = (name: string) => page.getByRole("region", { name, exact: true })
    const session = await sessionWithAgent(joined, "Parallel work")
    await sendMessage(joined, session, "/write parallel.txt one\n/say The file is there.")
    const { pendingApprovals } = await turnWith(joined, session, (run) => run.pendingApprovals.length > 0)
    const waiting = column("Needs you").getByRole("listitem").filter({ hasText: "Parallel work" })
    await waiting.getByText("Write parallel.txt").waitFor()
    await waiting.getByText(/risk/).waitFor()
    await waiting.getByText(/laptop/).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await joined.owner.ask("POST", `/client/approvals/${String(pendingApprovals[0])}/decide`, {
      body: { decision: "allow" }
    })
    const ended = column("To review").getByRole("listitem").filter({ hasText: "Parallel work" })
    await ended.getByText("The file is there.").waitFor()
    await ended.getByText("+1").waitFor()
    await page.setViewportSize(phone)
    // The other columns are below.
    await column("Done").waitFor()
    for (const width of [phone.width, 700, 1_024, 1_180]) {
      await page.setViewportSize({ width, height: 800 })
      await page.waitForFunction((limit) => document.documentElement.scrollWidth <= limit, width)
      await page.waitForFunction(() =>
        [document.documentElement, ...document.querySelectorAll("main, main *")].every(
          (element) =>
            element.scrollWidth <= element.clientWidth || getComputedStyle(element).overflowX !== "auto"
        )
      )
    }
    await page.setViewportSize(phone)
    await ended.getByRole("link").click()
    await page.getByRole("heading", { level: 1, name: "Parallel work" }).waitFor()
    // Who has read the answer has reviewed it.
    await until(
      async () => {
        const { body } = await joined.owner.ask<Session>("GET", `/client/sessions/${session.id}`)
        return body.unread === 0 ? true : undefined
      },
      "the read position",
      10_000
    )
    await page.goto("/board")
    await column("Done").getByRole("listitem").filter({ hasText: "Parallel work" }).waitFor()

    // The names of the files are found a moment after the end of the run.
    await until(
      async () => {
        const path = "/client/search?q=parallel.txt"
        const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<{ readonly kind: string }> }>(
          "GET",
          path
        )
        return body.items.some(({ kind }) => kind === "files") ? true : undefined
      },
      "the file in the search",
      30_000
    )
    await page.getByRole("button", { name: "Search and commands" }).click()
    await page.getByRole("combobox").fill("parallel.txt")
    await page.getByRole("group", { name: "Changed files" }).getByRole("option").first().click()
    await page.waitForURL(/\/sessions\/ses_\w+\?.*panel=changes/)
    await browser.end(page)
  })

  it("notifies once across hidden tabs, and not while one is visible", async () => {
    const first = await at("about:blank")
    const second = await first.context().newPage()
    const tabs = [first, second]
    for (const tab of tabs) await tab.addInitScript(observedTab)
    await first.goto("/account")
    const permission = () => first.evaluate("localStorage.getItem('test.permission')")
    await first.getByRole("button", { name: "Turn on notifications" }).waitFor()
    assert.isNull(await permission())
    await first.getByRole("button", { name: "Turn on notifications" }).click()
    await first.getByRole("button", { name: "Turn off notifications" }).waitFor()
    await second.goto("/account")
    await second.getByRole("button", { name: "Turn off notifications" }).waitFor()
    const notified = async (): Promise<ReadonlyArray<string>> =>
      (
        await Promise.all(tabs.map((tab) => tab.evaluate("window.__notified") as Promise<Array<string>>))
      ).flat()
    const session = await sessionWithAgent(joined, "Nightly build")
    const turn = async (text: string) => {
      await sendMessage(joined, session, text)
      const { pendingApprovals } = await turnWith(joined, session, (run) => run.pendingApprovals.length > 0)
      return String(pendingApprovals[0])
    }
    const decide = (id: string) =>
      joined.owner.ask("POST", `/client/approvals/${id}/decide`, { body: { decision: "allow" } })

    // One tab is visible.
    await hideTab(first)
    const seen = await turn("/write seen.txt x")
    await second.waitForFunction(() => document.title.startsWith("(1) "))
    await decide(seen)
    await turnWith(joined, session, ({ state }) => state === "completed")
    await second.waitForFunction(() => !document.title.startsWith("("))
    // Hints keep their order: a tab that shows this note has received the end of the turn.
    await sendMessage(joined, calendar, "A note")
    for (const tab of tabs)
      await group(tab, "Today").getByRole("listitem").first().filter({ hasText: "Calendar" }).waitFor()
    assert.deepStrictEqual(await notified(), [])

    await hideTab(second)
    const waiting = await turn("/write night.txt x")
    await until(async () => ((await notified()).length > 0 ? true : undefined), "a notification")
    await decide(waiting)
    await until(async () => ((await notified()).length > 1 ? true : undefined), "the end of the turn")
    for (const tab of tabs) await tab.waitForFunction(() => !document.title.startsWith("("))
    assert.deepStrictEqual([...(await notified())].toSorted(), [
      "Done: Nightly build",
      "Needs you: Write night.txt"
    ])
    await browser.end(first)
  })

  it("says since when it has no connection, and that nothing is lost", async () => {
    const page = await at("/devices")
    await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor()
    await page.context().setOffline(true)
    const banner = page.getByRole("status").filter({ hasText: "What you write is kept." })
    await banner.getByText(/No connection since \d/).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.context().setOffline(false)
    await banner.waitFor({ state: "detached" })
    // The Hub is lost, the browser is online.
    const { ports } = joined.front
    joined.front.ports = []
    await joined.hub.end()
    await banner.getByText(/Reconnecting/).waitFor()
    await joined.hub.start()
    joined.front.ports = ports
    joined.found()
    await banner.waitFor({ state: "detached" })
    await browser.end(page)
  })

  it("scrolls the page in its frame, and returns to where the reader was", async () => {
    const page = await at("/account", { viewport: { width: 1_000, height: 320 } })
    await page.getByRole("heading", { name: "Sign-ins" }).waitFor()
    await page.locator("#content").evaluate((content) => content.scrollTo(0, 240))
    await page.getByRole("link", { name: "Devices", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor()
    await page.waitForFunction(() => document.getElementById("content")?.scrollTop === 0)
    await page.goBack()
    await page.getByRole("heading", { name: "Sign-ins" }).waitFor()
    await page.waitForFunction(() => document.getElementById("content")?.scrollTop === 240)
    assert.strictEqual(await page.evaluate(() => document.documentElement.scrollTop), 0)

    await page.setViewportSize(desktop)
    const edge = page.getByRole("separator", { name: "Width of the sidebar" })
    await edge.press("ArrowRight")
    await page.reload()
    await edge.waitFor()
    assert.strictEqual(await edge.getAttribute("aria-valuenow"), "272")
    await browser.end(page)
  })

  it("opens the sidebar as a sheet and the palette on the whole screen of a phone, at 320 px too", async () => {
    const page = await at("/devices", { viewport: phone, hasTouch: true, isMobile: true })
    await page.getByRole("button", { name: "Menu" }).tap()
    const sheet = page.getByRole("dialog", { name: "Menu" })
    await sheet.getByRole("link", { name: /Calendar/ }).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await sheet.getByRole("button", { name: "Options for Calendar" }).tap()
    await page.getByRole("menuitem", { name: "Rename…" }).tap()
    await page.getByRole("dialog", { name: "Rename session" }).getByRole("button", { name: "Cancel" }).tap()
    await sheet.getByRole("link", { name: /Calendar/ }).tap()
    await page.getByRole("heading", { level: 1, name: "Calendar" }).waitFor()
    await sheet.waitFor({ state: "detached" })
    await page.getByRole("button", { name: "Search and commands" }).tap()
    const palette = page.getByRole("dialog", { name: "Search and commands" })
    await palette.getByRole("combobox").fill("Fix opening")
    await palette
      .getByRole("option", { name: /Fix opening hours/ })
      .first()
      .tap()
    await page.getByRole("heading", { level: 1, name: "Fix opening hours" }).waitFor()
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 640 })
      await page.getByRole("button", { name: "Search and commands" }).waitFor()
      await page.waitForFunction((wanted) => document.documentElement.scrollWidth === wanted, width)
      assert.deepStrictEqual(await seriousOf(page), [])
    }
    await page.goto("/devices")
    await page.getByRole("button", { name: "Search and commands" }).tap()
    await palette.waitFor()
    await page.evaluate("Promise.allSettled(document.getAnimations().map(({ finished }) => finished))")
    const box = await palette.boundingBox()
    assert.deepStrictEqual([box?.x, box?.width, box?.height], [0, 320, 640])
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Close" }).tap()
    for (const target of ["/", "/board", "/runs", "/account"]) {
      await openDirectly(page, joined.front.url + target)
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.isAtMost(width, 320, target)
    }
    await browser.end(page)
  })

  // Last, because its sessions push the others away.
  it("names the work of sessions far down the list by their session, like that of the first ones", async () => {
    await manySessions(joined, 120)
    const places = [0, 3, 10]
    for (const days of places) {
      const session = await sessionWithAgent(joined, `Named ${days} days ago`)
      await sendMessage(joined, session, `/say a raw prompt of ${days}`)
      await turnWith(joined, session, ({ state }) => state === "completed")
      await daysBack(joined, session, days)
    }
    for (const target of ["/", "/board"]) {
      const page = await at(target)
      const main = page.getByRole("main")
      for (const days of places)
        await main
          .getByRole("link", { name: `Named ${days} days ago`, exact: true })
          .first()
          .waitFor()
      assert.strictEqual(await main.getByRole("link", { name: /raw prompt/ }).count(), 0)
      await browser.end(page)
    }
  })

  it("keeps the place of each of 2,000 sessions for screen readers while only the visible ones are rendered", async () => {
    await manySessions(joined, 2_000)
    const page = await at("/devices")
    const scroller = sidebar(page).locator(".session-scroll")
    await sidebar(page).getByRole("link", { name: "Session 1", exact: true }).waitFor()
    const rendered = () => sidebar(page).getByRole("listitem").count()
    for (let page_ = 0; page_ < 12; page_++)
      await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await until(
      async () => {
        await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight))
        return (
          (await sidebar(page).getByRole("link", { name: "Session 2000", exact: true }).count()) || undefined
        )
      },
      "the last session",
      30_000
    )
    assert.isBelow(await rendered(), 80)
    const last = sidebar(page).getByRole("listitem").last()
    const [size, position] = await last.evaluate((row) => [row.ariaSetSize, row.ariaPosInSet])
    // Sessions have one hour between them. Depending on the time, the last one may be the only one of its day.
    assert.strictEqual(position, size)
    // The focused row stays while others scroll by.
    await last.getByRole("link").focus()
    await scroller.evaluate((element) => element.scrollTo(0, 0))
    await sidebar(page).getByRole("link", { name: "Session 1", exact: true }).waitFor()
    assert.include(await page.locator(":focus").innerText(), "Session 2000")
    // Of the days in the middle, each has 24.
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2))
    const sizes = () =>
      sidebar(page)
        .getByRole("listitem")
        .evaluateAll((rows) => rows.map((row) => Number(row.ariaSetSize)))
    await until(async () => (await sizes()).includes(24) || undefined, "the sessions of a whole day")
    await browser.end(page)
  })
})
