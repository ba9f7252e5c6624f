/** What goes wrong on a page without anybody being told: errors in its console, requests that fail or leave the Hub, and what jumps while it loads. */
import type { Page } from "playwright-core"

/** Collects into what is given back, from now on. */
export const faultsOf = (page: Page, origin: string): ReadonlyArray<string> => {
  const faults: Array<string> = []
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()))
  page.on("pageerror", ({ message }) => faults.push(message))
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) faults.push(`asks ${request.url()}`)
  })
  page.on("requestfailed", (request) => {
    // Requests that are still open at a navigation are aborted.
    const why = request.failure()?.errorText ?? ""
    if (why !== "net::ERR_ABORTED") faults.push(`${why} ${request.url()}`)
  })
  page.on("response", (response) => {
    if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`)
  })
  return faults
}

const observe = `
  window.__shift = 0
  window.__moved = []
  window.__largest = 0
  const startOf = (node) => (node?.outerHTML ?? node?.textContent ?? "").slice(0, 80)
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, sources, value } of list.getEntries()) {
      if (hadRecentInput) continue
      window.__shift += value
      for (const { currentRect, node, previousRect } of sources)
        window.__moved.push(startOf(node) + " from " + previousRect.y + " to " + currentRect.y)
    }
  }).observe({ type: "layout-shift", buffered: true })
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.__largest = entry.startTime
  }).observe({ type: "largest-contentful-paint", buffered: true })
`

/** Has every document that the page loads from now on measure itself. */
export const measuring = (page: Page): Promise<unknown> => page.addInitScript(observe)

interface Measured {
  /** How far visible content has jumped since the document was loaded. 1 is the whole window. */
  readonly shift: number
  /** What jumped, a line each. */
  readonly moved: string
  /** When the largest part was drawn, in ms. */
  readonly largest: number
}

export const measured = (page: Page): Promise<Measured> =>
  page.evaluate(
    "({ shift: window.__shift, moved: window.__moved.join('\\n'), largest: Math.round(window.__largest) })"
  )
