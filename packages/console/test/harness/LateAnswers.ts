/** Holds the Hub's answers to a page and delivers them one at a time, as on a slow connection: the page is drawn after each. */
import type { Page, Route } from "playwright-core"
import { drawn } from "./ConsoleBrowser.ts"

/** Streams have no end: they are never held. */
const isStream = (route: Route): boolean =>
  (route.request().headers()["accept"] ?? "").includes("text/event-stream")

/** Whether the code of the page is there and no list still loads. */
const isReady = (page: Page): Promise<unknown> =>
  page.evaluate(
    `document.querySelector("h1") !== null && ![...document.querySelectorAll("main [role=status]")].some(({ textContent }) => textContent.includes("Loading"))`
  )

export class LateAnswers {
  private readonly held: Array<Route> = []
  private readonly page: Page

  static async on(page: Page): Promise<LateAnswers> {
    const answers = new LateAnswers(page)
    await page.route("**/client/**", async (route) => {
      if (isStream(route)) await route.continue()
      else answers.held.push(route)
    })
    return answers
  }

  private constructor(page: Page) {
    this.page = page
  }

  /** Delivers held answers, that of the newest request first, until the page asks for nothing more. */
  async deliver(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      await drawn(this.page)
      const route = this.held.pop()
      if (route === undefined) {
        if (!(await isReady(this.page))) quiet = -1
        continue
      }
      quiet = -1
      await route.fulfill({ response: await route.fetch() })
      await drawn(this.page)
    }
  }
}
