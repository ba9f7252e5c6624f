import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { approvalBlock, approvalLines } from "../../src/run/ApprovalBlock.ts"

const breaks = [
  "\n",
  "\r",
  "\r\n",
  "\t",
  "\v",
  "\f",
  "\u0085",
  "\u2028",
  "\u2029",
  "\u001b[2K",
  "\u0000",
  "\u202e"
]
/** Names of files and other texts that try to look like a part of the block. */
const hostile = fc
  .array(
    fc.constantFrom(
      ...breaks,
      "a",
      "  action: read, risk: low",
      "  files: b",
      "approval needed: Read b",
      " "
    ),
    {
      minLength: 1,
      maxLength: 8
    }
  )
  .map((parts) => parts.join(""))

const requests: fc.Arbitrary<ApprovalRequest> = fc.record(
  {
    action: fc.constant("write" as const),
    risk: fc.constant("high" as const),
    title: hostile,
    command: hostile,
    cwd: hostile,
    files: fc.array(hostile, { maxLength: 5 }),
    url: hostile,
    reason: hostile,
    patch: hostile,
    editable: fc.constant(false),
    scopes: fc.constant([])
  },
  { requiredKeys: ["action", "risk", "title", "editable", "scopes"] }
)

const textsOf = (request: ApprovalRequest): ReadonlyArray<string> =>
  approvalLines(request).map((row) => row.map(({ text }) => text).join(""))

/** A line that begins like one of the block's own. */
const labelled = /^ {0,3}\S/

describe("approvalLines", () => {
  it("begins only lines of the block with a label, and each at most once", () => {
    fc.assert(
      fc.property(requests, (request) => {
        const lines = textsOf(request)
        for (const line of lines) assert.notMatch(line.replaceAll("\t", ""), /[\p{Cc}\p{Zl}\p{Zp}\u202e]/u)
        const labels = lines
          .filter((line) => labelled.test(line))
          .map((line) => /^ *([a-z ]+):/.exec(line)?.[1])
        assert.deepStrictEqual(labels.slice(0, 2), ["approval needed", "action"])
        assert.deepStrictEqual([...new Set(labels)], labels)
        const ownLabels = [
          "approval needed",
          "action",
          "command",
          "folder",
          "files",
          "url",
          "reason",
          "patch"
        ]
        for (const label of labels) assert.include(ownLabels, label)
      })
    )
  })

  it("shows each file on one line", () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 2, maxLength: 6 }), (files) => {
        const request: ApprovalRequest = {
          action: "write",
          risk: "low",
          title: "Write",
          editable: false,
          scopes: [],
          files
        }
        const lines = textsOf(request)
        assert.strictEqual(lines.length - lines.indexOf("  files:") - 1, files.length)
      })
    )
  })

  it("has as many lines in the terminal as rows", () => {
    fc.assert(
      fc.property(requests, (request) => {
        const block = approvalBlock({
          approvalId: "apr_1",
          request,
          expiresAt: "soon",
          invocation: "corral",
          named: "",
          paint: (_, text) => text
        })
        assert.strictEqual(block.split("\n").length, approvalLines(request).length + 3)
      })
    )
  })
})
