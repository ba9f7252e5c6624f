/** Every page for people who enlarge it, choose their own colours, or use the keyboard or a screen reader. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { join } from "node:path"
import type { BrowserContextOptions, Page } from "playwright-core"
import type { Joined } from "@corral/testing/stack/Joined"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { type FocusStop, walkByTab } from "../harness/focusWalk.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { makePages, openDirectly, type PageName, pageNames } from "../harness/Pages.ts"

/** Where pictures of what is tested go, for a person to look at. */
const pictures = process.env["CORRAL_TEST_ROUTE_PICTURES"]

const looks: ReadonlyArray<readonly [string, BrowserContextOptions]> = [
  // 1280 × 800 at 200 %.
  ["zoomed", { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 }],
  ["forced", { viewport: { width: 1_280, height: 800 }, forcedColors: "active" }]
]

/** The page, or its scroller, is as wide as the window; else what sticks out. */
const tooWide = `(() => {
  const content = document.querySelector("#content")
  if (Math.max(document.documentElement.scrollWidth, content.scrollWidth) <= innerWidth) return []
  return [...document.querySelectorAll("#content *")]
    .filter((element) => element.getBoundingClientRect().right > innerWidth)
    .map(({ outerHTML }) => outerHTML.slice(0, 120))
})()`

/** What a screen reader's list of places lacks: one heading of the page, one main part, a title, ids that are unique, named parts. */
const structure = `(() => {
  const found = []
  const count = (selector) => document.querySelectorAll(selector).length
  if (count("h1") !== 1) found.push(count("h1") + " h1")
  if (count("main") !== 1) found.push(count("main") + " main")
  if (!/\\S.* · Corral$/.test(document.title)) found.push("title " + document.title)
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id)
  found.push(...ids.filter((id, at) => ids.indexOf(id) !== at))
  const navs = [...document.querySelectorAll("nav, aside")].map((part) => part.getAttribute("aria-label") ?? part.getAttribute("aria-labelledby"))
  if (navs.includes(null) || new Set(navs).size !== navs.length) found.push("parts " + navs)
  return found
})()`

/** What is chosen or pressed and shows that by a background alone, and icons that do not follow the colour of their text. */
const unmarked = `(() => {
  const chosen = [...document.querySelectorAll("[aria-selected=true], [aria-pressed=true], [aria-current]:not(.brand)")]
  const plain = chosen.filter((element) => {
    const { borderBottomWidth, outlineStyle } = getComputedStyle(element)
    return element.checkVisibility() && outlineStyle === "none" && parseFloat(borderBottomWidth) < 1
  })
  const icons = [...document.querySelectorAll("svg.icon")].filter((icon) => icon.getAttribute("stroke") !== "currentColor")
  return [...plain, ...icons].map(({ outerHTML }) => outerHTML.slice(0, 120))
})()`

describe.skipIf(!hasChromium)("access", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  let paths: Readonly<Record<PageName, string>>

  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    paths = await makePages(joined)
  })
  describe.each(looks)("in a window that is %s", (look, options) => {
    let page: Page
    beforeAll(async () => {
      page = await browser.page(joined.front.url, token, "/", options)
    })
    afterAll(() => page?.context().close())

    it.each(pageNames)(
      "reaches everything with Tab, in sight and with a line around it: %s",
      async (name) => {
        await openDirectly(page, joined.front.url + paths[name])
        // Comes with the events, after the page.
        if (name === "waiting") await page.locator(".decision").waitFor()
        if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}-${look}.png`) })
        assert.deepStrictEqual(await page.evaluate(tooWide), [])
        assert.deepStrictEqual(await page.evaluate(structure), [])
        if (look === "forced") assert.deepStrictEqual(await page.evaluate(unmarked), [])
        const { missed, stops } = await walkByTab(page)
        assert.isAbove(stops.length, 3)
        assert.deepStrictEqual(missed, [])
        const without = (has: (stop: FocusStop) => boolean) =>
          stops.filter((stop) => !has(stop)).map(({ what }) => what)
        assert.deepStrictEqual(
          without(({ visible }) => visible),
          []
        )
        assert.deepStrictEqual(
          without(({ outlined }) => outlined),
          []
        )
      }
    )
  })
})
