/** An unfolded turn of 3,000 steps: what a key in the composer costs does not depend on it. Counts, not times. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { draft } from "@corral/domain/run/RunEvent"
import type { Page } from "playwright-core"
import { ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { ScriptedHub } from "../harness/ScriptedHub.ts"

const TEXT = "a message of some words"

/** Steps of a turn that has ended. */
const play = (hub: ScriptedHub, steps: number): void => {
  hub.run("Check everything")
  hub.push(
    ...Array.from({ length: steps }, (_, step) => {
      const call = { callId: `c${step}`, tool: "Bash" }
      return [
        draft("run.tool.call", { ...call, label: `Run check ${step}`, status: "started" } as never),
        draft("run.tool.result", { ...call, status: "completed", output: `checked ${step}` } as never)
      ]
    }).flat(),
    draft("run.completed", { resultText: "Done." } as never)
  )
}

/** Unfolds the work of the turn, with all of its steps. */
const unfold = async (page: Page): Promise<void> => {
  await page.locator(".turn-fold").click()
  await page.locator(".followed[aria-busy=false]").waitFor()
  const more = page.getByRole("button", { name: /(earlier|later) steps$/ })
  await more.first().waitFor()
  // Where the end is followed, only its last steps are in the page: this reader is elsewhere.
  while ((await more.count()) > 0) await more.first().evaluate((button) => (button as HTMLElement).click())
}

interface KeyCost {
  readonly rows: number
  /** Rows that the browser lays out; it skips the others. */
  readonly drawnRows: number
  /** Changes of the page outside of the composer while the text is typed. */
  readonly changes: number
}

const costOf = async (page: Page): Promise<KeyCost> => {
  await page.getByRole("textbox", { name: "Message" }).focus()
  await page.evaluate(`(() => {
    window.__changes = 0
    const isOutside = ({ target }) => (target.nodeType === 1 ? target : target.parentElement)?.closest(".composer-frame, .clock") === null
    new MutationObserver((changes) => { window.__changes += changes.filter(isOutside).length })
      .observe(document.querySelector("#content"), { subtree: true, childList: true, attributes: true, characterData: true })
  })()`)
  await page.keyboard.type(TEXT)
  return (await page.evaluate(`(() => {
    const rows = [...document.querySelectorAll(".work-row")]
    return {
      rows: rows.length,
      drawnRows: rows.filter((row) => row.checkVisibility({ contentVisibilityAuto: true })).length,
      changes: window.__changes
    }
  })()`)) as KeyCost
}

describe.skipIf(!hasChromium)("an unfolded turn of many steps", () => {
  let hub: ScriptedHub
  let browser: ConsoleBrowser
  beforeAll(async () => {
    hub = await ScriptedHub.open()
    play(hub, 1)
    browser = await ConsoleBrowser.open()
  })
  afterAll(async () => {
    await browser?.close()
    await hub?.close()
  })

  it("costs a key nothing: the page changes in the composer alone, and few rows are laid out", async () => {
    play(hub, 3_000)
    const page = await browser.page(hub.url, "sign-in", hub.thread, {
      viewport: { width: 1_280, height: 800 }
    })
    await unfold(page)
    const { changes, drawnRows, rows } = await costOf(page)
    assert.isAtLeast(rows, 3_000)
    assert.isAtMost(drawnRows, 400)
    assert.strictEqual(changes, 0)
    await browser.end(page)
  })
})
