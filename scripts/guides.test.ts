/** The guides do what they say: each command in them is run. And every link between pages leads somewhere. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { blocksOf, GuideRun } from "./GuideRun.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (name: string): string => readFileSync(join(root, name), "utf8")

const guides = ["start", "command-line", "add-device", "embed-edge", "operations"]

describe("guides", () => {
  for (const guide of guides) {
    it(`docs/${guide}.md does what it says`, { timeout: 240_000 }, async () => {
      assert.isTrue(existsSync(join(root, "dist/corral/main.mjs")), "npm run build")
      const blocks = blocksOf(read(`docs/${guide}.md`))
      assert.isNotEmpty(blocks)
      const run = new GuideRun(root)
      // Also where the page takes too long.
      onTestFinished(() => run.close())
      await run.run(blocks)
    })
  }

  it("links to what is there, and is found from the index", () => {
    const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))
    for (const page of ["README.md", ...pages.map((name) => `docs/${name}`)]) {
      // Code is no link.
      const text = read(page).replaceAll(/^```[^]*?^```$/gm, "")
      for (const [, target = ""] of text.matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g))
        assert.isTrue(existsSync(join(root, dirname(page), target)), `${page} links to ${target}`)
    }
    const index = read("docs/README.md")
    for (const guide of [...guides, "self-host"]) assert.include(index, `(${guide}.md)`)
  })
})
