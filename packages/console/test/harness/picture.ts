/** Pictures for the documents, taken while tests run: only where `CORRAL_PICTURES` asks for them. */
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"

const folder = fileURLToPath(new URL("../../../../docs/pictures", import.meta.url))

export const picture = async (page: Page, name: string): Promise<void> => {
  if (process.env["CORRAL_PICTURES"] !== "1") return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled" })
}
