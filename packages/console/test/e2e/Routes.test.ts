/** Every page of the console, opened directly on a wide and on a narrow screen: styled, and never wider than the screen. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { join } from "node:path"
import type { Page } from "playwright-core"
import type { Joined } from "@corral/testing/stack/Joined"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { LateAnswers } from "../harness/LateAnswers.ts"
import { measured, measuring } from "../harness/faults.ts"
import { makePages, openDirectly, pageNames } from "../harness/Pages.ts"

/** Where pictures of what is tested go, for a person to look at. */
const pictures = process.env["CORRAL_TEST_ROUTE_PICTURES"]

const phone = { width: 390, height: 844 }
const screens = [
  ["desktop", { width: 1_280, height: 800 }],
  ["phone", phone]
] as const

describe.skipIf(!hasChromium)("a page that is opened directly", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  const routes = new Map<string, string>()

  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    for (const [name, route] of Object.entries(await makePages(joined))) routes.set(name, route)
  })

  describe.each(screens)("on a %s", (screen, viewport) => {
    let page: Page
    beforeAll(async () => {
      page = await browser.page(joined.front.url, token, "/", { viewport })
    })
    afterAll(() => page?.context().close())

    it.each(pageNames)("fits: %s", async (name) => {
      await openDirectly(page, joined.front.url + (routes.get(name) ?? ""))
      const [wide, shown] = (await page.evaluate(
        "[document.documentElement.scrollWidth, window.innerWidth]"
      )) as [number, number]
      if (pictures !== undefined)
        await page.screenshot({ path: join(pictures, `${name}-${screen}.png`), fullPage: true })
      assert.isAtMost(wide, shown)
      // A box of a program's words scrolls or wraps within its page.
      const outside = (await page.evaluate(
        `[...document.querySelectorAll("main pre, main table, main form, main .approval")]
          .filter((box) => !box.closest(".table-frame, .diff-scroll"))
          .map((box) => box.getBoundingClientRect().right)
          .filter((right) => right > window.innerWidth + 1)`
      )) as ReadonlyArray<number>
      assert.deepStrictEqual(outside, [])
      if (screen === "desktop") assert.deepStrictEqual(await seriousOf(page), [])
    })
  })

  describe("whose answers come late, on a phone", () => {
    let page: Page
    let late: LateAnswers
    beforeAll(async () => {
      page = await browser.page(joined.front.url, token, "about:blank", { viewport: phone })
      await measuring(page)
      late = await LateAnswers.on(page)
    })
    afterAll(() => page?.context().close())

    it.each(pageNames)("stays in place: %s", async (name) => {
      await page.goto("about:blank")
      await page.goto(joined.front.url + (routes.get(name) ?? ""))
      await late.deliver()
      const { moved, shift } = await measured(page)
      assert.isBelow(shift, 0.05, moved)
    })
  })

  it("shows a pending request, an edit and the cause of a failure once", async () => {
    const at = (name: string) => browser.page(joined.front.url, token, routes.get(name) ?? "")
    const waiting = await at("waiting")
    await waiting.getByText("needs approval").first().waitFor()
    assert.strictEqual(await waiting.locator(".tool-state", { hasText: "running" }).count(), 0)
    const run = await at("run")
    await run.getByText("input edited").waitFor()
    await run.getByText("with changes, once, by you").waitFor()
    const decided = await run.locator(".action-decision").first().innerText()
    assert.match(decided, /^Allowed with changes, once/)
    const edited = await at("edited")
    await edited.getByText("echo harmless").first().waitFor()
    await edited.getByText("Allowed instead").waitFor()
    const failed = await at("failed")
    await failed.locator(".turn-failure").waitFor()
    assert.strictEqual(await failed.locator(".warning, .turn-failure").getByText("not signed in").count(), 1)
    const deeds = await at("deeds")
    await deeds.getByText("You denied Write NOTES.md: not in this folder").waitFor()
    await deeds.getByText(/^You allowed .* with changes$/).waitFor()
    await deeds.getByText(/^You allowed .* for the run$/).waitFor()
    assert.deepStrictEqual(browser.complaints, [])
    for (const page of [waiting, run, edited, failed, deeds]) await page.context().close()
  })
})
