/** Several agents on the command line: their names, and their group as lines. */
import type { ChangedFile } from "@corral/domain/edge-api/ChangeSet"
import { compareFiles, type GroupComparison, type TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { RunId, TaskId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { groupRows, parseCandidates } from "../../src/run/Candidates.ts"

const textOf = (rows: ReturnType<typeof groupRows>) => rows.map((row) => row.map(({ text }) => text).join(""))

const file = (path: string, version: string, more: Partial<ChangedFile> = {}): ChangedFile =>
  ({
    id: Buffer.from(path).toString("hex").padEnd(32, "0").slice(0, 32),
    path,
    status: "modified",
    binary: false,
    additions: 2,
    deletions: 1,
    hunks: 1,
    version,
    result: version,
    ...more
  }) as ChangedFile

// Only what lines show.
const candidate = (id: string, model: string, more: object = {}) => ({
  task: { id, state: "running", model },
  label: "Scripted",
  run: { id: `run_${id}`, state: "completed" },
  durationMs: 71_000,
  changes: { fileCount: 2, additions: 4, deletions: 2 },
  ...more
})

const group = {
  id: "tgr_1",
  workspace: "shop",
  isolation: "overlay",
  continuedTaskId: "b",
  candidates: [
    candidate("a", "one", {
      usage: { inputTokens: 1_000, outputTokens: 234, costUsd: 0.01 },
      changes: {
        fileCount: 2,
        additions: 4,
        deletions: 2,
        checks: { results: [{ name: "tests", state: "passed" }] }
      },
      closed: true
    }),
    candidate("b", "two"),
    candidate("c", "three", { run: undefined, changes: undefined, durationMs: 0 })
  ]
} as unknown as TaskGroup

const files = [
  {
    taskId: "a" as TaskId,
    runId: "run_a" as RunId,
    files: [file("both.txt", "1"), file("a.txt", "2"), file("c.txt", "4")]
  },
  {
    taskId: "b" as TaskId,
    runId: "run_b" as RunId,
    files: [file("both.txt", "1"), file("a.txt", "3"), file("c.txt", "4", { result: "5" })]
  }
]
const comparison = {
  candidates: [
    { taskId: "a", state: "compared" },
    { taskId: "b", state: "compared" },
    { taskId: "c", state: "none" }
  ],
  files: compareFiles(files)
} as unknown as GroupComparison

describe("parseCandidates", () => {
  const parse = (text: string) => Effect.runSync(Effect.result(parseCandidates(text)))

  it("reads agents and models, which may have colons", () => {
    const parsed = parse("claude-code, codex:gpt-5,custom:vendor/model:free")
    assert.strictEqual(parsed._tag, "Success")
    if (parsed._tag !== "Success") return
    assert.deepStrictEqual<unknown>(parsed.success, [
      { agentId: "claude-code" },
      { agentId: "codex", model: "gpt-5" },
      { agentId: "custom", model: "vendor/model:free" }
    ])
  })

  it("refuses fewer than two, more than five, and one twice", () => {
    for (const text of ["", "one", "a,b,c,d,e,f", "a:x,a:x", "a,b,a"]) {
      const parsed = parse(text)
      assert.strictEqual(parsed._tag, "Failure", text)
      if (parsed._tag === "Failure") assert.include(parsed.failure.message, "Name 2 to 5 different agents")
    }
  })
})

describe("groupRows", () => {
  it("shows each candidate with its use and checks, and the files by candidate", () => {
    assert.deepStrictEqual(textOf(groupRows(group, comparison)), [
      "tgr_1  in shop, overlay",
      "A  Scripted (one)    completed  2 files +4 -2   1m 11s  1234 tokens  $0.0100  tests passed  closed  run_a",
      "B  Scripted (two)    completed  2 files +4 -2   1m 11s  continued  run_b",
      "C  Scripted (three)  running    no changes yet",
      "",
      "A       B       C       ",
      "+2 -1   +2 -1   -       a.txt",
      "+2 -1   = A     -       c.txt",
      "the same by all: both.txt"
    ])
  })

  it("names candidates that were not compared in full", () => {
    const [a, , c] = comparison.candidates
    const rows = textOf(
      groupRows(group, {
        ...comparison,
        candidates: [
          ...(a === undefined ? [] : [{ ...a, truncated: true as const }]),
          ...(c === undefined ? [] : [{ ...c, state: "failed" as const, reason: "It is too large." }])
        ]
      })
    )
    assert.deepStrictEqual(rows.slice(5, 7), [
      "A: only its first files are compared.",
      "C: not compared. It is too large."
    ])
  })

  it("says that nothing is undecided", () => {
    const rows = textOf(groupRows(group, { ...comparison, files: [] }))
    assert.strictEqual(rows.at(-1), "There are no undecided changes.")
  })
})
