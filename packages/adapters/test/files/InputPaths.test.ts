/** What an approval of any adapter says of the files that a tool's input names. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { assert, describe, it } from "@effect/vitest"
import { toAcpApproval as ofAcp } from "../../src/acp/Permission.ts"
import { firstReport } from "../../src/acp/ToolCall.ts"
import { acpAgents } from "../../src/acp/AcpAgents.ts"
import { toClaudeApproval as ofClaude } from "../../src/claude-code/ToolUse.ts"
import { folderOfPattern, pathsIn } from "../../src/files/InputPaths.ts"
import { toQwenApproval as ofQwen } from "../../src/qwen/QwenRequests.ts"
import { relativeTo } from "../../src/files/RelativePath.ts"

const relative = relativeTo("/workspace")
type Ask = (tool: string, input: Record<string, unknown>) => ApprovalRequest

const adapters: Record<string, Ask> = {
  "claude-code": (tool, input) => ofClaude({ tool_name: tool, input }, relative),
  qwen: (tool, input) => ofQwen({ tool_name: tool, input }, relative),
  ...Object.fromEntries(
    Object.values(acpAgents).map((agent) => [
      agent.id,
      (tool: string, input: Record<string, unknown>) =>
        ofAcp(firstReport("c", { kind: "edit", title: tool, rawInput: input }, agent), [], agent, relative)
    ])
  )
}

const tools =
  "Write Edit MultiEdit NotebookEdit Read Glob Grep write_file replace notebook_edit edit mcp__files__move".split(
    " "
  )
const fields = (
  "file_path filePath path absolute_path notebook_path notebookPath target_file targetFile destination_path fileName file_name file " +
  "directory target_directory dir destination outputPath"
).split(" ")

describe("An approval", () => {
  for (const [name, ask] of Object.entries(adapters)) {
    it(`of ${name} names every path of the input, in any field`, () => {
      for (const tool of tools) {
        for (const one of fields) {
          for (const other of fields) {
            if (one === other) continue
            const shapes = [
              { [one]: "/workspace/notes.txt", [other]: "/etc/passwd" },
              { [other]: "/etc/passwd", [one]: "/workspace/notes.txt" },
              { [one]: "/workspace/notes.txt", edits: [{ [other]: "/etc/passwd" }] },
              { [one]: "/workspace/notes.txt", [other]: ["/workspace/a.txt", "/etc/passwd"] }
            ]
            for (const input of shapes)
              assert.include(ask(tool, input).files ?? [], "/etc/passwd", JSON.stringify([tool, input]))
          }
        }
      }
    })
  }

  it("of NotebookEdit is about the notebook", () => {
    const input = { file_path: "/workspace/a.txt", notebook_path: "/tmp/x.ipynb", new_source: "1" }
    assert.deepInclude(ofClaude({ tool_name: "NotebookEdit", input }, relative), {
      title: "Edit /tmp/x.ipynb",
      files: ["/tmp/x.ipynb", "a.txt"]
    })
    assert.deepInclude(ofQwen({ tool_name: "notebook_edit", input }, relative), {
      title: "Edit /tmp/x.ipynb",
      files: ["/tmp/x.ipynb", "a.txt"]
    })
  })

  it("of a search names the folder of its pattern where that is another one", () => {
    const ask = (pattern: string) =>
      ofClaude({ tool_name: "Glob", input: { pattern, path: "/workspace/src" } }, relative).files
    assert.deepStrictEqual(ask("**/*.ts"), ["src"])
    assert.deepStrictEqual(ask("lib/*.ts"), ["src"])
    assert.deepStrictEqual(ask("/etc/**"), ["src", "/etc/"])
    assert.deepStrictEqual(ask("../../x/*"), ["src", "../../x/"])
  })
})

describe("pathsIn", () => {
  it("leaves texts that are not paths", () => {
    const input = {
      content: "/etc/passwd",
      old_string: "a/b",
      description: "x",
      profile: "dev",
      command: "ls /"
    }
    assert.deepStrictEqual(pathsIn(input), [])
  })

  it("is bounded", () => {
    const deep = Array.from({ length: 50 }).reduce<unknown>((value) => ({ files: value }), "x")
    assert.deepStrictEqual(pathsIn({ deep }), [])
    assert.isAtMost(pathsIn({ files: Array.from({ length: 10_000 }, (_, i) => `f${i}`) }).length, 300)
    assert.isUndefined(folderOfPattern(`${"a/".repeat(50_000)}*`))
  })
})
