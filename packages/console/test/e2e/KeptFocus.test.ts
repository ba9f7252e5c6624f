/** The focus after an element that has it went away: in generated parts of a page, and after actions that remove their own button. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Page } from "playwright-core"
import type { Joined } from "@corral/testing/stack/Joined"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"

/** How deep the button is, which of its ancestors goes, and how: from the button (0) upwards. */
const losses = fc
  .record({
    tags: fc.array(fc.constantFrom("section", "ul", "div", "form", "ol", "p"), {
      minLength: 1,
      maxLength: 5
    }),
    up: fc.nat({ max: 5 }),
    how: fc.constantFrom("removed", "hidden", "disabled")
  })
  .map((loss) => ({ ...loss, up: loss.how === "disabled" ? 0 : Math.min(loss.up, loss.tags.length) }))

type Loss = typeof losses extends fc.Arbitrary<infer A> ? A : never

/** Builds the part, focuses its button, takes it away, and returns where the focus then is. */
const lose = (page: Page, loss: Loss): Promise<string> =>
  page.evaluate(async ({ how, tags, up }) => {
    const main = document.querySelector("main .page") as HTMLElement
    document.querySelector("#lost")?.remove()
    let place: HTMLElement = main.appendChild(document.createElement("div"))
    place.id = "lost"
    const chain: Array<HTMLElement> = []
    for (const tag of tags) chain.push((place = place.appendChild(document.createElement(tag))))
    const button = place.appendChild(document.createElement("button"))
    button.textContent = "Do it"
    const next = main.appendChild(document.createElement("button"))
    next.textContent = "Not this one"
    button.focus()
    const target = [...chain, button].at(-1 - up) ?? button
    if (how === "removed") target.remove()
    else if (how === "hidden") target.hidden = true
    else button.disabled = true
    // The browser takes the focus from a disabled button with its next frame.
    for (let frame = 0; frame < 3; frame++) await new Promise((done) => requestAnimationFrame(done))
    for (let frame = 0; frame < 60 && document.activeElement === document.body; frame++)
      await new Promise((done) => requestAnimationFrame(done))
    const active = document.activeElement as HTMLElement
    const expected = [...chain.toReversed(), main]
      .filter((each) => each.isConnected && each.checkVisibility())
      .find((each) => each.matches("section, ul, ol, form, main"))
    const where =
      active === document.body
        ? "nowhere"
        : active.matches("button, a, input, select, textarea")
          ? "on another control"
          : active === (expected ?? document.querySelector("main"))
            ? "nearest region"
            : `on ${active.tagName}`
    if (how === "disabled") {
      button.disabled = false
      for (let frame = 0; frame < 60 && document.activeElement !== button; frame++)
        await new Promise((done) => requestAnimationFrame(done))
    }
    const isBack = how !== "disabled" || document.activeElement === button
    next.remove()
    return isBack ? where : "not back"
  }, loss)

describe.skipIf(!hasChromium)("the focus of what goes away", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  let page: Page
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    page = await browser.page(joined.front.url, token, "/devices")
    await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor()
  })
  afterAll(() => page?.context().close())

  it("goes to the nearest region that is left, never to nothing and never to another button", async () => {
    await fc.assert(
      fc.asyncProperty(losses, async (loss) => {
        assert.strictEqual(await lose(page, loss), "nearest region")
      }),
      { numRuns: 25 }
    )
  })

  it("stays where the user or the page has moved it", async () => {
    const moved = await page.evaluate(async () => {
      const main = document.querySelector("main .page") as HTMLElement
      const add = (text: string): HTMLElement => {
        const button = main.appendChild(document.createElement("button"))
        button.textContent = text
        return button
      }
      const [first, next] = [add("first"), add("next")]
      first.focus()
      first.remove()
      next.focus()
      const heading = document.querySelector("h1")?.textContent
      for (let frame = 0; frame < 20; frame++) await new Promise((done) => requestAnimationFrame(done))
      const isKept = document.activeElement === next
      // A click on the page itself takes the focus from what stays: later it is not looked for.
      next.blur()
      for (let frame = 0; frame < 3; frame++) await new Promise((done) => requestAnimationFrame(done))
      next.remove()
      for (let frame = 0; frame < 20; frame++) await new Promise((done) => requestAnimationFrame(done))
      return { heading, isKept, isLeft: document.activeElement === document.body }
    })
    assert.deepStrictEqual(moved, { heading: "Devices", isKept: true, isLeft: true })
  })
})
