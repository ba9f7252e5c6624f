/** Preferences of one user in two browsers, with a real Hub. */
import type { Preferences } from "@corral/domain/preference/Preferences"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubProcess } from "@corral/testing/hub/HubProcess"
import { makeProject } from "@corral/testing/hub/People"
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { openKeys, untilLettersAct } from "../harness/KeysDialog.ts"
import { storedAs } from "../harness/SentRequests.ts"

describe.skipIf(!hasChromium)("preferences in the console", () => {
  const hub = new HubProcess()
  let browser: ConsoleBrowser
  let owner: HubClient
  let pages: ReadonlyArray<Page> = []
  beforeAll(async () => {
    ;[browser] = await Promise.all([ConsoleBrowser.open(), hub.start()])
    owner = await hub.signedIn("owner")
    await makeProject(owner)
  })
  afterAll(async () => {
    await browser?.close()
    await hub.remove()
  })
  afterEach(async () => {
    await browser.end(...pages)
    await owner.ask("PATCH", "/client/preferences", {
      body: { theme: null, language: null, singleKeys: null, quietHours: null }
    })
  })

  /** Each with its own storage and its own sign-in of the same user. */
  const twoBrowsers = async (target: string, first: object = {}): Promise<readonly [Page, Page]> => {
    const open = async (options: object) =>
      browser.page(hub.url, (await hub.people.signIn("owner", "web")).token, target, options)
    const opened = [await open(first), await open({})] as const
    pages = opened
    await Promise.all(opened.map((page) => page.getByRole("button", { name: "owner" }).waitFor()))
    return opened
  }
  const stored = async () => (await owner.ask<Preferences>("GET", "/client/preferences")).body

  it("are the same in both, without a reload", async () => {
    const [first, second] = await twoBrowsers("/")
    await first.getByRole("button", { name: "owner" }).click()
    await storedAs(first, () => first.getByRole("menuitemradio", { name: "Dark" }).click())
    await second.locator("html[data-theme=dark]").waitFor()
    await storedAs(first, () => first.getByRole("menuitemradio", { name: "中文" }).click())
    await second.getByRole("heading", { level: 1, name: "首页" }).waitFor()
    await second.locator("html[lang=zh-CN]").waitFor()
    // The copy of the browser is there before the Hub answers.
    await second.route("**/client/preferences", () => undefined)
    await second.reload()
    await second.locator("html[data-theme=dark][lang=zh-CN]").waitFor()
    await second.unroute("**/client/preferences")
  })

  it("stay with the Hub's value where a browser has another copy", async () => {
    await owner.ask("PATCH", "/client/preferences", { body: { theme: "light", language: "en" } })
    const copies = [
      { name: "corral.theme", value: "dark" },
      { name: "corral.language", value: "zh" }
    ]
    const storageState = { cookies: [], origins: [{ origin: hub.url, localStorage: copies }] }
    const token = (await hub.people.signIn("owner", "web")).token
    const page = await browser.page(hub.url, token, "/", { storageState })
    pages = [page]
    await page.locator("html[data-theme=light][lang=en]").waitFor()
    assert.strictEqual(await page.evaluate("localStorage.getItem('corral.theme')"), "light")
  })

  it("are merged where both change them, and the newer one was not read yet", async () => {
    const [first, second] = await twoBrowsers("/")
    await untilLettersAct(second)
    // It does not learn of the first browser's change.
    await second.route("**/client/news", (route) => route.abort())
    await second.route("**/client/preferences", (route) =>
      route.request().method() === "GET" ? route.abort() : route.continue()
    )
    await first.getByRole("button", { name: "owner" }).click()
    await storedAs(first, () => first.getByRole("menuitemradio", { name: "Dark" }).click())
    const keys = await openKeys(second)
    const statuses: Array<number> = []
    second.on("response", (response) => {
      if (response.request().method() === "PATCH") statuses.push(response.status())
    })
    const done = second.waitForResponse(
      (response) => response.request().method() === "PATCH" && response.status() === 200
    )
    await keys.getByRole("checkbox").uncheck()
    await done
    const { singleKeys, theme } = await stored()
    assert.deepStrictEqual([theme, singleKeys], ["dark", false])
    assert.deepStrictEqual(statuses, [409, 200])
  })

  it("have quiet hours in the zone of the browser that sets them", async () => {
    const [first, second] = await twoBrowsers("/account", { timezoneId: "Asia/Shanghai" })
    await storedAs(first, () => first.getByRole("checkbox", { name: "Quiet hours" }).check())
    await second.getByText("Time zone: Asia/Shanghai").waitFor()
    await storedAs(first, () => first.getByLabel("From").fill("21:30"))
    assert.deepStrictEqual((await stored()).quietHours, {
      from: "21:30",
      to: "07:00",
      timeZone: "Asia/Shanghai"
    })
    await second.waitForFunction(
      () => document.querySelector<HTMLInputElement>("input[type=time]")?.value === "21:30"
    )
    assert.deepStrictEqual(await seriousOf(first), [])
    await storedAs(first, () => first.getByRole("checkbox", { name: "Quiet hours" }).uncheck())
    assert.notProperty(await stored(), "quietHours")
  })
})
