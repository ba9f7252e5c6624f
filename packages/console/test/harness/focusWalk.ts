/** A walk through a page with Tab: what gets the focus, whether that is visible and shows it, and what can be used but is never reached. */
import type { Page } from "playwright-core"

export interface FocusStop {
  /** Start of the element's markup, with its name. */
  readonly what: string
  /** Whether a part of the element is in the window and not below something else. */
  readonly visible: boolean
  /** Whether the element, a pseudo-element of it or a frame around it has an outline, or another line for the focus. */
  readonly outlined: boolean
}

/** More stops than a page has. */
const MOST = 150

const script = `(() => {
  const nameOf = (element) =>
    element.tagName.toLowerCase() + "." + element.className.toString().replaceAll(" ", ".") + " " +
    JSON.stringify((element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 40))
  const hasLine = ({ outlineStyle, outlineWidth }) => outlineStyle !== "none" && parseFloat(outlineWidth) >= 1
  window.__stopOf = () => {
    const element = document.activeElement
    if (element === null || element === document.body) return "outside"
    if (element.hasAttribute("data-base-ui-focus-guard")) return "outside"
    const first = element.__seen !== true
    element.__seen = true
    const { bottom, left, right, top } = element.getClientRects()[0] ?? element.getBoundingClientRect()
    const points = []
    for (const x of [0.5, 0.1, 0.9])
      for (const y of [0.5, 0.1, 0.9]) points.push([left + (right - left) * x, top + (bottom - top) * y])
    const visible = points.some(([x, y]) => {
      const found = document.elementFromPoint(x, y)
      return found !== null && (element.contains(found) || found.contains(element) && found.closest("label") !== null)
    })
    const styles = [getComputedStyle(element), getComputedStyle(element, "::after"), getComputedStyle(element, "::before")]
    for (let up = element.parentElement, n = 0; up !== null && n < 3; up = up.parentElement, n++)
      if (up.matches(":focus-within")) styles.push(getComputedStyle(up))
    const bordered = getComputedStyle(element, "::after").borderTopStyle === "solid" || element.matches(".sidebar-resize")
    return { what: nameOf(element), visible, outlined: bordered || styles.some(hasLine), first }
  }
  // From the top of the page, unless a dialog keeps the focus.
  if (document.querySelector("[role=dialog]") === null) {
    document.body.tabIndex = -1
    document.body.focus()
    document.body.removeAttribute("tabindex")
  }
  const root = document.querySelector("[role=dialog]") ?? document
  window.__missed = () => [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((element) => element.__seen !== true && !element.matches("[data-base-ui-focus-guard], .to-end") && element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }))
    .filter((element) => !element.disabled && element.tabIndex >= 0 && element.closest("[inert], [aria-hidden=true]") === null)
    // One of several that are one stop: arrow keys go on.
    .filter((element) => !(element.type === "radio" && document.querySelectorAll("input[name='" + element.name + "']").length > 1))
    .map(nameOf)
})()`

/**
 * Presses Tab until the focus has been everywhere. Returns the stops, and what can be used but was never one. While something was not reached, the walk
 * continues until a whole round finds nothing new: a page that still loads may replace what has the focus, and the next Tab begins at its top.
 */
export const walkByTab = async (
  page: Page
): Promise<{ readonly stops: ReadonlyArray<FocusStop>; readonly missed: ReadonlyArray<string> }> => {
  await page.evaluate(script)
  const missed = async () => (await page.evaluate("window.__missed()")) as ReadonlyArray<string>
  const stops: Array<FocusStop> = []
  let again = 0
  for (let nth = 0; nth < MOST; nth++) {
    await page.keyboard.press("Tab")
    // A dialog returns the focus from its end to its beginning in the next frame. A Tab before that leaves the dialog.
    await page.locator("[data-base-ui-focus-guard]:focus").waitFor({ state: "detached" })
    const stop = (await page.evaluate("window.__stopOf()")) as
      | (FocusStop & { readonly first: boolean })
      | "outside"
    if (stop === "outside") continue
    if (stop.first) {
      stops.push(stop)
      again = 0
    } else if (++again > stops.length || (await missed()).length === 0) break
  }
  return { stops, missed: await missed() }
}
