/** Pictures of the console for the documentation: six screens in three looks, and six in Chinese. Only where they are asked for. */
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { BrowserContextOptions, Page } from "playwright-core"
import { ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { picture, picturing } from "../harness/picture.ts"
import { Shop } from "./Shop.ts"

const desktop = { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 2 }
const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }
const looks = {
  light: desktop,
  dark: { ...desktop, colorScheme: "dark" },
  phone
} as const satisfies Record<string, BrowserContextOptions>
const chinese = { ...desktop, locale: "zh-CN" } as const

describe.skipIf(!hasChromium || !picturing)("pictures of the console", () => {
  let shop: Shop
  let browser: ConsoleBrowser
  let token: string
  let sessions: Readonly<Record<"fixed" | "running" | "release" | "failed", SessionId>>

  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([Shop.open(), ConsoleBrowser.open()])
    token = (await shop.joined.hub.people.signIn("owner", "web")).token
    const notes = await shop.session("Changelog of 1.5.0")
    await shop.send(notes, "Write the changelog entry for the Sunday hours.")
    await shop.allowAll(notes)
    const imports = await shop.session("Sort the imports")
    await shop.send(imports, "Sort the imports of all modules.")
    await shop.allowAll(imports)
    const failed = await shop.session("Update the dependencies")
    await shop.send(failed, "Update the dependencies to their latest minor versions.")
    await shop.run(failed, "failed")
    const fixed = await shop.session("Fix the opening hours")
    await shop.send(
      fixed,
      "The page says that we open from 9 to 18 on Sundays. It must be 10 to 14. Please fix it and add a test."
    )
    await shop.allowAll(fixed)
    const running = await shop.session("Public holidays", "shop-calendar")
    await shop.send(
      running,
      "On public holidays the shop opens at 10 and closes at 14. The calendar of the page has their dates."
    )
    await shop.run(running, "running")
    const release = await shop.session("Release 1.5.0", "shop-release")
    await shop.send(release, "Publish version 1.5.0 and tell the channel.")
    await shop.run(release, "waiting_approval")
    sessions = { fixed, running, release, failed }
  }, 180_000)

  afterAll(async () => {
    await browser?.close()
    await shop?.remove()
  })

  const at = (target: string, options: BrowserContextOptions): Promise<Page> =>
    browser.page(shop.joined.front.url, token, target, options)

  /** Opens a page, prepares it, and takes its picture once nothing loads. */
  const take = async (
    name: string,
    target: string,
    options: BrowserContextOptions,
    ready: string | RegExp,
    prepare: (page: Page) => Promise<unknown> = () => Promise.resolve()
  ): Promise<void> => {
    const page = await at(target, options)
    await page.getByText(ready).first().waitFor()
    await prepare(page)
    // Open streams keep the network busy: the page is done when nothing of it loads and its fonts are there.
    await page
      .getByText(/Loading…|加载中…/)
      .first()
      .waitFor({ state: "detached" })
    await page.evaluate("document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 700)))")
    await picture(page, name)
    await page.context().close()
  }

  const comment = async (page: Page): Promise<void> => {
    await page.locator(".diff-number.diff-added").nth(1).click({ force: true })
    const add = async (text: string) => {
      await page.getByRole("textbox").last().fill(text)
      await page.keyboard.press("Control+Enter")
    }
    await add("Please name them `sundayHours` and `weekdayHours`.")
    for (const key of ["j", "j", "j", "c"]) await page.keyboard.press(key)
    await add("Is 14:00 the last entry, or does the shop close then?")
    // A pointer over a line shows its button.
    await page.mouse.move(0, 0)
  }

  /** The agent of the shop, as a user has chosen it before. */
  const choose = async (page: Page): Promise<void> => {
    const { deviceId, owner, projectId } = shop.joined
    const choice = { projectId, targetId: deviceId, workspace: "shop", agentId: "acp:example", mode: "ask" }
    await owner.ask("PATCH", "/client/preferences", { body: { lastChoices: [choice] } })
    await page.reload()
    await page.getByText("npm version minor").first().waitFor()
    await page.getByText("npm test").first().waitFor()
  }

  it.each(Object.keys(looks) as ReadonlyArray<keyof typeof looks>)("shows six screens: %s", async (look) => {
    const options = looks[look]
    await take(`home-${look}`, "/", options, /npm version minor/, choose)
    await take(`thread-${look}`, `/sessions/${sessions.running}`, options, /Running npm test/)
    await take(`approval-${look}`, `/sessions/${sessions.release}`, options, "Allow once")
    const review = `/sessions/${sessions.fixed}?panel=changes`
    await take(`review-${look}`, review, options, /hoursOn/, comment)
    await take(`palette-${look}`, "/", options, /npm version minor/, async (page) => {
      await choose(page)
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox").last().fill("hours")
      await page.getByText("In threads").waitFor()
    })
    await take(`board-${look}`, "/board", options, /npm version minor|Fix the opening hours/)
  })

  it("shows six screens in Chinese", async () => {
    await take("home-zh", "/", chinese, /npm version minor/, choose)
    await take("thread-zh", `/sessions/${sessions.running}`, chinese, /npm test/)
    await take("approval-zh", `/sessions/${sessions.release}`, chinese, "允许一次")
    await take("review-zh", `/sessions/${sessions.fixed}?panel=changes`, chinese, /hoursOn/, comment)
    await take("failed-zh", `/sessions/${sessions.failed}`, chinese, /overloaded/)
    await shop.joined.edge.kill()
    await shop.joined.online(shop.joined.deviceId, "offline")
    await take("offline-zh", `/sessions/${sessions.running}`, chinese, /离线/)
  })
})
