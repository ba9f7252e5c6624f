/** The dialog that lists the keys, opened by its own: single letters act once the page has read the preferences, which may switch them off. */
import { until } from "@corral/testing/time/Until"
import type { Locator, Page } from "playwright-core"

/** Opens the dialog as soon as letters act. The focus must not be in a field. */
export const openKeys = async (page: Page): Promise<Locator> => {
  const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" })
  await until(async () => {
    // A key before letters act is the beginning of a text. A press of the pointer ends the text.
    await page.dispatchEvent("body", "pointerdown")
    await page.keyboard.press("?")
    return (await keys.isVisible()) ? true : undefined
  }, "the list of keys")
  return keys
}

/** Waits until letters act. */
export const untilLettersAct = async (page: Page): Promise<void> => {
  const keys = await openKeys(page)
  await page.keyboard.press("Escape")
  await keys.waitFor({ state: "detached" })
}
