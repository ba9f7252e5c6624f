/** A request is allowed only after all its lines were on the screen, or were opened in the full view. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Joined } from "@corral/testing/stack/Joined"
import type { BrowserContextOptions, Page } from "playwright-core"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

const desktop = { viewport: { width: 1280, height: 800 } }
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
const steps = (count: number): string =>
  Array.from({ length: count }, (_, at) => `echo step ${at} >> log.txt`).join(" && ")

describe.skipIf(!hasChromium)("a request that is longer than its card", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  // The workspace is for one run at a time.
  let open: HubRun | undefined
  afterEach(async () => {
    if (open === undefined) return
    await joined.owner.ask("POST", `/client/runs/${open.id}/cancel`)
    await joined.runWith(open.id, ({ state }) => state === "cancelled" || state === "completed")
    open = undefined
  })

  const requested = async (command: string): Promise<HubRun> => {
    const session = await sessionWithAgent(joined, "Long")
    await sendMessage(joined, session, `/shell ${command}`)
    open = await turnWith(joined, session, ({ pendingApprovals }) => pendingApprovals.length > 0)
    return open
  }
  const pageAt = async (target: string, options: BrowserContextOptions): Promise<Page> => {
    const page = await browser.page(joined.front.url, token, target, options)
    await page.getByRole("button", { name: "Allow once" }).waitFor()
    return page
  }
  const allow = (page: Page) => page.getByRole("button", { name: "Allow once" })
  const places = (run: HubRun): ReadonlyArray<string> => [
    `/sessions/${run.sessionId}`,
    `/approvals/${run.pendingApprovals[0]}`
  ]
  /** Scrolls the area of the request, or the page, from its start to its end by less than it shows. */
  const scrollThrough = (page: Page) =>
    page.evaluate(`(async () => {
      const request = document.querySelector(".approval-pending .request")
      let area = request
      while (area !== null && !(area.scrollHeight > area.clientHeight + 1 && getComputedStyle(area).overflowY !== "visible")) area = area.parentElement
      area ??= document.scrollingElement
      const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
      for (let at = 0; at < area.scrollHeight; at += area.clientHeight / 3) {
        area.scrollTop = at
        await frame()
      }
    })()`)

  it("has its answers from the first picture on if it is short", async () => {
    const [, target = ""] = places(await requested("echo short >> log.txt"))
    const page = await browser.page(joined.front.url, token, "/runs", desktop)
    const canAllow = await page.evaluate(
      (path) =>
        new Promise<boolean>((resolve) => {
          new MutationObserver((_, observer) => {
            const buttons = document.querySelector(".decision-buttons")
            if (buttons === null) return
            observer.disconnect()
            resolve(buttons.querySelector(".hidden-lines") === null)
          }).observe(document.body, { subtree: true, childList: true })
          history.pushState({}, "", path)
          dispatchEvent(new PopStateEvent("popstate"))
        }),
      target
    )
    assert.isTrue(canAllow)
    await browser.end(page)
  })

  it.each([
    { name: "desktop", options: desktop },
    { name: "phone", options: phone }
  ])("is allowed after its last line was shown: $name", async ({ options }) => {
    for (const target of places(await requested(steps(60)))) {
      const page = await pageAt(target, options)
      await page.getByText(/\d+ lines were not on the screen yet/).waitFor()
      assert.isTrue(await allow(page).isDisabled())
      assert.isTrue(await page.getByRole("button", { name: "Deny", exact: true }).isEnabled())
      assert.deepStrictEqual(await seriousOf(page), [])
      // Beside other programs a frame can come late: then lines are not counted, and a person scrolls again.
      const isAllowed = () => page.locator(".decision-buttons .primary:enabled").isVisible()
      do await scrollThrough(page)
      while (!(await isAllowed()))
      assert.strictEqual(await page.locator(".hidden-lines").count(), 0)
      await browser.end(page)
    }
  })

  it("does not count lines that a jump to the end skipped, or that wait behind a button", async () => {
    const [target = ""] = places(await requested(steps(400)))
    const page = await pageAt(target, desktop)
    await page.locator(".dock-request").evaluate((area) => area.scrollTo(0, area.scrollHeight))
    await page.getByText(/\d+ lines were not on the screen yet/).waitFor()
    await scrollThrough(page)
    assert.isTrue(await allow(page).isDisabled())
    await browser.end(page)
  })

  it.each([
    { name: "desktop", options: desktop },
    { name: "phone", options: phone }
  ])("is allowed after its full view: $name", async ({ options }) => {
    const run = await requested(steps(400))
    const [target = ""] = places(run)
    const page = await pageAt(target, options)
    await page.getByRole("button", { name: "Show full request" }).click()
    const dialog = page.getByRole("dialog", { name: "Full request" })
    assert.include((await dialog.locator("pre").first().textContent()) ?? "", "echo step 399 >> log.txt")
    await dialog.getByRole("button", { name: "Close" }).click()
    await allow(page).click()
    await joined.runWith(run.id, ({ pendingApprovals }) => pendingApprovals.length === 0)
    await browser.end(page)
  })

  it("is allowed at once where it fits", async () => {
    for (const target of places(await requested("curl https://example.test | sh"))) {
      const page = await pageAt(target, desktop)
      await page.locator(".decision-buttons .primary:enabled").waitFor()
      assert.strictEqual(await page.locator(".hidden-lines").count(), 0)
      await browser.end(page)
    }
  })

  it("is not decided on the home page, which would cut it", async () => {
    await requested(`touch ${"long".repeat(60)}`)
    const page = await browser.page(joined.front.url, token, "/", desktop)
    const row = page
      .getByRole("list", { name: "Needs you" })
      .getByRole("listitem")
      .filter({ hasText: "longlong" })
    await row.getByRole("link", { name: "Review" }).waitFor()
    assert.strictEqual(await row.getByRole("button").count(), 0)
    await browser.end(page)
  })
})
