/** Pausing and resuming in a real browser, with a real Hub and a real Edge: buttons, badges and lists, in the thread and elsewhere. */
import { assert, describe, it } from "@effect/vitest"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { groupsHere } from "@corral/testing/edge/Survivors"
import type { Joined } from "@corral/testing/stack/Joined"
import type { Page } from "playwright-core"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

const desktop = { viewport: { width: 1280, height: 800 } }
const phone = { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true }

describe.skipIf(!hasChromium || groupsHere === undefined)("a pause in the console", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  const at = (target: string, options = {}): Promise<Page> =>
    browser.page(joined.front.url, token, target, options)
  const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
  const assertFits = async (page: Page): Promise<void> => {
    assert.deepStrictEqual(await seriousOf(page), [])
    assert.isFalse(await page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))
  }

  it("pauses and resumes the turn of a session, which the thread, the composer and lists show", async () => {
    const session = await sessionWithAgent(joined, "Rebuild the index")
    await sendMessage(joined, session, "/say working on it\n/wait\n/say went on\n/hang")
    const page = await at(`/sessions/${session.id}`, desktop)
    await page.getByText("working on it", { exact: true }).waitFor()
    await button(page, "Pause").click()
    await page.locator(".thread-state-paused", { hasText: "▮▮ Paused" }).waitFor()
    await page.locator(".live-paused", { hasText: "Paused" }).waitFor()
    await page.locator(".line", { hasText: "Paused. (you)" }).waitFor()
    await page.getByText("The agent is paused. Messages wait until you resume it.").waitFor()
    assert.isTrue((await turnWith(joined, session, ({ paused }) => paused === true)).paused)
    await assertFits(page)

    const lists = await at("/board", desktop)
    await lists.locator(".card-paused .status-paused", { hasText: "Paused" }).waitFor()
    await assertFits(lists)
    await lists.goto("/")
    await lists.locator(".row .status-paused", { hasText: "Paused" }).waitFor()
    await lists.goto("/runs")
    await lists.locator(".row .status-paused", { hasText: "Paused" }).waitFor()

    await page.getByRole("textbox", { name: "Message" }).fill("a word")
    await page.keyboard.press("Control+Enter")
    await page.getByText("a word", { exact: true }).first().waitFor()
    await button(page, "Resume").click()
    await page.getByText("went on", { exact: true }).waitFor()
    const { id } = await turnWith(joined, session, () => true)
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<Envelope> }>(
      "GET",
      `/client/runs/${id}/events?limit=200`
    )
    const placeOf = (holds: (event: Envelope) => boolean) => body.items.findIndex(holds)
    const resumed = placeOf(({ type }) => type === "run.resumed")
    assert.isAbove(resumed, 0)
    assert.isAbove(
      placeOf(({ payload }) => payload["text"] === "went on"),
      resumed,
      "paused until then"
    )
    await page.locator(".line", { hasText: "Resumed. (you)" }).waitFor()
    await button(page, "Pause").waitFor()
    await lists.locator(".row .status-working").first().waitFor()

    await button(page, "Pause").click()
    await page.locator(".thread-state-paused").waitFor()
    await button(page, "Stop").click()
    await page.locator(".thread-state-cancelled").waitFor()
    assert.strictEqual(
      (await turnWith(joined, session, ({ endedAt }) => endedAt !== undefined)).state,
      "cancelled"
    )
    await browser.end(page, lists)
  })

  it("has its buttons where the thumb is on a phone, also in Chinese and in the dark", async () => {
    const session = await sessionWithAgent(joined, "重建索引")
    await sendMessage(joined, session, "/say working on it\n/hang")
    const page = await at(`/sessions/${session.id}`, { ...phone, locale: "zh-CN", colorScheme: "dark" })
    await page.getByText("working on it", { exact: true }).waitFor()
    await page.locator(".composer").getByRole("button", { name: "暂停", exact: true }).click()
    await page.locator(".thread-state-paused", { hasText: "已暂停" }).waitFor()
    await assertFits(page)
    await page.locator(".composer").getByRole("button", { name: "继续", exact: true }).click()
    await page.locator(".thread-state-working").waitFor()
    await page.locator(".composer").getByRole("button", { name: "停止", exact: true }).click()
    await page.locator(".thread-state-cancelled").waitFor()
    await browser.end(page)
  })

  it("pauses a run on its own page, and keeps its decision open", async () => {
    const { runId } = await joined.task({ text: "/ask\n/hang" })
    await joined.runWith(runId, ({ pendingApprovals }) => pendingApprovals.length > 0)
    const page = await at(`/runs/${runId}`, phone)
    await button(page, "Pause").click()
    await button(page, "Resume").waitFor()
    await page.locator(".thread-state-waiting").waitFor()
    await assertFits(page)
    await page.getByRole("button", { name: /^Allow once/ }).click()
    await page.locator(".thread-state-paused").waitFor()
    await button(page, "Resume").click()
    await page.getByText("allowed", { exact: true }).waitFor()
    await button(page, "Stop").click()
    await page.locator(".turn-stopped").waitFor()
    await browser.end(page)
  })

  it("says what to do where the device can't pause runs", async () => {
    const { edge } = await joined.addEdge({ env: { CORRAL_EDGE_CONTAINMENT: "environment_mark" } })
    const { deviceId: targetId } = joined.edges.at(-1) ?? assert.fail("an edge")
    const { body } = await joined.owner.ask<{ readonly id: string }>("POST", "/web/agent-tasks", {
      body: {
        projectId: joined.projectId,
        targetId,
        workspace: "ws",
        agentId: "scripted",
        mode: "ask",
        input: { text: "/say here\n/hang" }
      }
    })
    const page = await at(`/tasks/${body.id}`, desktop)
    await page.getByText("here", { exact: true }).waitFor()
    await button(page, "Pause").click()
    await page.getByRole("alert").getByText("Stop it instead.").waitFor()
    assert.strictEqual(await page.locator(".thread-state-paused").count(), 0)
    await button(page, "Stop").click()
    await page.locator(".turn-stopped").waitFor()
    await browser.end(page)
    await edge.stop()
  })
})
