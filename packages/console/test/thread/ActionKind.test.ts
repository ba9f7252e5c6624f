import { assert, describe, it } from "@effect/vitest"
import type { ToolBlock } from "@corral/domain/run/RunBlock"
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
})
