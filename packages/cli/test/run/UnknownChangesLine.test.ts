import { UnknownChangesReason } from "@corral/domain/changes/UnknownChanges"
import { assert, describe, it } from "@effect/vitest"
import { blockRows } from "../../src/chat/BlockRows.ts"
import { patchText } from "../../src/run/PatchText.ts"
import { Renderer } from "../../src/run/Render.ts"
import { leftOutText, unknownChangesLine } from "../../src/run/UnknownChangesLine.ts"
import { frame, tailed } from "./Tailed.ts"

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
