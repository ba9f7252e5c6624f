/** The pages of `docs/` whose blocks are run one after the other, and what that is. */
import { assert, onTestFinished } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Block, blocksOf, GuideRun } from "./GuideRun.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Run by the soak: each starts its own services. */
export const longGuides = ["command-line", "add-device", "embed-edge", "operations", "write-an-adapter"]

/** The blocks of a part of the README. */
export const readme = (heading: string): ReadonlyArray<Block> => {
  const parts = readFileSync(join(root, "README.md"), "utf8").split(/^## /m)
  return blocksOf(parts.find((part) => part.startsWith(`${heading}\n`)) ?? "")
}

/** Does what a page says, on an empty home, and what `more` says in the same. */
export const follow = (guide: string, more: ReadonlyArray<Block> = []): Promise<void> =>
  play([...blocksOf(readFileSync(join(root, `docs/${guide}.md`), "utf8")), ...more])

/** Does what the blocks say, on an empty home. */
export const play = async (blocks: ReadonlyArray<Block>): Promise<void> => {
  assert.isTrue(existsSync(join(root, "dist/corral/main.mjs")), "npm run build")
  assert.isNotEmpty(blocks)
  const run = new GuideRun(root)
  // Also where the page takes too long.
  onTestFinished(() => run.close())
  await run.run(blocks)
}
