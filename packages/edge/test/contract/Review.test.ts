/**
 * Rounds of review on one hunk, over real HTTP: the agent hears of exactly what was rejected and what was said about it, once; rejected content has
 * left the layer and does not come back; a hunk is accepted as the person edited it.
 */
import type { EarlierDecision } from "@corral/domain/changes/EarlierDecision"
import type {
  ChangedFileContent,
  ChangeHunk,
  ChangeSetPage,
  DecidedChanges
} from "@corral/domain/edge-api/ChangeSet"
import { assert, describe, it } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { canConfine } from "../confinement/CanConfine.ts"
import { commitAll, sampleRepository } from "../workspace/Repository.ts"

const LINES = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`)
const textOf = (lines: ReadonlyArray<string>): string => `${lines.join("\n")}\n`
const withLine = (line: number, ...texts: ReadonlyArray<string>): string =>
  textOf(LINES.toSpliced(line - 1, 1, ...texts))
/** A turn that gives one line another text, and says what it finds before. */
const rewrite = (line: number, text: string): string =>
  `/shell sed -n ${line}p code.txt; sed -i '${line}s/.*/${text}/' code.txt`

/** A conversation in a layer or a worktree, one turn after the other. */
class Review {
  readonly edge: EdgeProcess
  private readonly isolation: "overlay" | "worktree"
  private runId: string | undefined

  constructor(edge: EdgeProcess, isolation: "overlay" | "worktree") {
    this.edge = edge
    this.isolation = isolation
  }

  get newest(): string {
    return this.runId ?? assert.fail("no turn was played")
  }

  /** Plays a turn. Returns what the agent heard after the prompt, line by line, and what its command printed. */
  async turn(script: string): Promise<{ note: ReadonlyArray<string>; printed: string }> {
    const { client } = this.edge
    const { runId, isolation } = this
    const run = await client.create(
      script,
      "auto_edit",
      runId === undefined ? { isolation } : { resume: runId }
    )
    this.runId = run.id
    const reader = await client.follow({ runId: run.id })
    const requested = await reader.event("run.approval.requested")
    await client.decide(run.id, String(requested.payload["approvalId"]), "allow")
    const log = await client.log(run.id)
    assert.strictEqual(log.at(-1)?.type, "run.completed")
    const result = log.find(({ type }) => type === "run.tool.result")
    // The agent says each line of its prompt that is no directive.
    const note = log
      .filter(({ payload, type }) => type === "run.message.completed" && payload["role"] === "assistant")
      .flatMap(({ payload }) => String(payload["text"]).split("\n"))
    return { note, printed: String(result?.payload["output"] ?? "").trim() }
  }

  async heardDecisions(): Promise<ReadonlyArray<EarlierDecision>> {
    const [created] = await this.edge.client.log(this.newest)
    return (created?.payload["decided"] ?? []) as ReadonlyArray<EarlierDecision>
  }

  async get<A>(path: string): Promise<A> {
    const { body, status, text } = await this.edge.client.ask("GET", `/v1/runs/${this.newest}/changes${path}`)
    assert.strictEqual(status, 200, text)
    return body as A
  }

  async hunks(): Promise<ReadonlyArray<ChangeHunk>> {
    const { items } = await this.get<ChangeSetPage>("")
    const contents = await Promise.all(
      items.map(({ id }) => this.get<ChangedFileContent>(`/files/${id}?limit=100`))
    )
    return contents.flatMap(({ items: hunks }) => hunks)
  }

  /** The one open hunk. */
  async hunk(): Promise<ChangeHunk> {
    const [hunk, ...others] = await this.hunks()
    assert.lengthOf(others, 0)
    return hunk ?? assert.fail("there is no hunk")
  }

  ask(kind: "accept" | "reject" | "undo", body: object) {
    return this.edge.client.ask("POST", `/v1/runs/${this.newest}/changes/${kind}`, { body })
  }

  async decide(kind: "accept" | "reject" | "undo", body: object): Promise<DecidedChanges> {
    const { body: decided, status, text } = await this.ask(kind, body)
    assert.strictEqual(status, 200, text)
    return decided as DecidedChanges
  }

  get file(): string {
    return readFileSync(join(this.edge.workspace, "code.txt"), "utf8")
  }
}

const openReview = async (isolation: "overlay" | "worktree"): Promise<Review> => {
  const edge = await openEdgeInProcess({ env: { CORRAL_EDGE_CONFINEMENT: "required" } })
  sampleRepository(edge.workspace)
  writeFileSync(join(edge.workspace, "code.txt"), textOf(LINES))
  commitAll(edge.workspace)
  return new Review(edge, isolation)
}

const INTRODUCTION =
  "Since your last turn, a person has decided about your changes. The files on disk are up to date."
const rejectedNote = (text: string, ...more: ReadonlyArray<string>): ReadonlyArray<string> => [
  INTRODUCTION,
  "Rejected, and taken out of your files:",
  "- code.txt",
  "Rejected in code.txt, from line 7:",
  "     line 7",
  "     line 8",
  "     line 9",
  "    -line 10",
  `    +${text}`,
  "     line 11",
  "     line 12",
  "     line 13",
  ...more
]

describe.skipIf(!canConfine)("Three rounds of review on one hunk", () => {
  it("tell the agent exactly what was rejected and said, and accept what the person has edited", async () => {
    const review = await openReview("overlay")
    const first = await review.turn(rewrite(10, "first try"))
    assert.deepStrictEqual([first.note, first.printed], [[], "line 10"])

    const one = await review.hunk()
    const { decision } = await review.decide("reject", {
      parts: { hunks: [one.id] },
      comments: [{ hunkId: one.id, text: "Say what it does.\nIn two lines at most." }]
    })
    assert.deepStrictEqual(
      decision.rejected?.map(({ lines, oldStart, text }) => [oldStart, lines, text]),
      [[7, one.lines, "Say what it does.\nIn two lines at most."]]
    )
    assert.isEmpty(await review.hunks(), "the rejected hunk has left the layer")

    const second = await review.turn(rewrite(10, "second try"))
    assert.deepStrictEqual(
      second.note,
      rejectedNote("first try", "Comment: Say what it does.", "In two lines at most.")
    )
    assert.strictEqual(second.printed, "line 10", "the rejected line is not in the file")
    assert.deepStrictEqual(
      (await review.heardDecisions()).map(({ kind, rejected }) => [kind, rejected]),
      [["reject", decision.rejected]]
    )

    const two = await review.hunk()
    await review.decide("reject", {
      parts: { hunks: [two.id] },
      comment: "Nearly.",
      comments: [
        { hunkId: two.id, text: "Like this:", suggestion: ["third", "try"] },
        { fileId: (await review.get<ChangeSetPage>("")).items[0]?.id, text: "The rest is fine." }
      ]
    })
    const third = await review.turn(rewrite(10, "third try"))
    assert.deepStrictEqual(
      third.note,
      rejectedNote(
        "second try",
        "Comment: Like this:",
        "Suggestion, instead of the changed lines:",
        "    third",
        "    try"
      )
        .toSpliced(3, 0, "Comment: Nearly.")
        .concat("About code.txt:", "Comment: The rest is fine."),
      "the first rejection is not told again"
    )
    assert.strictEqual(third.printed, "line 10")

    const three = await review.hunk()
    const { decision: accepted, set } = await review.decide("accept", {
      parts: { hunks: [three.id] },
      edits: [{ hunkId: three.id, lines: ["third try,", "as edited"] }]
    })
    assert.deepInclude(accepted, { kind: "accept", edited: 1 })
    assert.strictEqual(accepted.files[0]?.edited, 1)
    assert.strictEqual(review.file, withLine(10, "third try,", "as edited"))
    assert.deepInclude(set, { state: "decided", fileCount: 0 })

    const fourth = await review.turn("/shell sed -n '10,11p' code.txt")
    assert.deepStrictEqual(fourth.note, [
      INTRODUCTION,
      "Accepted into the workspace, 1 of the changes as a person has edited them:",
      "- code.txt"
    ])
    assert.strictEqual(fourth.printed, "third try,\nas edited", "the layer has the person's version")
    assert.isEmpty(await review.hunks())
    await review.decide("undo", { decisionId: accepted.id })
    assert.strictEqual(review.file, textOf(LINES))
  })

  it("do not tell of a rejection that was taken back", async () => {
    const review = await openReview("worktree")
    await review.turn(rewrite(10, "first try"))
    const hunk = await review.hunk()
    const { decision } = await review.decide("reject", {
      parts: { hunks: [hunk.id] },
      comments: [{ hunkId: hunk.id, text: "No." }]
    })
    await review.decide("undo", { decisionId: decision.id })
    const { note, printed } = await review.turn(rewrite(10, "second try"))
    assert.notInclude(note.join("\n"), "+first try")
    assert.include(note, "A rejection was taken back. The changes are in your files again:")
    assert.strictEqual(printed, "first try")
  })

  it("refuse comments and edits that name nothing of the request, and decide nothing then", async () => {
    const review = await openReview("overlay")
    await review.turn(
      "/shell sed -i -e '3s/.*/three/' -e '17s/.*/seventeen/' code.txt; touch empty.txt; rm a.txt"
    )
    const [one, two] = (await review.hunks()).filter(({ lines }) =>
      lines.some((line) => line.startsWith(" "))
    )
    assert.isDefined(one)
    assert.isDefined(two)
    const files = new Map((await review.get<ChangeSetPage>("")).items.map(({ id, path }) => [path, id]))
    const pathsOf = async (kind: "accept" | "reject", body: object) => {
      const { body: refusal, status, text } = await review.ask(kind, body)
      assert.strictEqual(status, 422, text)
      const { details } = refusal as {
        readonly details: { readonly issues: ReadonlyArray<{ path: string }> }
      }
      return details.issues.map(({ path }) => path)
    }
    const parts = { hunks: [one?.id] }
    assert.deepStrictEqual(
      await pathsOf("reject", {
        parts,
        comments: [
          { hunkId: one?.id, text: "x" },
          { hunkId: two?.id, text: "x" }
        ]
      }),
      ["comments.1"]
    )
    assert.deepStrictEqual(
      await pathsOf("reject", { parts, comments: [{ fileId: files.get("a.txt"), text: "x" }] }),
      ["comments.0"]
    )
    const long = Array.from({ length: 5 }, () => "x".repeat(16_000))
    assert.deepStrictEqual(
      await pathsOf("reject", { parts, comments: [{ hunkId: one?.id, text: "", suggestion: long }] }),
      ["comments"]
    )
    assert.deepStrictEqual(
      await pathsOf("accept", {
        parts,
        edits: [
          { hunkId: two?.id, lines: ["x"] },
          { hunkId: one?.id, lines: ["a\nb"] },
          { hunkId: one?.id, lines: ["c"] }
        ]
      }),
      ["edits.1.hunkId", "edits.1.lines", "edits.0.hunkId"]
    )
    assert.strictEqual(review.file, textOf(LINES))
    assert.lengthOf((await review.get<ChangeSetPage>("")).set.decisions, 0)
  })
})
