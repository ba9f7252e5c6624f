/** The pages of `docs/` whose blocks are run one after the other, and what that is. */
import { assert, onTestFinished } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { blocksOf, GuideRun } from "./GuideRun.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Run by the soak: each starts services of its own. */
export const longGuides = ["command-line", "add-device", "embed-edge", "operations"]

/** Does what a page says, on an empty home. */
export const follow = async (guide: string): Promise<void> => {
  assert.isTrue(existsSync(join(root, "dist/corral/main.mjs")), "npm run build")
  const blocks = blocksOf(readFileSync(join(root, `docs/${guide}.md`), "utf8"))
  assert.isNotEmpty(blocks)
  const run = new GuideRun(root)
  // Also where the page takes too long.
  onTestFinished(() => run.close())
  await run.run(blocks)
}
