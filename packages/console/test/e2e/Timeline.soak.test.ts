/**
 * The thread under load: 50,000 events at 1,000 a second as one message that does not end, while a person types, and 60,000 at once as 30,000
 * messages. Measured in Chromium from frame to frame and from key to frame: while events stream, the 99th percentiles are at most 50 ms and the heap
 * grows by at most 20 MB. Run it alone on the machine.
 *
 * On two cores, without a graphics processor, with Hub, Edge and database beside it: at 1,000 a second p50 17 ms, p99 17 ms, 29 ms for a key,
 * 1 MB of heap; at once p50 17 ms, p99 33 ms, 14 MB in all.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { makeSession } from "@corral/testing/hub/People"
import type { Joined } from "@corral/testing/stack/Joined"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"

/** Counts from frame to frame, in the page. */
const measure = `
  window.__frames = []
  window.__long = []
  let last = performance.now()
  const frame = (now) => {
    window.__frames.push(now - last)
    last = now
    requestAnimationFrame(frame)
  }
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(frame) })
  window.__keys = []
  addEventListener("keydown", ({ timeStamp }) =>
    requestAnimationFrame(() => setTimeout(() => window.__keys.push(performance.now() - timeStamp))), true)
  new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.__long.push(duration) })
    .observe({ entryTypes: ["longtask"] })
`

interface Measured {
  readonly frames: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
  readonly longTasks: number
  /** From a key to its frame, the 99th percentile. */
  readonly keyP99: number
  readonly megabytes: number
}

const inOrder = (all: ReadonlyArray<number> = []): ReadonlyArray<number> => all.toSorted((a, b) => a - b)

const heapOf = async (page: Page): Promise<number> => {
  const session = await page.context().newCDPSession(page)
  await session.send("HeapProfiler.collectGarbage")
  return (await session.send("Runtime.getHeapUsage")).usedSize / 1_048_576
}

const measured = async (page: Page): Promise<Measured> => {
  const megabytes = await heapOf(page)
  const [frames, long, keys] = (await page.evaluate(
    "[window.__frames, window.__long, window.__keys]"
  )) as ReadonlyArray<Array<number>>
  const sorted = inOrder(frames)
  const at = (share: number, of = sorted) => Math.round((of[Math.floor(of.length * share)] ?? 0) * 10) / 10
  return {
    frames: sorted.length,
    p50: at(0.5),
    p99: at(0.99),
    longest: Math.round(sorted.at(-1) ?? 0),
    longTasks: long?.length ?? 0,
    keyP99: at(0.99, inOrder(keys)),
    megabytes: Math.round(megabytes)
  }
}

describe.skipIf(!hasChromium)("the thread under load", { timeout: 240_000 }, () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  const follow = async (text: string): Promise<Page> => {
    const { runId } = await joined.task({ text })
    const page = await browser.page(joined.front.url, token, `/runs/${runId}`)
    await page.getByRole("log", { name: "Thread" }).waitFor()
    await page.evaluate(measure)
    return page
  }

  /** The session page of a turn that has just begun, with a person who types. */
  const talk = async (text: string): Promise<Page> => {
    const { id } = await makeSession(joined.owner, { id: joined.projectId })
    const path = `/client/sessions/${id}`
    const agent = { agentId: "scripted", targetId: joined.deviceId, workspace: "ws", mode: "ask" }
    assert.strictEqual((await joined.owner.ask("POST", `${path}/agents`, { body: agent })).status, 201)
    const page = await browser.page(joined.front.url, token, `/sessions/${id}`)
    await page.getByRole("textbox", { name: "Message" }).focus()
    const headers = { "idempotency-key": "load" }
    assert.strictEqual(
      (await joined.owner.ask("POST", `${path}/messages`, { body: { text }, headers })).status,
      201
    )
    await page.getByText("Writing…").waitFor()
    await page.evaluate(measure)
    return page
  }

  it("draws 50,000 events at 1,000 a second without a stutter", async () => {
    const page = await talk("/say begin\n/stream 50000 1000 40\n/say end")
    const before = await heapOf(page)
    const done = page.locator(".turn-state-completed")
    const word = "a message that is typed meanwhile "
    while ((await done.count()) === 0) await page.keyboard.type(word, { delay: 60 })
    const live = await measured(page)
    console.info("streamed", live, `heap before ${Math.round(before)} MB`)
    assert.isAtMost(live.keyP99, 50)
    assert.include(await page.getByRole("textbox", { name: "Message" }).inputValue(), word)
    assert.isAtMost(live.megabytes - before, 20)
    // Frames were drawn all the time, and the end was followed.
    assert.isAbove(live.frames, 500)
    assert.isAtMost(live.p99, 50)
    assert.isBelow(live.megabytes, 80)
    const end = await page
      .getByRole("log", { name: "Thread" })
      .evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight)
    assert.isBelow(end, 40)
    await page.reload()
    await page.locator(".turn-state-completed").waitFor()
    await page.context().close()
  })

  it("stays usable while 60,000 events come at once, in 30,000 messages", async () => {
    const page = await follow(`/sleep 1500\n${"/say w\n".repeat(30_000)}/say end`)
    await page.locator(".turn-state-completed").waitFor({ timeout: 120_000 })
    const live = await measured(page)
    console.info("at once", live)
    // Ten times as many as promised; the machines behind it want the same cores.
    assert.isAtMost(live.p99, 250)
    assert.isBelow(live.megabytes, 80)
    // The page has the end; earlier steps come on request, and there is something to read.
    const thread = page.getByRole("log", { name: "Thread" })
    await page.getByRole("button", { name: /^Show [\d,]+ earlier steps$/ }).click()
    await thread.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2))
    await page.locator(".message-assistant", { hasText: "w" }).first().waitFor()
    await page.getByRole("button", { name: "Jump to latest" }).click()
    await page.locator(".turn-state-completed").waitFor()
    await page.context().close()
  })
})
