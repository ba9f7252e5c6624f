/** Lines that a chat has for the events of a run. */
import type { InputRequestId, WorkspaceId } from "@corral/domain/identity/Ids"
import { draft, type EventDraft, type PayloadOf } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { foldedActions, runId } from "./FoldedRun.ts"

const created = (more: Partial<PayloadOf<"run.created">> = {}) =>
  draft("run.created", {
    workspace: "ws" as WorkspaceId, // an id of any text
    mode: "ask",
    input: { text: "Go" },
    ...more
  })

/** The lines of a run with these events. */
const linesOf = (...drafts: ReadonlyArray<EventDraft>): ReadonlyArray<string> => {
  const people = new Map([["usr_bob", "Bob"]])
  return foldedActions(drafts, (user) => people.get(user) ?? user)
    .flat()
    .flatMap((action) =>
      action.type === "chat/responsePart" && action.part.kind === "markdown"
        ? [action.part.content.trim()]
        : []
    )
}

describe("the line of changed files", () => {
  const changed = draft("run.diff.ready", { files: 2, additions: 2, deletions: 1 })
  const layer = { owner: runId, means: "overlayfs", enforced: true } as const
  const worktree = { runId, branch: "corral/run", base: "0".repeat(40) }

  it("says that they wait, and where to decide", () => {
    const waits = `*2 files changed, +2 −1. They wait: accept or reject them with \`corral changes ${runId}\`, or in the console.*`
    assert.deepStrictEqual(linesOf(created({ layer }), changed), [waits])
    assert.deepStrictEqual(linesOf(created({ worktree }), changed), [waits])
  })

  it("names what was written into the workspace only", () => {
    assert.deepStrictEqual(linesOf(created(), changed), ["*2 files changed, +2 −1*"])
  })

  it("says of no changes that they wait", () => {
    const none = draft("run.diff.ready", { files: 0, additions: 0, deletions: 0 })
    assert.deepStrictEqual(linesOf(created({ layer }), none), ["*0 files changed, +0 −0*"])
  })
})

describe("the line of an answer", () => {
  const inputId = "inq_01K0000000000000000000000A" as InputRequestId // has the shape
  const options = [
    { id: "1", label: "Red" },
    { id: "2", label: "Dark *blue*" }
  ]
  const colour = { id: "colour", text: "Which colour?", kind: "choice", options } as const
  const name = { id: "name", text: "Which name?", header: "Name", kind: "text" } as const

  const answered = (
    questions: NonNullable<PayloadOf<"run.input.requested">["request"]["questions"]>,
    answers: NonNullable<PayloadOf<"run.input.resolved">["answers"]>
  ) =>
    linesOf(
      created(),
      draft("run.input.requested", { inputId, request: { kind: "question", title: "Pick", questions } }),
      draft("run.input.resolved", { inputId, state: "answered", answers, origin: "editor", by: "usr_bob" })
    )

  it("says what was answered, in the words of the options", () => {
    const by = "Answered by Bob in an editor: Pick –"
    assert.deepStrictEqual(answered([colour], { colour: "2" }), [String.raw`*${by} Dark \*blue\**`])
    assert.deepStrictEqual(answered([colour, name], { colour: ["1", { other: "black" }], name: "Juniper" }), [
      `*${by} Which colour?: Red, black; Name: Juniper*`
    ])
  })
})

describe("the line of a stop", () => {
  it("says who stopped the run, and where", () => {
    const stopped = (reason: string) => linesOf(created(), draft("run.cancelled", { by: "usr_bob", reason }))
    assert.deepStrictEqual(stopped("cancelled in an editor"), ["*Stopped by Bob in an editor*"])
    assert.deepStrictEqual(stopped("cancelled by the user"), ["*Stopped by Bob*"])
  })
})
