import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { ApprovalId } from "@corral/domain/identity/Ids"
import { RunView } from "@corral/domain/run/RunView"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { blockRows } from "../../src/chat/BlockRows.ts"
import { Renderer } from "../../src/run/Render.ts"
import { approvalId, frame, tailed } from "./Tailed.ts"

const context = { columns: 400, invocation: "corral", nameOf: (id: string) => id }

/** A command of words, which no label shortens. */
const commands = fc
  .array(fc.constantFrom("rm", "-r", "build", "echo", "npm", "test", "&&", "src/a.ts"), {
    minLength: 1,
    maxLength: 8
  })
  .map((words) => words.join(" "))

const labels: ReadonlyArray<readonly [field: string, tool: string, verb: string]> = [
  ["command", "Bash", "Run "],
  ["command", "shell", ""],
  ["file_path", "Write", "Write "],
  ["url", "WebFetch", "Fetch "]
]

/** The events of an action that a person allowed with another input. */
const eventsOf = ([field, tool, verb]: (typeof labels)[number], requested: string, allowed: string) => {
  const request: ApprovalRequest = {
    action: "shell",
    risk: "high",
    title: `${verb}${requested}`,
    callId: "1",
    input: { [field]: requested },
    editable: true,
    scopes: ["once"]
  }
  const edit = { requestedInput: { [field]: requested }, allowedInput: { [field]: allowed } }
  const id = ApprovalId.make(approvalId)
  return [
    frame(1, "run.tool.call", { callId: "1", tool, label: `${verb}${requested}`, status: "started" }),
    frame(2, "run.approval.requested", { approvalId: id, request, expiresAt: "2026-01-01T00:30:00.000Z" }),
    frame(3, "run.approval.resolved", {
      approvalId: id,
      state: "approved",
      scope: "once",
      by: "local",
      ...edit
    }),
    frame(4, "run.tool.result", { callId: "1", tool, status: "completed", output: "done" })
  ].map(tailed)
}

describe("an edited action in a terminal", () => {
  it("is named by what ran, live, in a file and in a chat", () => {
    fc.assert(
      fc.property(fc.constantFrom(...labels), commands, commands, (kind, requested, allowed) => {
        fc.pre(requested !== allowed)
        const expected = `${kind[2]}${allowed} (edited)`
        const events = eventsOf(kind, requested, allowed)
        const view = new RunView()
        for (const { decoded } of events) view.apply({ decoded, missing: undefined })
        for (const live of [true, false]) {
          const renderer = new Renderer({ ...context, live, colours: false, named: "" })
          const lines = events
            .map((event) => renderer.render(event))
            .join("")
            .split("\n")
          assert.include(lines.at(-2), expected)
        }
        const tool = view.blocks.find((block) => block.kind === "tool")
        assert(tool?.kind === "tool")
        const [row = []] = blockRows(tool, context)
        assert.strictEqual(row.map(({ text }) => text).join(""), `✓ ${expected}`)
      })
    )
  })

  it("that fails shows the end of its output", () => {
    const output = Array.from({ length: 200 }, (_, line) => `line ${line}`).join("\n")
    const renderer = new Renderer({ ...context, live: false, colours: false, named: "" })
    const failed = tailed(
      frame(1, "run.tool.result", { callId: "1", tool: "Bash", status: "failed", exitCode: 1, output })
    )
    const text = renderer.render(failed)
    assert.include(text, "line 199")
    assert.notInclude(text, "line 0\n")
    const view = new RunView()
    view.apply({ decoded: failed.decoded, missing: undefined })
    const rows = view.blocks
      .flatMap((block) => blockRows(block, context))
      .map((row) => row.map(({ text }) => text).join(""))
    assert.strictEqual(rows.at(-1)?.trim(), "line 199")
  })
})
