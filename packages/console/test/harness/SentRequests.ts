/**
 * Paths of the requests by which a page changes something, recorded in the page: a request is there with the key or the click that causes it, while it
 * arrives at a service, or at a route of the test, a moment later.
 */
import { assert } from "@effect/vitest"
import type { Page } from "playwright-core"

const script = `(() => {
  const send = window.fetch
  window.__sent = []
  window.fetch = (address, options) => {
    if ((options?.method ?? "GET") !== "GET") window.__sent.push(new URL(address, location.href).pathname)
    return send(address, options)
  }
})()`

/** Records in the document of the page, and in those that it loads later. Each document has its own record. */
export const recordSent = async (page: Page): Promise<void> => {
  await page.addInitScript(script)
  await page.evaluate(script)
}

/** What the document has sent to decide about a request or a change set, or to answer a question. */
export const decisionsSent = async (page: Page): Promise<ReadonlyArray<string>> =>
  (await page.evaluate<ReadonlyArray<string>>("window.__sent")).filter((path) =>
    /\/(decide|answer|changes\/\w+)$/.test(path)
  )

/** Changes a preference of the account, and waits until the Hub has stored it. */
export const storedAs = async (page: Page, act: () => Promise<void>): Promise<void> => {
  const answer = page.waitForResponse((response) => response.request().method() === "PATCH")
  await act()
  assert.strictEqual((await answer).status(), 200)
}
