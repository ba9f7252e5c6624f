/**
 * The review of 200 files with 12,000 changed lines: the time from the Hub's answer to the first line, and frames while a reader scrolls, in
 * Chromium without a graphics processor.
 *
 * The bounds are generous, because the machine is shared; the numbers are in the output.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Joined } from "@corral/testing/stack/Joined"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

const FILES = 200
const LINES = 60

/** Scrolls by 240 px in each frame, and returns the time between frames in milliseconds. */
const scrollThrough = (element: HTMLElement | SVGElement): Promise<Array<number>> =>
  new Promise((resolve) => {
    const frames: Array<number> = []
    let last: number | undefined
    const frame = (now: number): void => {
      if (last !== undefined) frames.push(now - last)
      last = now
      element.scrollTop += 240
      if (frames.length === 600) resolve(frames)
      else requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })

describe.skipIf(!hasChromium)("the review of 200 files", { timeout: 240_000 }, () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  it("opens within a second and scrolls without a stutter", async () => {
    const session = await sessionWithAgent(joined, "Many files")
    await sendMessage(joined, session, "/wait\n/say Done.")
    const { id: runId } = await turnWith(joined, session, ({ state }) => state === "running")
    const folder = join(joined.edge.workspace, "many")
    mkdirSync(folder)
    const content = Array.from({ length: LINES }, (_, nth) => `const value${nth} = ${nth}\n`).join("")
    for (let nth = 0; nth < FILES; nth++) writeFileSync(join(folder, `file${nth}.ts`), content)
    await joined.owner.ask("POST", `/client/runs/${runId}/input`, { body: { text: "go on" } })
    await turnWith(joined, session, ({ state }) => state === "completed")

    const page = await browser.page(joined.front.url, token, `/sessions/${session.id}?panel=log`, {
      viewport: { width: 1_280, height: 800 }
    })
    await page.getByRole("button", { name: /run\.completed/ }).waitFor()
    const answered = page.waitForResponse((response) => response.url().includes("/diff"))
    await page.getByRole("tab", { name: "Changes" }).click()
    await (await answered).finished()
    const begin = performance.now()
    await page.getByRole("group", { name: "line 1, added: const value0 = 0" }).first().waitFor()
    const firstLine = Math.round(performance.now() - begin)
    const frames = (
      await page.getByRole("group", { name: "Changed lines" }).evaluate(scrollThrough)
    ).toSorted((a, b) => a - b)
    const share = (part: number) => Math.round((frames[Math.floor(frames.length * part)] ?? 0) * 10) / 10
    const measured = { firstLine, p50: share(0.5), p95: share(0.95), p99: share(0.99) }
    console.info("review", measured)
    assert.isBelow(measured.firstLine, 1_000)
    assert.isBelow(measured.p50, 34)
    await browser.end(page)
  })
})
