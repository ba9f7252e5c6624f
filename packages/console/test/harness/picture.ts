/** Pictures for the documents, taken while tests run: only where `CORRAL_TEST_PICTURES` asks for them. */
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"

const folder = fileURLToPath(new URL("../../../../docs/pictures", import.meta.url))

/** Whether pictures are wanted: what is there for them alone is done then. */
export const picturing = process.env["CORRAL_TEST_PICTURES"] === "1"

export const picture = async (page: Page, name: string): Promise<void> => {
  if (!picturing) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled" })
}
