import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parse } from "unbash"
import { CountedText, OutOfSteps, stepsFor } from "../../src/approval/ShellCommand.ts"
import { Seeded } from "../harness/Seeded.ts"
import { grantable, hostile } from "./CommandLines.ts"
import { hostileLine } from "./ShellGrammar.ts"

const parser = dirname(fileURLToPath(import.meta.resolve("unbash")))

/** The whole tree, substitutions included, or what the parser throws. */
const treeOf = (source: string): string => {
  try {
    return JSON.stringify(parse(source))
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const counted = (line: string, budget = Infinity) => new CountedText(line, budget)
// The parser takes any object with the methods of a string.
const asSource = (text: CountedText) => text as unknown as string

describe("CountedText", () => {
  it("counts every method by which the parser reads its source", () => {
    const used = new Set<string>()
    for (const file of readdirSync(parser).filter((name) => /^(?!printer|traversal).*\.js$/.test(name))) {
      const code = readFileSync(join(parser, file), "utf8")
      for (const [, method = ""] of code.matchAll(/\b(?:src|source|this\.#?(?:src|source))\.(\w+)\(/g))
        used.add(method)
    }
    assert.includeMembers([...used], ["charCodeAt", "slice"])
    assert.includeMembers(Object.getOwnPropertyNames(CountedText.prototype), [...used])
  })

  it("is parsed like plain text", () => {
    const random = new Seeded("counted text")
    const lines = Array.from({ length: 200 }, () => hostileLine(random).slice(0, 200))
    for (const line of [...grantable, ...hostile, ...lines])
      assert.strictEqual(treeOf(asSource(counted(line))), treeOf(line), JSON.stringify(line))
  })

  it("takes few steps for ordinary lines", () => {
    for (const line of [...grantable, ...hostile]) {
      const text = counted(line)
      treeOf(asSource(text))
      assert.isAtMost(text.steps, stepsFor(line.length) / 4, line)
    }
  })

  it.each(["$(", '"$(', "<(", "$((", "a=$(", "${a/"])(
    "ends the parser when %j is nested so deep that it reads its text again and again",
    (open) => {
      const line = open.repeat(2_000)
      const text = counted(line, stepsFor(line.length))
      assert.throws(() => JSON.stringify(parse(asSource(text))), OutOfSteps)
      assert.isAtMost(text.steps, stepsFor(line.length) + line.length)
    }
  )
})
