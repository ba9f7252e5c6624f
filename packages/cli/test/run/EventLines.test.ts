import { UnknownChangesReason } from "@corral/domain/changes/UnknownChanges"
import { confinedHints } from "@corral/domain/run/ConfinementText"
import { assert, describe, it } from "@effect/vitest"
import { blockRows } from "../../src/chat/BlockRows.ts"
import { failureLines, leftOutText, protectedLine, unknownChangesLine } from "../../src/run/EventLines.ts"
import { patchText } from "../../src/run/ChangeParts.ts"
import { Renderer } from "../../src/run/Render.ts"
import { frame, tailed } from "./Tailed.ts"

const failure = (details: Readonly<Record<string, unknown>>) => ({
  code: "runtime_unavailable" as const,
  message: "It ended.",
  details
})

describe("failureLines", () => {
  it("shows the last lines of the program, without control characters, and then the hint", () => {
    const words = Array.from({ length: 20 }, (_, at) => `line \u001b[31m${at}`).join("\n")
    const lines = failureLines(failure({ said: words, confined: "temporary" }))
    assert.strictEqual(lines.length, 13)
    assert.isFalse(lines.some((line) => line.includes("\u001b")))
    assert.match(lines[0] ?? "", /8$/)
    assert.match(lines.at(-1) ?? "", /^Hint: .*\/tmp/)
  })

  it("has a sentence for each hint, and nothing for other failures", () => {
    const texts = confinedHints.map((confined) => failureLines(failure({ confined })).join())
    assert.strictEqual(new Set(texts).size, confinedHints.length)
    assert.deepStrictEqual(failureLines(failure({ said: " ", confined: "other" })), [])
  })
})

describe("protectedLine", () => {
  it("names the files, and how many more there are", () => {
    const files = [
      { path: "package.json", change: "modified" },
      { path: ".vs\u001bcode", change: "created" }
    ] as const
    assert.strictEqual(
      protectedLine({ count: 5, files }),
      "Changed without an approval that names it: package.json (modified), .vs␛code (created) and 3 more. Other programs run or obey such files. Review them."
    )
  })

  it("says that names were left out", () => {
    assert.match(
      protectedLine({ count: 0, files: [], incomplete: true }),
      /^Some protected names were not compared/
    )
  })
})

const context = { columns: 200, invocation: "corral", nameOf: (id: string) => id }

describe("Unknown changes in a terminal", () => {
  it.each(UnknownChangesReason.literals)("are said with their reason, in each view: %s", (reason) => {
    const line = unknownChangesLine({ reason })
    assert.match(line, /^Changes unknown\. .+\. Look at the workspace yourself\.$/)
    const renderer = new Renderer({ ...context, live: false, colours: false, named: "" })
    assert.include(renderer.render(tailed(frame(2, "run.changes.unknown", { reason }))), line)
    const block = { kind: "unknown_changes", seq: 2, at: "", reason, detail: undefined } as const
    assert.include(
      blockRows(block, context)
        .flat()
        .map(({ text }) => text)
        .join(""),
      line
    )
  })

  it("show a reason of a later version, and no control characters of git", () => {
    assert.include(unknownChangesLine({ reason: "later" }), "later")
    assert.include(unknownChangesLine({ reason: "failed", detail: "\u001b[2J" }), "␛[2J")
  })
})

describe("Files that were not compared", () => {
  it("are counted, and listed below a diff", () => {
    const leftOut = { count: 3, paths: ["secret", "a\u001b"] }
    assert.strictEqual(leftOutText(leftOut), ", 3 not compared")
    assert.deepStrictEqual(
      patchText({ items: [], leftOut }).map((row) => row.map(({ text }) => text).join("")),
      ["# not compared: secret", "# not compared: a␛", "# not compared: 1 more"]
    )
  })
})
