/**
 * A real Chromium with people signed in, each in a context of their own: the console as they see it.
 *
 * Owns the browser; collects what its pages complain about, refusals of the page's policy above all.
 */
import { assert } from "@effect/vitest"
import { csrfOf } from "@corral/hub/signin/SessionToken"
import { createRequire } from "node:module"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { build } from "vite"
import { launchChromium } from "@corral/testing/process/Chromium"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

export { hasChromium } from "@corral/testing/process/Chromium"

export interface Finding {
  readonly id: string
  readonly impact: string | null
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

/** Maximum time for what a page shows, in milliseconds: other tests may have the processors. No test asserts that it is quick. */
const PATIENCE_MS = 120_000

export class ConsoleBrowser {
  /** Errors of pages and violations of the content security policy. */
  readonly complaints: Array<string> = []
  private readonly browser: Browser

  /** Starts Chromium; builds the console where it was not. */
  static async open(): Promise<ConsoleBrowser> {
    if (!existsSync(`${root}dist/hub/console/index.html`))
      await build({ configFile: `${root}packages/console/vite.config.ts` })
    return new ConsoleBrowser(await launchChromium())
  }

  private constructor(browser: Browser) {
    this.browser = browser
  }

  /** Opens a page with this sign-in. */
  async page(hub: string, token: string, target: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ locale: "en", baseURL: hub, ...options })
    context.setDefaultTimeout(PATIENCE_MS)
    const page = await context.newPage()
    page.on("pageerror", (error) => this.complaints.push(error.message))
    page.on("console", (message) => {
      if (/Content Security Policy|Content-Security-Policy/i.test(message.text()))
        this.complaints.push(message.text())
    })
    await this.signIn(page, hub, token)
    await page.goto(target)
    return page
  }

  /** Replaces the sign-in of the page's browser, as a sign-in in another tab does. */
  async signIn(page: Page, hub: string, token: string): Promise<void> {
    const cookie = { domain: new URL(hub).hostname, path: "/", secure: true, sameSite: "Lax" } as const
    await page.context().addCookies([
      { ...cookie, name: "__Host-corral", value: token, httpOnly: true },
      { ...cookie, name: "__Host-corral-csrf", value: csrfOf(token) }
    ])
  }

  /** Closes pages with what belongs to them. Fails if any page has complained. */
  async end(...pages: ReadonlyArray<Page>): Promise<void> {
    for (const page of pages) await page.context().close()
    assert.deepStrictEqual(this.complaints, [])
  }

  close(): Promise<void> {
    return this.browser.close()
  }
}

/** Waits until the page is drawn with what its document has now: observers of sizes have moved what they move. */
export const drawn = async (page: Page): Promise<void> => {
  await page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
  )
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** What axe finds of serious and critical things, targets of less than 24 px among them; or of those rules alone. */
export const seriousOf = async (
  page: Page,
  only?: ReadonlyArray<"color-contrast" | "target-size">
): Promise<ReadonlyArray<string>> => {
  const options = {
    resultTypes: ["violations"],
    ...(only === undefined ? { rules: { "target-size": { enabled: true } } } : { runOnly: only })
  }
  // A color that is still changing has another contrast.
  await page.evaluate(() =>
    Promise.allSettled(
      document
        .getAnimations()
        .filter(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime))
        .map(({ finished }) => finished)
    ).then(() => undefined)
  )
  // The page's policy lets no foreign script in: this one comes by the debugger.
  const found = (await page.evaluate(
    `(async () => { ${axe}; return (await axe.run(document, ${JSON.stringify(options)})).violations })()`
  )) as ReadonlyArray<Finding>
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`)
}

/** Texts of the visible buttons that look primary. A button that another action makes plain is not one of them. */
export const primaryActions = (page: Page): Promise<ReadonlyArray<string>> =>
  page.locator(".button.primary:visible").evaluateAll((buttons) => {
    const [accent = ""] = buttons.flatMap(({ ownerDocument }) => {
      const probe = ownerDocument.body.appendChild(ownerDocument.createElement("i"))
      probe.className = "button primary"
      const { backgroundColor } = getComputedStyle(probe)
      probe.remove()
      return [backgroundColor]
    })
    return buttons
      .filter((button) => getComputedStyle(button).backgroundColor === accent)
      .map((button) => (button.querySelector("span") ?? button).textContent ?? "")
  })
