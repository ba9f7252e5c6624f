import { assert, beforeAll, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { build } from "vite"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const folder = `${root}dist/hub/console`
const MOST = 300 * 1_024

const read = (address: string): string => readFileSync(folder + address, "utf8")

/** Files that a file needs before it runs: what it imports statically, by its address. */
const importsOf = (address: string): ReadonlyArray<string> =>
  [...read(address).matchAll(/(?:\bfrom|\bimport)\s*"(\.\/[^"]+)"/g)].map(
    ([, path = ""]) => new URL(path, `http://hub${address}`).pathname
  )

describe("what a browser loads of the console", () => {
  beforeAll(async () => {
    if (!existsSync(`${folder}/index.html`))
      await build({ configFile: `${root}packages/console/vite.config.ts` })
  }, 60_000)

  it("is at most 300 KB compressed before the first page shows", () => {
    const html = read("/index.html")
    const needed = new Set([...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = ""]) => path))
    assert.isTrue([...needed].some((path) => path.endsWith(".js")))
    assert.isTrue([...needed].some((path) => path.endsWith(".css")))
    // A set grows while it is walked.
    for (const path of needed)
      if (path.endsWith(".js")) for (const imported of importsOf(path)) needed.add(imported)
    const sizes = [...needed].map((path) => gzipSync(read(path)).length)
    const total = sizes.reduce((sum, size) => sum + size, gzipSync(html).length)
    assert.isBelow(total, MOST, [...needed].join(" "))
  })

  it("has no inline script, no inline style and nothing of another origin", () => {
    const html = read("/index.html")
    assert.notMatch(html, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/)
    assert.notMatch(html, /(?:src|href)="(?!\/)/)
  })
})
