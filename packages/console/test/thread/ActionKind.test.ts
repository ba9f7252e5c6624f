import { assert, describe, it } from "@effect/vitest"
import type { ToolBlock } from "@corral/domain/run/RunBlock"
import * as fc from "fast-check"
import { kindOf, targetOf } from "../../src/thread/ActionKind.ts"
import type { ActionPart } from "../../src/thread/WorkPart.ts"

const action = (tool: string, label: string): ActionPart => ({
  kind: "action",
  seq: 1,
  approvals: [],
  patches: [],
  files: [],
  tool: {
    kind: "tool",
    seq: 1,
    at: "2026-01-01T00:00:00.000Z",
    callId: "c",
    tool,
    label,
    input: undefined,
    status: "started",
    isWaiting: false,
    allowedInput: undefined,
    output: undefined,
    exitCode: undefined,
    artifactId: undefined,
    endedAt: undefined
  } satisfies ToolBlock
})

describe("an action", () => {
  it.each([
    ["Bash", "Run npm test", "command", "npm test"],
    ["run_shell_command", "Run ls", "command", "ls"],
    ["shell", "echo hello", "command", "echo hello"],
    ["Read", "Read src/a.ts", "read", "src/a.ts"],
    ["MultiEdit", "Edit a.ts", "write", "a.ts"],
    ["apply_patch", "Edit a.ts", "write", "a.ts"],
    ["Grep", "Search TODO", "search", "TODO"],
    ["WebFetch", "Fetch https://example.com", "web", "https://example.com"],
    ["Task", "Delegate: look", "delegate", "look"],
    ["mcp__db__query", "Use query of db", "other", "Use query of db"]
  ])("of the tool %s has a kind and a target", (tool, label, kind, target) => {
    assert.deepStrictEqual([kindOf(action(tool, label)), targetOf(action(tool, label))], [kind, target])
  })

  const edited = (tool: string, label: string, input: unknown, isCut = false): ActionPart => {
    const part = action(tool, label)
    if (part.tool === undefined) return part
    const text = JSON.stringify(input)
    const allowedInput = {
      text: isCut ? text.slice(0, 10) : text,
      size: text.length,
      from: 2,
      to: 2,
      skipped: 0
    }
    return { ...part, tool: { ...part.tool, allowedInput } }
  }

  it("that a person edited acts on what was allowed", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.constantFrom("command", "path", "url"), (text, field) => {
        const part = edited("Bash", "Run rm -rf build", { timeout: 5, [field]: text })
        assert.strictEqual(targetOf(part), text)
      })
    )
    assert.strictEqual(targetOf(edited("exec", "Run ls", { command: ["ls", "-l"] })), "ls -l")
  })

  it("keeps the label where the edited input names no target, or only its start is left", () => {
    assert.strictEqual(targetOf(edited("Bash", "Run ls", { timeout: 5 })), "ls")
    assert.strictEqual(targetOf(edited("Bash", "Run ls", { command: "long command" }, true)), "ls")
    assert.strictEqual(
      targetOf(edited("mcp__db__query", "Use query of db", { query: "x" })),
      "Use query of db"
    )
  })
})
