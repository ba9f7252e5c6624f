import { assert, beforeAll, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { build } from "vite"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const folder = `${root}dist/hub/console`
const MOST = 220 * 1_024
const MOST_SCRIPTS = 8

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
  })

  it.each(["HomePage", "SessionPage", "ApprovalsPage", "RunsPage"])(
    "is few scripts before %s shows",
    (page) => {
      const assets = readdirSync(`${folder}/assets`)
      const entry = assets.find((name) => name.startsWith(`${page}-`) && name.endsWith(".js"))
      assert.isDefined(entry)
      const html = read("/index.html")
      const scripts = [...html.matchAll(/(?:src|href)="(\/[^"]+\.js)"/g)].map(([, path = ""]) => path)
      const needed = new Set([...scripts, `/assets/${entry}`])
      for (const path of needed) for (const imported of importsOf(path)) needed.add(imported)
      assert.isAtMost(needed.size, MOST_SCRIPTS, [...needed].join(" "))
    }
  )

  it("is at most 220 KB compressed before the first page shows", () => {
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
