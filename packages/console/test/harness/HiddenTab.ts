/** A tab of a browser without a screen that a test hides, and whose notifications it reads. */
import type { Page } from "playwright-core"

/** Records notifications and requests for the permission, which a browser without a screen refuses, and lets a test hide the page. */
export const observedTab = `
  window.__notified = []
  window.__hidden = false
  Object.defineProperty(document, "hidden", { get: () => window.__hidden })
  Object.defineProperty(document, "visibilityState", { get: () => (window.__hidden ? "hidden" : "visible") })
  window.Notification = class extends EventTarget {
    static get permission() { return localStorage.getItem("test.permission") ?? "default" }
    static async requestPermission() {
      localStorage.setItem("test.permission", "granted")
      return "granted"
    }
    constructor(title) { super(); window.__notified.push(title) }
    close() {}
  }
`

/** Hides the tab, or shows it again. */
export const hideTab = (page: Page, isHidden = true): Promise<unknown> =>
  page.evaluate(`window.__hidden = ${isHidden}; document.dispatchEvent(new Event("visibilitychange"))`)

/** Titles of the tab's notifications. */
export const notifiedIn = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate<ReadonlyArray<string>>("window.__notified")
