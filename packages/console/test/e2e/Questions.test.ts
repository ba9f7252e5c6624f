/** Questions, plans, links, sub-agents, work in the background and images in a real browser, from a Hub that plays scripted runs. */
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { openValue, type SealingKeyPair } from "@corral/domain/input/Seal"
import { draft } from "@corral/domain/run/RunEvent"
import { until } from "@corral/testing/time/Until"
import * as fc from "fast-check"
import { createECDH } from "node:crypto"
import type { BrowserContextOptions, Locator, Page } from "playwright-core"
import { ConsoleBrowser, hasChromium, primaryActions, seriousOf } from "../harness/ConsoleBrowser.ts"
import { asks, formQuestion, inputId, scenes } from "../harness/InputScenes.ts"
import { untilLettersAct } from "../harness/KeysDialog.ts"
import { ScriptedHub } from "../harness/ScriptedHub.ts"
import { decisionsSent, recordSent } from "../harness/SentRequests.ts"

const desktop = { viewport: { width: 1280, height: 800 } }
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

/** A key pair as the Edge makes one for a request. */
const keyPair = (): SealingKeyPair => {
  const ecdh = createECDH("prime256v1")
  return { publicKey: ecdh.generateKeys("base64url"), privateKey: ecdh.getPrivateKey("base64url") }
}

describe.skipIf(!hasChromium)("questions in the console", () => {
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
  beforeEach(() => scenes["question"]?.(hub))

  /** The thread of a scene, once its work is there. */
  const open = async (scene: string, options: BrowserContextOptions = desktop): Promise<Page> => {
    scenes[scene]?.(hub)
    const page = await browser.page(hub.url, "sign-in", hub.thread, options)
    await page.locator(".followed[aria-busy=false]").first().waitFor()
    return page
  }
  const answers = () => hub.received.filter(({ path }) => path.endsWith("/answer")).map(({ body }) => body)
  /** A predicate that is a text would be evaluated again and again, which the page's policy refuses. */
  const emptied = (field: Locator) =>
    until(async () => ((await field.inputValue()) === "" ? true : undefined), "the empty field")
  /** A card reacts to keys half a second after it appeared. A click on it ends that. */
  const awake = (page: Page) => page.locator(".input-card h2").click()

  it("sends the chosen option, and shows who answered", async () => {
    const page = await open("question")
    await page.getByText("Regional holidays").click()
    await page.getByRole("button", { name: "Answer", exact: true }).click()
    await page.getByText("Answered by you in the console").waitFor()
    assert.deepStrictEqual(answers(), [{ answers: { calendar: "1" } }])
    assert.strictEqual(await page.locator(".record dd").innerText(), "Regional holidays")
    // The focus goes to the text field, and the next key is text.
    await page.getByRole("textbox", { name: "Message" }).and(page.locator(":focus")).waitFor()
    await browser.end(page)
  })

  it("chooses nothing in advance, and asks for what is missing", async () => {
    const page = await open("form")
    await page.getByRole("button", { name: "Answer", exact: true }).waitFor()
    assert.strictEqual(await page.locator("input:checked").count(), 0)
    await page.getByRole("button", { name: "Answer", exact: true }).click()
    assert.strictEqual(await page.getByText("Answer this question.").count(), 3)
    await page.getByLabel("How many lines").fill("2.5")
    await page.getByText("Enter a whole number.").waitFor()
    await page.getByLabel("How many lines").fill("21")
    await page.getByText("Enter a number from 1 to 20.").waitFor()
    assert.deepStrictEqual(answers(), [])
    await browser.end(page)
  })

  it("sends several options with a text, a number and a sealed secret", async () => {
    const keys = keyPair()
    hub.run("Prepare the release.")
    hub.push(asks({ ...formQuestion, sealingKey: keys.publicKey }))
    const page = await browser.page(hub.url, "sign-in", hub.thread, desktop)
    await page.getByLabel("Chat of the shop").check()
    await page.getByLabel("Changelog").check()
    await page.getByLabel("Something else").check()
    await page.getByLabel("Your own answer: Channels").fill("The notice board")
    await page.getByLabel("How many lines").fill("12")
    await page.getByLabel("API key").fill("nl-secret-1")
    await page.getByLabel("No", { exact: true }).check()
    await page.getByRole("button", { name: "Answer", exact: true }).click()
    await page.getByText("Answered by you").waitFor()
    const [sent] = answers() as ReadonlyArray<{ readonly answers: Record<string, never> }>
    const { key, ...others } = sent?.answers ?? {}
    assert.deepStrictEqual<unknown>(others, {
      channels: ["a", "c", { other: "The notice board" }],
      lines: 12,
      draft: false
    })
    assert.notInclude(JSON.stringify(hub.received), "nl-secret-1")
    assert.strictEqual(await openValue(keys, inputId(1), key ?? ({} as never)), "nl-secret-1")
    assert.notInclude(await page.locator("body").innerText(), "nl-secret-1")
    await browser.end(page)
  })

  it("skips a question without an option", async () => {
    const page = await open("question")
    await page.getByText("National holidays").click()
    await page.getByRole("button", { name: "Skip" }).click()
    await page.getByText("Skipped by you").waitFor()
    assert.deepStrictEqual(answers(), [{ decline: true }])
    await browser.end(page)
  })

  it("chooses by digits, and sends with Enter", async () => {
    const page = await open("question")
    await page.locator(".thread-head h1").click()
    await awake(page)
    await page.keyboard.press("3")
    await page.keyboard.press("2")
    await page.locator("[data-option='1']:checked:focus").waitFor()
    assert.deepStrictEqual(answers(), [])
    await page.keyboard.press("Enter")
    await page.getByText("Answered by you").waitFor()
    assert.deepStrictEqual(answers(), [{ answers: { calendar: "1" } }])
    await browser.end(page)
  })

  it("sends nothing with Enter while nothing is chosen, and clears the choice with Escape", async () => {
    const page = await open("question")
    await awake(page)
    await page.locator(".input-card").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("1")
    await page.locator("[data-option='0']:checked").waitFor()
    await page.keyboard.press("Escape")
    assert.strictEqual(await page.locator("input:checked").count(), 0)
    await page.keyboard.press("Enter")
    // A round trip of the page, in which an answer would have been sent.
    await page.getByRole("button", { name: "Skip" }).click()
    await page.getByText("Skipped by you").waitFor()
    assert.deepStrictEqual(answers(), [{ decline: true }])
    await browser.end(page)
  })

  it("writes what is typed on the card into the composer, digits included", async () => {
    const page = await open("question")
    await awake(page)
    await page.locator("[data-option='0']").focus()
    await page.keyboard.type("2 days are enough")
    const field = page.getByRole("textbox", { name: "Message" })
    assert.strictEqual(await field.inputValue(), "2 days are enough")
    assert.strictEqual(await page.locator("input:checked").count(), 0)
    assert.deepStrictEqual(answers(), [])
    await browser.end(page)
  })

  it("writes a sentence into the composer while nothing has the focus, and chooses nothing", async () => {
    const page = await open("question")
    await awake(page)
    await page.locator(".thread-head h1").focus()
    await untilLettersAct(page)
    const field = page.getByRole("textbox", { name: "Message" })
    await field.fill("")
    await page.locator(".thread-head h1").focus()
    await page.keyboard.type("No, 2")
    assert.strictEqual(await field.inputValue(), "No, 2")
    assert.strictEqual(await page.locator("input:checked").count(), 0)
    await browser.end(page)
  })

  it("never answers by a sentence, wherever the focus is", async () => {
    const page = await open("question")
    await recordSent(page)
    const focusable = ".thread-main :is(button, a, input, textarea, summary, [tabindex='0'], .input-card)"
    const sentence = fc
      .tuple(
        fc.string({ unit: fc.constantFrom(..."1234567890 yn?.,a"), maxLength: 4 }),
        fc.constantFrom("a", "y", "no", "Enter the shop", "ok"),
        fc.string({ unit: fc.constantFrom(..."123 yes"), maxLength: 4 })
      )
      // A space that begins nothing presses the button that the person went to, such as the one that answers with the text.
      .map((parts) => parts.join("").trimStart())
    await fc.assert(
      fc.asyncProperty(fc.nat(200), sentence, async (nth, text) => {
        scenes["question"]?.(hub)
        await page.goto(hub.thread)
        await page.locator(".input-card").waitFor()
        await awake(page)
        const elements = page.locator(focusable)
        const element = elements.nth(nth % (await elements.count()))
        await element.evaluate((node: HTMLElement) => node.focus())
        await page.keyboard.type(text)
        // A person ends a sentence with Enter. In a field of the answer that would be an answer.
        await page.keyboard.press("Enter")
        assert.deepStrictEqual(await decisionsSent(page), [])
      }),
      { numRuns: 40 }
    )
    await browser.end(page)
  })

  it("takes no digit of a text for a choice that began on a button which is gone", async () => {
    const page = await open("question")
    await awake(page)
    await recordSent(page)
    const outside = page.locator(".thread-main button:visible:not(.input-card button)").first()
    await outside.focus()
    await page.keyboard.type("3n6nno e")
    await outside.evaluate((button) => button.remove())
    await page.keyboard.type("3")
    await page.keyboard.press("Enter")
    assert.deepStrictEqual(await decisionsSent(page), [])
    await browser.end(page)
  })

  it("offers the composer's text as the answer, and sends it only by its own button", async () => {
    const page = await open("question")
    const field = page.getByRole("textbox", { name: "Message" })
    const offer = page.getByRole("button", { name: "Answer with this text" })
    await page.locator(".input-card").waitFor()
    assert.strictEqual(await offer.count(), 0)
    await field.fill("Only 24 December")
    await offer.waitFor()
    await field.press("Enter")
    await emptied(field)
    assert.deepStrictEqual(answers(), [])
    await field.fill("Only 24 December")
    const answered = page.getByText("Answered by you")
    // The change feed may close the question before the response is here.
    await page.route("**/answer", async (route) => {
      const response = await route.fetch()
      await answered.waitFor()
      await route.fulfill({ response })
    })
    await offer.click()
    await answered.waitFor()
    assert.deepStrictEqual(answers(), [{ answers: { calendar: { other: "Only 24 December" } } }])
    await emptied(field)
    await browser.end(page)
  })

  it("says who answered first elsewhere, and why a question has no answer", async () => {
    const page = await open("question")
    await page.locator(".input-card").waitFor()
    hub.resolve(inputId(1), { state: "self_answered" })
    await page.locator(".record").getByText("the agent continued without an answer").waitFor()
    assert.strictEqual(await page.locator(".record .input-outcome").getByText(" by ").count(), 0)
    await browser.end(page)
  })

  it("sends a plan back with all comments as one text", async () => {
    const page = await open("plan")
    await page.getByText("Show the reason on the page").click()
    await page.getByLabel("Comment on line 11").fill("Not on the page.")
    await page.getByRole("button", { name: "Add comment" }).click()
    await page.getByRole("button", { name: "Comment on line 7", exact: true }).focus()
    await page.keyboard.press("Enter")
    await page.keyboard.type("From the library.")
    await page.keyboard.press("Control+Enter")
    await page.getByRole("button", { name: "Send back with 2 comments" }).click()
    await page.getByText("Sent back by you").waitFor()
    const [sent] = answers() as ReadonlyArray<{ readonly approve: boolean; readonly comment: string }>
    assert.strictEqual(sent?.approve, false)
    assert.include(
      sent?.comment,
      "From the library.\n\n> 3. Show the reason on the page, in a line below the hours.\n\nNot on"
    )
    await browser.end(page)
  })

  it("approves a plan of a planning run with the chosen mode", async () => {
    const page = await open("plan")
    await page.getByLabel("Carry out in mode").selectOption("auto_edit")
    await page.getByRole("button", { name: "Approve plan" }).click()
    await page.getByText("Approved by you").waitFor()
    assert.deepStrictEqual(answers(), [{ approve: true, mode: "auto_edit" }])
    await browser.end(page)
  })

  it("opens a link only by the person's click", async () => {
    const page = await open("link")
    const link = page.getByRole("link", { name: "Open in a new tab" })
    assert.strictEqual(await link.getAttribute("href"), "https://login.example.com/device?code=ABCD-1234")
    assert.strictEqual(await link.getAttribute("rel"), "noreferrer noopener")
    await page.getByText("Host: login.example.com").waitFor()
    assert.strictEqual(page.context().pages().length, 1)
    await browser.end(page)
  })

  it("shows the steps in place, and the current one in the live line", async () => {
    const page = await open("steps")
    await page.getByText("Steps: 3 of 6 done").waitFor()
    assert.strictEqual(await page.locator(".step-list").count(), 1)
    await page.locator(".live-step").getByText("4 of 6: Use it in hoursOn").waitFor()
    await browser.end(page)
  })

  it("keeps the work of each sub-agent below its call", async () => {
    const page = await open("children")
    const folds = page.locator(".child-work > .fold-line")
    await folds.getByText("2 steps · Running npm test -- --grep hours").waitFor()
    assert.deepStrictEqual(await folds.allInnerTexts(), [
      "3 steps",
      "2 steps · Running npm test -- --grep hours"
    ])
    assert.strictEqual(await page.getByText("is used in two places").count(), 0)
    await folds.first().click()
    await page.getByText("is used in two places").waitFor()
    await browser.end(page)
  })

  it("finishes commands in the background, alone and for a message that waits", async () => {
    const page = await open("background")
    await page.locator(".background").getByText("Working in the background: 2").waitFor()
    await page.locator(".background").getByRole("button", { name: "Finish", exact: true }).click()
    await page.getByRole("button", { name: "Finish now and send" }).click()
    const finished = () => hub.received.filter(({ path }) => path.endsWith("/finish")).length
    while (finished() < 2) await page.evaluate("new Promise((done) => requestAnimationFrame(done))")
    assert.strictEqual(finished(), 2)
    await browser.end(page)
  })

  it("asks before it stops an agent in the background", async () => {
    const page = await open("background")
    hub.push(draft("run.work.started", { workId: "w3", kind: "agent", title: "Write the tests" }))
    await page.getByRole("button", { name: "Finish…" }).click()
    await page.getByText("Stop all 3 works in the background?").waitFor()
    await page.getByRole("button", { name: "Cancel" }).click()
    await page.getByText("Stop all 3 works in the background?").waitFor({ state: "detached" })
    assert.deepStrictEqual(
      hub.received.filter(({ path }) => path.endsWith("/finish")),
      []
    )
    await browser.end(page)
  })

  it("shows an image of a result, and enlarges it", async () => {
    const page = await open("image")
    await page.getByRole("button", { name: "Enlarge visitors.png" }).click()
    const viewer = page.getByRole("dialog", { name: "visitors.png" })
    await viewer.getByText("Claude Code · Draw how many visitors come on Sundays.").waitFor()
    await viewer.getByText("Step 2 of 3: Draw visitors by hour").waitFor()
    await viewer.getByText("Image 1 of 2").waitFor()
    // The focus comes a frame later.
    await page.waitForFunction(() => document.activeElement?.closest("[role=dialog]"))
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowRight")
    const next = page.getByRole("dialog", { name: "weekdays.png" })
    await next.getByText("Step 3 of 3: Draw weekdays by hour").waitFor()
    await next.getByRole("img", { name: "weekdays.png" }).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await next.getByRole("button", { name: "Previous image" }).click()
    await viewer.waitFor()
    await page.keyboard.press("Escape")
    // Closed, the focus is where it came from.
    await page.getByRole("button", { name: "Enlarge visitors.png" }).and(page.locator(":focus")).waitFor()
    assert.strictEqual(await page.getByText("Artifact", { exact: true }).count(), 0)
    await browser.end(page)
  })

  it.each(["question", "form", "plan", "link", "answered", "steps", "children", "background", "image"])(
    "has no serious finding of accessibility, and one primary action: %s",
    async (scene) => {
      for (const options of [desktop, phone]) {
        const page = await open(scene, options)
        assert.deepStrictEqual(await seriousOf(page), [])
        const isSideways = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert.isFalse(isSideways)
        assert.isAtMost((await primaryActions(page)).length, 1)
        await browser.end(page)
      }
    }
  )
})
