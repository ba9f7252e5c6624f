/** Controls of a page, and of what its buttons open, that are smaller than a finger. */
import type { Page } from "playwright-core"

/** Smallest width and height of a target, in CSS pixels. */
const LEAST = 44

/** A link within a text is as high as its line: what surrounds it is the text. */
const script = `((least) => {
  const inText = (element) => element.matches("a[href]") && getComputedStyle(element).display === "inline" &&
    [...element.parentElement.childNodes].some((node) => node !== element && node.nodeType === 3 && node.textContent.trim().length > 1)
  const targetOf = (element) => {
    if (element.matches("input[type=checkbox], input[type=radio]")) return element.closest("label") ?? document.querySelector("label[for='" + element.id + "']") ?? element
    return element
  }
  const popup = [...document.querySelectorAll("[role=menu], [role=dialog], [role=alertdialog], .palette")].findLast((element) => element.checkVisibility())
  const root = popup ?? document
  return [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [role=menuitem], [role=menuitemradio], [role=menuitemcheckbox], [role=option], [role=tab]")]
    .filter((element) => element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && element.closest("[inert], [aria-hidden=true], [data-base-ui-inert]") === null)
    .filter((element) => !element.matches(".skip, .hidden, [data-base-ui-focus-guard]") && !inText(element))
    .flatMap((element) => {
      const { height, width } = targetOf(element).getBoundingClientRect()
      if (height === 0 || width === 0 || (height >= least - 0.5 && width >= least - 0.5)) return []
      const name = (element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 30)
      return [element.tagName.toLowerCase() + "." + element.className.toString().replaceAll(" ", ".") + " " + JSON.stringify(name) + " " + Math.round(width) + " × " + Math.round(height)]
    })
})(${LEAST})`

export const smallTargets = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(script) as Promise<ReadonlyArray<string>>

/** Buttons that open a menu, a sheet or a dialog. */
const OPENERS = "[aria-haspopup]:visible:enabled"

/** The same for everything that the page's buttons open, one after the other. */
export const smallTargetsOfPopups = async (page: Page): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  // A sheet covers what is below it.
  const sheet = page.locator("[role=dialog]:visible")
  const popups = page.locator("[role=menu], [role=dialog], [role=alertdialog]")
  const before = await popups.count()
  const openers = ((await sheet.count()) > 0 ? sheet.last() : page.locator("body")).locator(OPENERS)
  for (let nth = 0; nth < (await openers.count()); nth++) {
    const opener = openers.nth(nth)
    await opener.click()
    await openers.and(page.locator("[aria-expanded=true]")).first().waitFor({ state: "attached" })
    await popups.nth(before).waitFor()
    found.push(...(await smallTargets(page)))
    await page.keyboard.press("Escape")
    await popups.nth(before).waitFor({ state: "detached" })
  }
  return found
}
