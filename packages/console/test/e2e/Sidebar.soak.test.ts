/**
 * The sidebar with 2,000 sessions: frames while a reader scrolls through all of them, in Chromium without a graphics processor.
 *
 * On two cores: p50, p95 and p99 17 ms, which is 60 frames a second. Run it alone on the machine.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { Joined } from "@corral/testing/stack/Joined"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { manySessions } from "../harness/SessionFixtures.ts"

const SESSIONS = 2_000

/** Scrolls by 60 px in each frame, down and up again, and returns the time between frames in milliseconds. */
const scrollThrough = `new Promise((done) => {
  const scroller = document.querySelector(".session-scroll")
  const frames = []
  let last, step = 60
  const frame = (now) => {
    if (last !== undefined) frames.push(now - last)
    last = now
    scroller.scrollTop += step
    const isAtEnd = scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 1
    if (step > 0 && isAtEnd) step = -60
    if (step < 0 && scroller.scrollTop === 0) done(frames)
    else requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
})`

describe.skipIf(!hasChromium)("the sidebar with 2,000 sessions", { timeout: 240_000 }, () => {
  let joined: Joined
  let browser: ConsoleBrowser
  withJoinedConsole((opened) => ({ joined, browser } = opened))
  beforeAll(async () => {
    await manySessions(joined, SESSIONS)
  })

  it("scrolls without a stutter", async () => {
    const { token } = await joined.hub.people.signIn("owner", "web")
    const page = await browser.page(joined.front.url, token, "/devices")
    await page.getByRole("link", { name: "Session 1", exact: true }).waitFor()
    // The first way down loads the pages.
    await page.evaluate(scrollThrough)
    const frames = ((await page.evaluate(scrollThrough)) as Array<number>).toSorted((a, b) => a - b)
    const share = (part: number) => Math.round((frames[Math.floor(frames.length * part)] ?? 0) * 10) / 10
    const measured = { frames: frames.length, p50: share(0.5), p95: share(0.95), p99: share(0.99) }
    console.info("sidebar", measured)
    assert.isAbove(measured.frames, 1_000)
    assert.isAtMost(measured.p50, 20)
    assert.isAtMost(measured.p95, 20)
    assert.isAtMost(measured.p99, 50)
    await page.context().close()
  })
})
