/**
 * What a tool's input may say of other files than the one that policy judges: known inputs of every adapter are allowed in `auto_edit` as they
 * are recorded, and with one more field that may name a file, under any name and at any depth, never.
 */
import { acpAgents } from "@corral/adapters/acp/AcpAgents"
import { toAcpApproval as ofAcp } from "@corral/adapters/acp/Permission"
import { firstReport } from "@corral/adapters/acp/ToolCall"
import { toClaudeApproval as ofClaude } from "@corral/adapters/claude-code/ToolUse"
import { toCodexQuestion } from "@corral/adapters/codex/Requests"
import { Items } from "@corral/adapters/codex/Items"
import { toQwenApproval as ofQwen } from "@corral/adapters/qwen/QwenRequests"
import { relativeTo } from "@corral/adapters/files/RelativePath"
import { OutputCollector } from "@corral/adapters/output/OutputCollector"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { assert, describe, it } from "@effect/vitest"
import { effort } from "@corral/testing/time/Effort"
import { Seeded } from "../harness/Seeded.ts"
import { policyOf, session, verdictOn } from "./RunPolicies.ts"

type Input = Readonly<Record<string, unknown>>
type Ask = (input: Input) => ApprovalRequest

const random = new Seeded("fields of inputs")
const relative = relativeTo("/ws")
const at = "/ws/src/a.ts"
const options = ["allow_once", "allow_always", "reject_once"].map((kind) => ({ kind, optionId: kind }))
const permission_suggestions = [{ type: "addRules", destination: "localSettings" }]

const acp = (kind: string, agent: (typeof acpAgents)[keyof typeof acpAgents], more: Input = {}): Ask => {
  return (rawInput) =>
    ofAcp(firstReport("c", { kind, title: "call", rawInput, ...more }, agent), options, agent, relative)
}
const claude =
  (tool_name: string): Ask =>
  (input) =>
    ofClaude({ tool_name, input, permission_suggestions }, relative)
const qwen =
  (tool_name: string): Ask =>
  (input) =>
    ofQwen({ tool_name, input }, relative)

/** One change of a patch of Codex. */
const codex: Ask = (change) => {
  const items = new Items(new OutputCollector(), relative)
  items.started({ type: "fileChange", id: "p", changes: [{ ...change }] }, undefined)
  const question = toCodexQuestion("item/fileChange/requestApproval", { itemId: "p" }, relative, items)
  if (question === undefined) throw new Error("a patch is no question")
  return question.request
}

const diff =
  "\ndiff --git a/ws/src/a.ts b/ws/src/a.ts\nindex 0000000..0000000 100644\n--- a/ws/src/a.ts\n+++ b/ws/src/a.ts\n"
const replaced = { old_string: "x", new_string: "y" }
const edits: ReadonlyArray<Input> = [
  { file_path: at, content: "/etc/passwd\n" },
  { file_path: at, ...replaced, replace_all: false },
  { file_path: at, ...replaced, expected_replacements: 2, instruction: "Change .envrc" },
  { file_path: at, edits: [replaced, { ...replaced, replace_all: true }] },
  { path: at, edits: [{ oldText: "x", newText: "y" }] },
  { path: at, old_str: "x", new_str: "y", fileName: at, diff: `${diff}@@ -1,2 +1,2 @@\n a\n-x\n+y\n` },
  { path: at, file_text: "x\n", fileName: at, diff: `${diff}@@ -1,0 +1,1 @@\n+--- a/.envrc\n` },
  { path: at, insert_line: 3, insert_text: "x" },
  { filePath: at, oldString: "x", newString: "y", replaceAll: true },
  { filePath: at, content: "x" }
]
const notebooks: ReadonlyArray<Input> = [
  { notebook_path: "/ws/src/a.ipynb", cell_id: "c", new_source: "x", cell_type: "code", edit_mode: "insert" }
]
const agents = Object.values(acpAgents)

const cases: ReadonlyArray<readonly [string, Ask, ReadonlyArray<Input>]> = [
  ["Claude Code: Write", claude("Write"), edits.slice(0, 1)],
  ["Claude Code: Edit", claude("Edit"), edits.slice(1, 2)],
  ["Claude Code: MultiEdit", claude("MultiEdit"), edits.slice(3, 4)],
  ["Claude Code: NotebookEdit", claude("NotebookEdit"), notebooks],
  ["Claude Code: Read", claude("Read"), [{ file_path: at }, { file_path: at, offset: 1, limit: 9 }]],
  [
    "Claude Code: Grep",
    claude("Grep"),
    [{ path: at, pattern: "^/etc/", "-n": true, output_mode: "content" }]
  ],
  ["Qwen: write_file", qwen("write_file"), edits.slice(0, 1)],
  ["Qwen: edit", qwen("edit"), edits.slice(1, 3)],
  ["Qwen: notebook_edit", qwen("notebook_edit"), notebooks],
  ["Qwen: read_file", qwen("read_file"), [{ file_path: at, limit: 9 }]],
  [
    "Codex",
    codex,
    [
      { path: at, kind: { type: "update", move_path: null }, diff: "@@ -1 +1 @@\n-x\n+y\n" },
      {
        path: at,
        kind: { type: "update", move_path: "/ws/src/b.ts" },
        diff: "@@ -1 +1 @@\n-x\n+y\n\n\nMoved to: /ws/src/b.ts"
      },
      { path: at, kind: { type: "add" }, diff: "x\n" }
    ]
  ],
  ...agents.flatMap((agent) => [
    [`${agent.id}: edit`, acp("edit", agent), [...edits, ...notebooks]] as const,
    [`${agent.id}: delete`, acp("delete", agent), [{ path: at }]] as const,
    [`${agent.id}: read`, acp("read", agent), [{ path: at, limit: 9 }]] as const,
    [`${agent.id}: move`, acp("move", agent), [{ source: at, destination: "/ws/src/b.ts" }]] as const
  ])
]

const isAllowed = (request: ApprovalRequest): boolean =>
  verdictOn(policyOf({ mode: "auto_edit", sessionId: session }), request)._tag === "Allow"

const paths = [
  ".envrc",
  "../../x",
  "/etc/x",
  "file:///etc/x",
  "~/.ssh/config",
  "a/../.git/hooks/x",
  "Makefile"
] as const
const names = (
  "to target output new_name dst location pathname uri resource document save_as out outputPath files changes patch diff move_path " +
  "rename filename dest cwd root .envrc ../x /etc/x edits content view_range kind _meta __proto__x extra path file_path toString"
).split(" ")

const anyName = (): string => {
  const created = Array.from({ length: random.whole(1, 8) }, () =>
    String.fromCharCode(random.whole(97, 122))
  ).join("")
  return random.whole(0, 3) === 0 ? created : (names[random.whole(0, names.length - 1)] ?? created)
}

/** A value in which a path stands: as it is, in a list, as a key, in a patch, deep. */
const anyValue = (path: string, depth: number): unknown => {
  if (depth > 0)
    return random.pick<(inner: unknown) => unknown>([
      (inner) => [inner],
      (inner) => ({ [anyName()]: inner }),
      (inner) => ["x", { deep: [inner] }]
    ])(anyValue(path, depth - 1))
  return random.pick<unknown>([
    path,
    [path],
    { [path]: "x" },
    { [path]: true },
    `*** Begin Patch\n*** Update File: ${path}\n+x\n`,
    `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-x\n+y\n`,
    { path },
    [{ oldText: "x", newText: "y", path }]
  ])
}

/** Fields whose text is what stands in a file, or words for a person. */
const contents = new Set("content description diff pattern".split(" "))

describe("An input that is known", () => {
  for (const [name, ask, inputs] of cases)
    it(`is allowed in auto_edit: ${name}`, () => {
      for (const input of inputs) {
        const request = ask(input)
        assert.notStrictEqual(request.risk, "high", JSON.stringify(input))
        assert.isTrue(isAllowed(request), JSON.stringify(input))
        assert.isAbove(request.scopes.length, 1)
      }
    })
})

describe("An input with one more field that holds a path", () => {
  for (const [name, ask, inputs] of cases)
    it(`is never allowed in auto_edit: ${name}`, () => {
      for (const input of inputs)
        for (let n = 0; n < 60 * effort; n++) {
          const field = anyName()
          const value = anyValue(random.pick(paths), random.whole(0, 6))
          if (typeof value === "string" && (contents.has(field) || typeof input[field] === "string")) continue
          // Deep in what is known, or beside it.
          const nested = Array.isArray(input["edits"]) && random.whole(0, 2) === 0
          const more = nested
            ? { ...input, edits: [{ ...replaced, [field]: value }] }
            : { ...input, [field]: value }
          if (nested && field === "edits") continue
          const request = ask(more)
          assert.isFalse(isAllowed(request), JSON.stringify(more))
          if (request.risk === "high") assert.deepStrictEqual(request.scopes, ["once"], JSON.stringify(more))
        }
    })

  it("is not allowed where the field is a key that is a path", () => {
    for (const [, ask, inputs] of cases)
      for (const input of inputs)
        for (const value of [true, 1, null, ""]) assert.isFalse(isAllowed(ask({ ...input, "../x": value })))
  })

  it("is not allowed in a change that an agent shows", () => {
    const change = { type: "diff", path: at, oldText: "x", newText: "y", _meta: { kind: "update" } }
    for (const agent of agents) {
      const shown = (...content: ReadonlyArray<unknown>) =>
        isAllowed(acp("edit", agent, { content })({ path: at }))
      assert.isTrue(shown(change, { ...change, path: "/ws/src/b.ts", oldText: null, _meta: null }))
      assert.isFalse(shown(change, { ...change, path: "/ws/.envrc" }))
      assert.isFalse(shown(change, { type: "diff", path: "/ws/.envrc" }))
      assert.isFalse(shown(change, { ...change, _meta: { kind: "move" } }))
      for (let n = 0; n < 20 * effort; n++) {
        const value = anyValue(random.pick(paths), random.whole(0, 6))
        assert.isFalse(shown({ ...change, [`x_${anyName()}`]: value }))
        assert.isFalse(shown({ ...change, _meta: { kind: "update", [`x_${anyName()}`]: value } }))
      }
    }
  })

  it("is not allowed for a move that does not name both ends", () => {
    for (const agent of agents)
      for (const input of [
        { path: at },
        { path: at, to: ".envrc" },
        { path: at, target: "../../x" },
        { path: at, new_name: ".envrc" },
        { source: at, destination: "/ws/.envrc" },
        { source: "/ws/.envrc", destination: at },
        { source: at, destination: "/ws/src/b.ts", to: "/ws/.envrc" }
      ]) {
        assert.isFalse(isAllowed(acp("move", agent)(input)), JSON.stringify(input))
      }
  })
})

describe("A diff", () => {
  it("that names another file, or lies about its hunks, is not told", () => {
    for (const more of [
      "*** Update File: .envrc\n",
      "@@ -1 +1 @@\n-x\n+y\n--- a/.envrc\n+++ b/.envrc\n@@ -1 +1 @@\n-x\n+y\n",
      "@@ -1,99 +1,99 @@\n-x\n+y\n*** Update File: .envrc\n",
      "rename to .envrc\n"
    ])
      for (const agent of agents)
        assert.isFalse(isAllowed(acp("edit", agent)({ path: at, diff: diff + more })), more)
  })
})
