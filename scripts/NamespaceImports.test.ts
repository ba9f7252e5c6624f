import { assert, describe, it } from "@effect/vitest"
import { parseSync } from "oxc-parser"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { SOURCES, splitImport } from "./NamespaceImports.ts"

const namespaces = new Map([
  ["Effect", "/effect/Effect.js"],
  ["Layer", "/effect/Layer.js"]
])

const split = (text: string): string => {
  const [first] = parseSync("module.ts", text).module.staticImports
  assert.isDefined(first)
  return first === undefined ? "" : splitImport(text, first, namespaces)
}

describe("namespaceImports", () => {
  it("reads the modules of each package", () => {
    const packages = fileURLToPath(new URL("../packages/", import.meta.url))
    for (const name of readdirSync(packages)) assert.match(`${packages}${name}/src/fold/Module.ts`, SOURCES)
    assert.notMatch(`${packages}hub/test/Module.ts`, SOURCES)
  })
})

describe("splitImport", () => {
  it("imports each namespace from its own file, under its local name", () => {
    assert.strictEqual(
      split(`import { Effect, Layer as L } from "effect"`),
      `import * as Effect from "/effect/Effect.js"; import * as L from "/effect/Layer.js";`
    )
  })

  it("keeps functions of the index, and drops types", () => {
    assert.strictEqual(
      split(`import { Effect, pipe, type Layer } from "effect"`),
      `import * as Effect from "/effect/Effect.js"; import { pipe as pipe } from "effect";`
    )
  })

  it("keeps the number of lines", () => {
    assert.strictEqual(split(`import {\n  Effect,\n  Layer\n} from "effect"`).split("\n").length, 4)
  })

  it("does not change imports without a namespace", () => {
    for (const text of [
      `import { pipe } from "effect"`,
      `import type { Effect } from "effect"`,
      `import { type Effect } from "effect"`,
      `import * as All from "effect"`,
      `import "effect"`
    ])
      assert.strictEqual(split(text), text)
  })
})
