/** What a screen reader would announce of a page: each new text of its live regions, in order. */
import type { Page } from "playwright-core"

/** Records from now on. A region with `aria-live="off"` is silent. */
export const recordAnnouncements = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const live = "[role=status], [role=alert], [role=log], [aria-live]"
    const announced: Array<string> = []
    const last = new Map<Element, string>()
    Object.assign(globalThis, { announced })
    const take = (region: Element | null | undefined): void => {
      if (region === null || region === undefined || region.getAttribute("aria-live") === "off") return
      const text = region.textContent.trim()
      if (text !== "" && last.get(region) !== text) announced.push(text)
      last.set(region, text)
    }
    new MutationObserver((mutations) => {
      for (const { addedNodes, target } of mutations) {
        take((target instanceof Element ? target : target.parentElement)?.closest(live))
        for (const node of addedNodes)
          if (node instanceof Element) for (const region of node.querySelectorAll(live)) take(region)
      }
    }).observe(document.body, { characterData: true, childList: true, subtree: true })
  })

export const announcements = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate("globalThis.announced")
