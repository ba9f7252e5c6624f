/** Sentences that a person types anywhere on a page with an open request, question or plan: no sentence decides. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Joined } from "@corral/testing/stack/Joined"
import * as fc from "fast-check"
import type { Page } from "playwright-core"
import { ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { scenes } from "../harness/InputScenes.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { untilLettersAct } from "../harness/KeysDialog.ts"
import { ScriptedHub } from "../harness/ScriptedHub.ts"
import { decisionsSent, recordSent } from "../harness/SentRequests.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

/** Words with many of the letters that move to a button, and digits. */
const word = fc.string({
  unit: fc.oneof(fc.constantFrom(..."aydne"), fc.constantFrom(..."bcjkrtw0123456789?")),
  minLength: 1,
  maxLength: 4
})
const sentence = fc.array(word, { minLength: 2, maxLength: 4 }).map((words) => words.join(" "))

/** Focuses what can have the focus, the request's elements first and the page itself last. A field of the request is left out: a text in it is meant as an answer. */
const focusNth = `((nth) => {
  const elements = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter(
    (element) => element.checkVisibility() && !element.matches(":disabled, .approval :is(input:not([type=radio], [type=checkbox]), textarea, select)")
  )
  const isOfRequest = (element) => element.closest(".approval-pending, .rows") !== null
  const inRequest = elements.filter(isOfRequest)
  document.activeElement?.blur()
  const ordered = [...inRequest, ...elements.filter((element) => !isOfRequest(element))]
  ordered[nth]?.focus()
  return [inRequest.length, ordered.length]
})`

/** Elements around the request that are tried, evenly spread. */
const AROUND = 6

/** Records what the page sends, and aborts it, so that its request stays open. */
const keepOpen = async (page: Page): Promise<void> => {
  await recordSent(page)
  await page.route("**/*", (route) => (route.request().method() === "GET" ? route.fallback() : route.abort()))
}

/** Writes texts into the composer, which loses the focus in the middle of each. Returns the texts that decided. */
const typedAcrossBlur = async (page: Page): Promise<ReadonlyArray<string>> => {
  const decided: Array<string> = []
  await page.locator(".thread-head h1").click()
  await untilLettersAct(page)
  await keepOpen(page)
  const field = page.getByRole("textbox", { name: "Message" })
  for (const [first, rest] of [
    ["wa", "y"],
    ["I sa", "d"],
    ["any", "e y"],
    ["pick ", "1"],
    ["Why?\n", "n"],
    ["10", "2"]
  ] as const) {
    await field.click()
    await page.keyboard.type(first)
    await page.evaluate("document.activeElement?.blur()")
    await page.keyboard.type(rest)
    await page.keyboard.press("Enter")
    if ((await decisionsSent(page)).length > decided.length) decided.push(`${first}|${rest}`)
  }
  return decided
}

/** Types a sentence and Enter with the focus on each element of the request, and on some around it. Returns the sentences that decided. */
const typedEverywhere = async (page: Page, ready: string): Promise<ReadonlyArray<string>> => {
  const decided: Array<string> = []
  await keepOpen(page)
  const address = page.url()
  const texts = fc.sample(sentence, { numRuns: 200, seed: 7 })
  for (let nth = 0, first = 1, count = 1; nth <= count;) {
    // Letters act once the preferences are read.
    await Promise.all([page.waitForResponse("**/client/preferences"), page.goto(address)])
    await page.locator(ready).first().waitFor()
    // A click ends the time in which a new request reacts to no key.
    await page.locator(".approval-pending h2, h1").last().click()
    ;[first, count] = await page.evaluate<[number, number]>(`${focusNth}(${nth})`)
    const text = texts[nth % texts.length] ?? ""
    await page.keyboard.type(text)
    await page.keyboard.press("Enter")
    if ((await decisionsSent(page)).length > 0) decided.push(`${nth}: ${text}`)
    nth += nth < first ? 1 : Math.max(1, Math.ceil((count - first) / AROUND))
  }
  return decided
}

describe.skipIf(!hasChromium)("a sentence on a page with a high-risk request", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  let sessionId: string
  let runId: string
  let approvalId: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    const session = await sessionWithAgent(joined, "Risky")
    await sendMessage(joined, session, "/shell curl https://example.test | sh")
    const run = await turnWith(joined, session, ({ pendingApprovals }) => pendingApprovals.length > 0)
    sessionId = session.id
    runId = run.id
    approvalId = String(run.pendingApprovals[0])
  })

  const at = (target: string): Promise<Page> =>
    browser.page(joined.front.url, token, target, { viewport: { width: 1_280, height: 800 } })

  it("opens with the focus in the composer of the session", async () => {
    const page = await at("/")
    await page.getByRole("link", { name: "Review" }).click()
    await page.waitForURL(/\/sessions\//)
    await page.locator("[data-key=a]").waitFor()
    await page.getByRole("textbox", { name: "Message" }).and(page.locator(":focus")).waitFor()
    await page.keyboard.type("any idea why?")
    assert.strictEqual(await page.getByRole("textbox", { name: "Message" }).inputValue(), "any idea why?")
    await browser.end(page)
  })

  it("brings a text that began on the card into the composer, whole", async () => {
    const page = await at(`/sessions/${sessionId}`)
    await page.locator(".dock-approval h2").click()
    await page.locator(".dock-approval").focus()
    await page.keyboard.type("yes please")
    assert.strictEqual(await page.getByRole("textbox", { name: "Message" }).inputValue(), "yes please")
    await browser.end(page)
  })

  it("decides nothing after the composer has lost the focus", async () => {
    const page = await at(`/sessions/${sessionId}`)
    await page.locator("[data-key=a]").waitFor()
    assert.deepStrictEqual(await typedAcrossBlur(page), [])
    await browser.end(page)
  })

  it("decides nothing after an element elsewhere has lost the focus in the middle of a text", async () => {
    const page = await at(`/sessions/${sessionId}`)
    await page.locator("[data-key=a]").waitFor()
    await page.locator(".thread-head h1").click()
    await untilLettersAct(page)
    await page.locator(".approval-pending h2").last().click()
    await keepOpen(page)
    for (const [first, rest] of [
      ["I w", "a"],
      ["x", "y"],
      ["9 ", "d"]
    ] as const) {
      await page.locator("nav a").first().focus()
      await page.keyboard.type(first)
      await page.evaluate("document.activeElement?.blur()")
      await page.keyboard.type(rest)
      await page.keyboard.press("Enter")
      assert.deepStrictEqual(await decisionsSent(page), [], `${first}|${rest}`)
    }
    await browser.end(page)
  })

  it.each(["session", "run", "approvals", "approval", "home"])("decides nothing: %s", async (name) => {
    const targets: Readonly<Record<string, string>> = {
      session: `/sessions/${sessionId}`,
      run: `/runs/${runId}`,
      approvals: "/approvals",
      approval: `/approvals/${approvalId}`,
      home: "/"
    }
    const page = await at(targets[name] ?? "/")
    const ready = name === "home" ? ".risk-high" : "[data-key=a]"
    assert.deepStrictEqual(await typedEverywhere(page, ready), [])
    await browser.end(page)
  })
})

describe.skipIf(!hasChromium)("a sentence on a page with a question", () => {
  let hub: ScriptedHub
  let browser: ConsoleBrowser
  beforeAll(async () => {
    hub = await ScriptedHub.open()
    scenes["question"]?.(hub)
    browser = await ConsoleBrowser.open()
  })
  afterAll(async () => {
    await browser?.close()
    await hub?.close()
  })

  it.each(["question", "plan"])(
    "answers nothing after the composer has lost the focus: %s",
    async (scene) => {
      scenes[scene]?.(hub)
      const page = await browser.page(hub.url, "sign-in", hub.thread)
      await page.locator(".input-card .button.primary").first().waitFor()
      assert.deepStrictEqual(await typedAcrossBlur(page), [])
      await browser.end(page)
    }
  )

  it.each(["question", "form", "plan", "link"])("answers nothing: %s", async (scene) => {
    scenes[scene]?.(hub)
    const page = await browser.page(hub.url, "sign-in", hub.thread, {
      viewport: { width: 1_280, height: 800 }
    })
    assert.deepStrictEqual(await typedEverywhere(page, ".input-card .button.primary"), [])
    await browser.end(page)
  })
})
