/** A network that is lost without a word, and a page that slept, in a real browser whose clock the test turns. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import type { Locator, Page } from "playwright-core"
import type { Joined } from "@corral/testing/stack/Joined"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

const MINUTE = 60_000

describe.skipIf(!hasChromium)("a page without its network", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  const field = (page: Page) => page.getByRole("textbox", { name: "Message" })
  const banner = (page: Page) => page.getByRole("status").filter({ hasText: "Can't reach the Hub since" })
  const inThread = (page: Page, text: string) => page.getByRole("log").getByText(text, { exact: true })

  /** A page of the session whose clock stopped after ten. */
  const open = async ({ id }: Session): Promise<Page> => {
    const page = await browser.page(joined.front.url, token, "/nowhere", { timezoneId: "UTC" })
    await page.clock.install({ time: new Date("2030-05-04T10:00:00Z") })
    await page.goto(`/sessions/${id}`)
    await inThread(page, "hello").waitFor()
    await page.clock.pauseAt(Number(await page.evaluate("Date.now()")) + 1_000)
    return page
  }
  /** Turns the page's clock until something is visible, by this time at most. */
  const turnUntil = async (page: Page, seen: Locator, seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed++) {
      if (await seen.isVisible()) return
      await page.clock.runFor(1_000)
    }
    assert.fail(`not visible after ${seconds} s`)
  }
  const talk = async (title: string): Promise<Session> => {
    const session = await sessionWithAgent(joined, title)
    await sendMessage(joined, session, "/say hello")
    await turnWith(joined, session, ({ state }) => state === "completed")
    return session
  }
  const messagesOf = async ({ id }: Session): Promise<ReadonlyArray<string>> => {
    const path = `/client/sessions/${id}/messages?limit=200`
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<Message> }>("GET", path)
    return body.items.flatMap(({ author, text }) => (author.kind === "user" ? [text] : [])).toReversed()
  }
  /** What other people write, past the frozen network. */
  const note = (session: Session, text: string) =>
    joined.owner.ask("POST", `/client/sessions/${session.id}/messages`, { body: { text, to: "people" } })

  it("says since when it heard nothing, keeps what is written, and continues by itself after a minute", async () => {
    const session = await talk("Outage")
    const page = await open(session)
    joined.front.freeze()
    onTestFinished(() => joined.front.thaw())
    await note(session, "written meanwhile")
    await turnUntil(page, banner(page), 40)
    assert.strictEqual(
      await banner(page).innerText(),
      "Can't reach the Hub since 10:00 AM. Reconnecting… What you write is kept."
    )
    await field(page).fill("/say written without a network")
    await field(page).press("Enter")
    await turnUntil(page, page.getByRole("alert").getByText("Can't reach"), 20)
    await page.clock.fastForward(MINUTE)
    await page.clock.resume()
    assert.strictEqual(await banner(page).count(), 1)
    assert.deepStrictEqual(await seriousOf(page), [])
    joined.front.thaw()
    await inThread(page, "written meanwhile").waitFor()
    await banner(page).waitFor({ state: "detached" })
    assert.strictEqual(await field(page).inputValue(), "/say written without a network")

    // The request that failed may have arrived: the same message is not sent twice.
    await field(page).press("Enter")
    await inThread(page, "written without a network").waitFor()
    assert.deepStrictEqual(await messagesOf(session), [
      "/say hello",
      "written meanwhile",
      "/say written without a network"
    ])
    await browser.end(page)
  })

  it("continues without loss after the computer has slept and its connections are gone", async () => {
    const session = await talk("Sleep")
    const page = await open(session)
    await field(page).fill("a draft before the sleep")
    joined.front.halfOpen()
    await note(session, "written meanwhile")
    // Timers stand still while a computer sleeps; then the page is seen again.
    await page.clock.resume()
    await page.clock.setSystemTime(new Date("2030-05-04T16:00:00Z"))
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))")
    await inThread(page, "written meanwhile").waitFor()
    assert.strictEqual(await field(page).inputValue(), "a draft before the sleep")
    await browser.end(page)
  })

  // Last, because it stops the device.
  it("says that a device is offline and since when, and not that its run works", async () => {
    const session = await sessionWithAgent(joined, "Unheard")
    await sendMessage(joined, session, "/shell sleep 300")
    const { id, pendingApprovals } = await turnWith(joined, session, (run) => run.pendingApprovals.length > 0)
    await joined.owner.ask("POST", `/client/approvals/${String(pendingApprovals[0])}/decide`, {
      body: { decision: "allow" }
    })
    await joined.runWith(id, ({ state }) => state === "running")
    const page = await browser.page(joined.front.url, token, `/sessions/${session.id}`)
    const card = page.locator(".action", { hasText: "sleep 300" })
    await card.getByText("running", { exact: true }).waitFor()
    await joined.edge.kill()
    await joined.online(joined.deviceId, "offline")
    await card.getByText(/device offline since \d/).waitFor()
    assert.strictEqual(await card.getByText("running", { exact: true }).count(), 0)
    await page.locator(".thread-head").getByText("Device offline").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.goto("/board")
    const item = page.getByRole("listitem").filter({ hasText: "Unheard" })
    await page
      .getByRole("region", { name: "Working" })
      .getByText(/laptop is offline since \d/)
      .waitFor()
    assert.strictEqual(await item.getByText("Working").count(), 0)
    await page.goto("/")
    await page
      .getByRole("list", { name: "Working" })
      .getByText(/laptop is offline since \d/)
      .waitFor()
    await browser.end(page)
  })
})
