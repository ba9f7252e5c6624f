/** Every page on a phone: everything that can be touched is large enough for a finger, also in menus, sheets and dialogs. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import type { Joined } from "@corral/testing/stack/Joined"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { makePages, openDirectly, type PageName, pageNames } from "../harness/Pages.ts"
import { smallTargets, smallTargetsOfPopups } from "../harness/touchTargets.ts"

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

describe.skipIf(!hasChromium)("a page on a touch screen", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  let paths: Readonly<Record<PageName, string>>
  let page: Page

  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    paths = await makePages(joined)
    page = await browser.page(joined.front.url, token, "/", phone)
  })
  afterAll(() => page?.context().close())

  it.each(pageNames)("has targets of at least 44 px: %s", async (name) => {
    await openDirectly(page, joined.front.url + paths[name])
    assert.deepStrictEqual([...new Set(await smallTargets(page))], [])
    assert.deepStrictEqual([...new Set(await smallTargetsOfPopups(page))], [])
  })

  it("finds a target that is too small", async () => {
    await page.evaluate(`(() => {
      const button = document.querySelector("h1").parentElement.appendChild(document.createElement("button"))
      button.textContent = "x"
      button.style.cssText = "min-width: 40px; min-height: 40px; width: 40px; height: 40px"
    })()`)
    assert.deepStrictEqual(await smallTargets(page), ['button. "x" 40 × 40'])
  })
})
