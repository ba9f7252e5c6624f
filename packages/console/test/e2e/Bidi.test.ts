/** Text from right to left in messages, answers and titles, and characters that would turn a command around. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { Session } from "@corral/domain/session/Session"
import type { Joined } from "@corral/testing/stack/Joined"
import { join } from "node:path"
import type { Locator, Page } from "playwright-core"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

/** Where pictures of what is tested go, for a person to look at. */
const pictures = process.env["CORRAL_TEST_ROUTE_PICTURES"]

const arabic = "اقرأ الملف src/app.ts ثم أصلح الخطأ"
const hebrew = "תוקן `hours.js` בשורה 12, ראו [המדריך](https://example.com/a) וגם https://example.com/b?c=1/"
const list = "- פתוח `npm test` עד 8"
const title = "ساعات العمل (2026)"
const hostile = "src/\u202Etxt.exe\u2066"

/** Left edges in pixels of these words in the element. */
const edges = (place: Locator, words: ReadonlyArray<string>): Promise<ReadonlyArray<number>> =>
  place.evaluate((element, wanted) => {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    const found = new Map<string, number>()
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
      for (const word of wanted) {
        const at = node.textContent?.indexOf(word) ?? -1
        if (at === -1) continue
        const range = document.createRange()
        range.setStart(node, at)
        range.setEnd(node, at + word.length)
        found.set(word, range.getBoundingClientRect().left)
      }
    return wanted.map((word) => found.get(word) ?? Number.NaN)
  }, words)

const descends = (all: ReadonlyArray<number>): boolean =>
  all.every((x, nth) => nth === 0 || x < (all[nth - 1] ?? 0))

describe.skipIf(!hasChromium)("text from right to left", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let session: Session
  let page: Page
  let token: string

  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    session = await sessionWithAgent(joined, title)
    await sendMessage(joined, session, `/say ${hebrew}\n/say ${list}\n# ${arabic}`)
    await turnWith(joined, session, ({ state }) => state === "completed")
    page = await browser.page(joined.front.url, token, `/sessions/${session.id}`, {
      viewport: { width: 1_280, height: 800 }
    })
  })
  const look = async (name: string): Promise<void> => {
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `bidi-${name}.png`) })
  }

  it("begins lines of messages and answers at the right, with paths, code and links whole", async () => {
    await page.getByRole("button", { name: /^Worked for/ }).click()
    const answer = page.locator(".md p", { hasText: "תוקן" }).first()
    await answer.waitFor()
    await look("thread")
    // From right to left: the first word, the code, the line, the link, the address.
    const order = await edges(answer, ["תוקן", "hours.js", "בשורה", "המדריך", "https://example.com/b"])
    assert.isTrue(descends(order), String(order))
    const [head, tail] = await edges(answer, ["https://example.com/b", "?c=1/"])
    assert.isBelow(head ?? 0, tail ?? 0)
    const item = page.locator(".md li", { hasText: "פתוח" }).first()
    assert.strictEqual(await item.evaluate((element) => getComputedStyle(element).direction), "rtl")
    const [first, code, last] = await edges(item, ["פתוח", "npm test", "עד"])
    assert.isTrue(descends([first ?? 0, code ?? 0, last ?? 0]))
    const typed = page.locator(".person-text .said").first()
    const inTyped = await edges(typed, ["اقرأ", "src/app.ts", "أصلح"])
    assert.isTrue(descends(inTyped), String(inTyped))
  })

  it("keeps what is next to a title in its place", async () => {
    const heading = page.getByRole("heading", { level: 1 })
    const [name, year] = await edges(heading, ["ساعات", "2026"])
    assert.isAbove(name ?? 0, year ?? 0)
    const row = page.locator(".session-link", { hasText: "ساعات" })
    const [inRow, yearInRow] = await edges(row, ["ساعات", "2026"])
    assert.isAbove(inRow ?? 0, yearInRow ?? 0)
    await page.keyboard.press("Control+k")
    const option = page.getByRole("option", { name: /ساعات/ }).first()
    await option.waitFor()
    await look("palette")
    assert.strictEqual(await option.locator("bdi").first().innerText(), title)
    await page.keyboard.press("Escape")
  })

  it("names characters that change directions in commands, paths and changes", async () => {
    const { runId } = await joined.task({ text: `/write ${hostile} a \u202Eb\n/shell cat ${hostile} # שלום` })
    const shown = async (path: string, text: string) => {
      await page.goto(joined.front.url + path)
      await page.locator("main").getByText(text).first().waitFor()
      const body = await page.locator("body").innerText()
      assert.notMatch(body, /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/, path)
    }
    const pending = async (after?: string) => {
      const { pendingApprovals } = await joined.runWith(
        runId,
        ({ pendingApprovals: ids }) => ids.length > 0 && String(ids[0]) !== after
      )
      return String(pendingApprovals[0])
    }
    const named = "src/<U+202E>txt.exe<U+2066>"
    const write = await pending()
    for (const path of [`/runs/${runId}`, `/approvals/${write}`, "/approvals", "/", "/board"])
      await shown(path, "<U+202E>")
    await shown(`/approvals/${write}`, named)
    await look("approval")
    await joined.owner.ask("POST", `/client/approvals/${write}/decide`, { body: { decision: "allow" } })
    const shell = await pending(write)
    for (const path of [`/runs/${runId}`, `/approvals/${shell}`, "/"]) await shown(path, named)
    await look("command")
    await joined.owner.ask("POST", `/client/approvals/${shell}/decide`, { body: { decision: "deny" } })
    await joined.runWith(runId, ({ endedAt }) => endedAt !== undefined)
    for (const panel of ["changes", "files", "log"]) await shown(`/runs/${runId}?panel=${panel}`, "<U+202E>")
    await shown(`/audit?projectId=${joined.projectId}`, "<U+202E>")
    await look("changes")
    assert.deepStrictEqual(browser.complaints, [])
  })
})
