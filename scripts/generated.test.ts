import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { command, generated } from "./generated.ts"

describe("generated documents", () => {
  const documents = generated()

  it.each([...documents.keys()])("%s is what the code says", (path) => {
    const stored = readFileSync(new URL(`../${path}`, import.meta.url), "utf8")
    // Compared as a whole, reported in one line: a diff of a whole document is unreadable.
    assert.isTrue(stored === documents.get(path), `${path} is stale: run \`${command}\``)
  })

  it("is the same text each time", () => {
    assert.deepStrictEqual(generated(), documents)
  })
})
