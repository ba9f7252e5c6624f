/** The agents of a session in a real browser: what each does, waits for or lacks, from a Hub that plays a scripted team. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { BrowserContextOptions, Page } from "playwright-core"
import { ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { scenes } from "../harness/InputScenes.ts"
import { ScriptedHub } from "../harness/ScriptedHub.ts"

const desktop = { viewport: { width: 1280, height: 800 } }
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

describe.skipIf(!hasChromium)("agents of a session", () => {
  let hub: ScriptedHub
  let browser: ConsoleBrowser
  beforeAll(async () => {
    hub = await ScriptedHub.open()
    scenes["team"]?.(hub)
    browser = await ConsoleBrowser.open()
  })
  afterAll(async () => {
    await browser?.close()
    await hub?.close()
  })

  const open = async (options: BrowserContextOptions): Promise<Page> => {
    const page = await browser.page(hub.url, "sign-in", hub.thread, options)
    await page.getByRole("button", { name: "More", exact: true }).click()
    await page.getByRole("menuitem", { name: "Agents" }).click()
    return page
  }
  const row = (page: Page, name: string) =>
    page.getByRole("list", { name: "Agents" }).getByRole("listitem").filter({ hasText: name })

  it.each([
    ["Claude Code", "Working", "Running npm test -- --watch=false", "studio · shop"],
    ["Reviewer", "Needs you", "git push origin main", "sonnet-5 · Edit files, ask for other actions"],
    ["Page server", "In the background", "npm run dev", "haiku-4 · Ask before each action"],
    ["Translator", "Idle", "Last turn: Done", "Default model · Plan"],
    ["Fixer", "Held", "The last turn failed. The queued message is held.", "studio · shop"],
    ["Mac builder", "Device offline", "laptop is offline since", "laptop · shop"],
    ["Old assistant", "Gone", "studio no longer offers this agent.", "studio · shop"],
    ["Guest", "Gone", "Its device is no longer shared with this project.", "shop"]
  ])("says of %s: %s", async (name, state, line, place) => {
    const page = await open(desktop)
    await row(page, name).locator(".agent-head").getByText(state).waitFor()
    await row(page, name).getByText(line).waitFor()
    await row(page, name).getByText(place).first().waitFor()
    assert.notInclude(await row(page, name).innerText(), "dev_")
    await browser.end(page)
  })

  it("leads to the turn of an agent", async () => {
    const page = await open(desktop)
    await row(page, "Translator").getByRole("link", { name: "Show turn" }).click()
    await page.getByRole("dialog", { name: "Agents" }).waitFor({ state: "detached" })
    await page.locator(".entry-found").waitFor()
    assert.include(await page.locator(".entry-found").innerText(), "Translator")
    await browser.end(page)
  })

  it.each([desktop, phone])(
    "has no serious finding of accessibility, and no sideways scroll",
    async (options) => {
      const page = await open(options)
      await row(page, "Claude Code").getByText("Running npm test").waitFor()
      assert.deepStrictEqual(await seriousOf(page), [])
      const list = page.getByRole("list", { name: "Agents" })
      assert.isFalse(await list.evaluate((element) => element.scrollWidth > element.clientWidth))
      await browser.end(page)
    }
  )
})
