import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import { EventSequence } from "@corral/domain/run/EventSequence"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { ChatView, screenRows } from "../../src/chat/ChatView.ts"
import type { ThreadMessage, ThreadUpdate } from "../../src/chat/ChatThread.ts"
import { columnsOf, columnsOfRow, makePaint, paintRow, type Row } from "../../src/terminal/Rows.ts"
import { frame, runId } from "../run/Tailed.ts"

const approvalId = "apr_01K00000000000000000000000" as ApprovalId
const run = runId as RunId
const paint = makePaint(false)
const nameOf = (user: string): string => (user === "usr_1" ? "ana" : user)
const textOf = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => rows.map((row) => paintRow(row, paint))

const message = (changes: Partial<ThreadMessage>): ThreadUpdate => ({
  kind: "message",
  message: {
    id: "msg_1",
    version: 1,
    author: undefined,
    text: "hello",
    files: [],
    state: "delivered",
    isInput: false,
    isHeld: false,
    runId: run,
    problem: undefined,
    hasTranscript: false,
    ...changes
  }
})

/** Updates of the events of one run. */
const turn = (
  ...frames: ReadonlyArray<readonly [type: string, payload: object]>
): ReadonlyArray<ThreadUpdate> => {
  const sequence = new EventSequence(decodeReceivedEvent)
  return frames.flatMap(([type, payload], at) => {
    const event = sequence.next(frame(at + 1, type as "run.started", payload as never))
    return event === undefined ? [] : [{ kind: "event", runId: run, event } as const]
  })
}

const shown = (updates: ReadonlyArray<ThreadUpdate>, columns = 44) => {
  const view = new ChatView(() => columns, nameOf)
  for (const update of updates) view.apply(update)
  return { view, settled: textOf(view.take()), live: textOf(view.live()) }
}

const created = ["run.created", { workspace: "ws", mode: "ask", input: { text: "hello" } }] as const
const started = ["run.started", {}] as const
const begin: ThreadUpdate = { kind: "turn", runId: run, agent: "scripted" }
const delta = (text: string) => ["run.message.delta", { messageId: "m", channel: "text", text }] as const
const request = {
  action: "shell",
  risk: "high",
  title: "Run rm -r build",
  command: "rm -r build && echo a long command that needs several rows on a narrow terminal",
  editable: true,
  scopes: ["once", "run"],
  input: { command: "rm" }
}

describe("ChatView", () => {
  it("says once why the runs of the chat are not confined", () => {
    const other = "run_01K00000000000000000000009" as RunId
    const confinement = { kind: "none", reason: "bubblewrap is not installed." }
    const events = turn(["run.created", { ...created[1], confinement }], started)
    const { settled } = shown([
      begin,
      ...events,
      { ...begin, runId: other },
      ...events.map((update): ThreadUpdate => ({ ...update, runId: other }) as ThreadUpdate)
    ])
    const warnings = settled.filter((line) => line.includes("not confined"))
    assert.strictEqual(warnings.length, 1, settled.join("\n"))
  })

  it("prints a message once it is delivered, and its answer line by line", () => {
    const { live, settled, view } = shown([
      message({ state: "queued" }),
      message({ version: 2 }),
      begin,
      ...turn(created, started, delta("# Hours\nOpen on **week"))
    ])
    assert.deepStrictEqual(settled, ["› hello", "Hours"])
    assert.deepStrictEqual(live, ["Open on **week"])
    for (const update of [
      ...turn(created, started, delta("# Hours\nOpen on **week"), delta("days**."), [
        "run.message.completed",
        { messageId: "m", channel: "text", role: "assistant", text: "# Hours\nOpen on **weekdays**." }
      ]).slice(3),
      { kind: "ended", runId: run, problem: undefined } as const,
      message({ id: "msg_2", state: "answer", author: "scripted", text: "# Hours" })
    ])
      view.apply(update)
    assert.deepStrictEqual(textOf(view.take()), ["Open on weekdays.", ""])
    assert.deepStrictEqual(view.live(), [])
  })

  it("shows a tool call in progress below, and prints its end", () => {
    const call = [
      "run.tool.call",
      { callId: "c", tool: "bash", label: "npm test", status: "started" }
    ] as const
    const before = shown([begin, ...turn(created, started, call)])
    assert.deepStrictEqual([before.settled, before.live], [[], ["› npm test"]])
    const result = { callId: "c", tool: "bash", status: "failed", exitCode: 1, output: "1 failed" }
    const after = shown([begin, ...turn(created, started, call, ["run.tool.result", result])])
    assert.deepStrictEqual(after.settled, ["✗ npm test, exit code 1", "    1 failed"])
    assert.deepStrictEqual(after.live, [])
  })

  it("prints the whole request of an approval, and the decision", () => {
    const requested = [
      "run.approval.requested",
      { approvalId, request, expiresAt: "2026-01-01T00:30:00.000Z" }
    ] as const
    const { settled, view } = shown([begin, ...turn(created, started, requested)])
    assert.deepStrictEqual(settled, [
      "approval needed: Run rm -r build",
      "  action: shell, risk: high",
      "  command: rm -r build && echo a long",
      "      command that needs several rows on a",
      "      narrow terminal"
    ])
    assert.strictEqual(view.decision?.next.block.approvalId, approvalId)
    const resolved = [
      "run.approval.resolved",
      { approvalId, state: "denied", decision: "deny", by: "usr_1", origin: "console", reason: "not now" }
    ] as const
    for (const update of turn(created, started, requested, resolved).slice(3)) view.apply(update)
    assert.deepStrictEqual(textOf(view.take()), ["denied by ana in the console: not now"])
    assert.isUndefined(view.decision)
  })

  it("keeps queued and unsent messages in sight, and ignores an older version", () => {
    const { view } = shown([message({ state: "queued", version: 3 })])
    view.keep({ key: "k", text: "second\nline", files: [], isInput: false, state: "unsent" })
    assert.deepStrictEqual(textOf(view.live()), ["queued: hello", "not sent: second⏎line"])
    view.apply(message({ version: 4 }))
    view.apply(message({ state: "queued", version: 3 }))
    assert.deepStrictEqual(textOf(view.live()), ["not sent: second⏎line"])
    // Its response was lost: the service had accepted it.
    view.apply(message({ id: "msg_2", state: "queued", text: "second\nline" }))
    assert.deepStrictEqual(textOf(view.live()), ["queued: second⏎line"])
  })

  it("says why a message was not delivered, and that an agent does not remember", () => {
    const { settled, view } = shown([message({ state: "failed", problem: "laptop is offline." })], 80)
    assert.deepStrictEqual(settled, ["› hello", "Not delivered: laptop is offline. /retry delivers again."])
    assert.deepStrictEqual(view.takeFailed(), ["msg_1"])
    assert.deepStrictEqual(shown([message({ hasTranscript: true, author: "ana" })], 120).settled, [
      "› ana hello",
      "This agent does not remember earlier turns. It received them as a text."
    ])
  })

  const anyText = fc.oneof(
    fc.string({ unit: "binary", maxLength: 400 }),
    fc.string({ unit: "grapheme", maxLength: 400 }),
    fc.constant("语言\n".repeat(40)),
    fc.constant(`${"a".repeat(500)}\u001b[2J`)
  )
  const anyFrame = fc.oneof(
    anyText.map(delta),
    anyText.map(
      (text) =>
        ["run.message.completed", { messageId: "m", channel: "text", role: "assistant", text }] as const
    ),
    anyText.map(
      (text) =>
        ["run.message.completed", { messageId: "r", channel: "reasoning", role: "assistant", text }] as const
    ),
    fc
      .tuple(anyText, fc.nat(3))
      .map(
        ([label, id]) => ["run.tool.call", { callId: `${id}`, tool: "t", label, status: "started" }] as const
      ),
    fc
      .tuple(anyText, fc.nat(3))
      .map(
        ([output, id]) =>
          ["run.tool.result", { callId: `${id}`, tool: "t", status: "failed", output }] as const
      ),
    anyText.map((path) => ["run.file.changed", { path, change: "created" }] as const),
    anyText.map(
      (text) =>
        [
          "run.approval.requested",
          { approvalId, expiresAt: "x", request: { ...request, title: text, command: text, patch: text } }
        ] as const
    ),
    fc.constant(["run.approval.resolved", { approvalId, state: "expired" }] as const),
    anyText.map((text) => ["run.failed", { error: { code: "internal", message: text } }] as const)
  )

  it("makes no row wider than the terminal, with any events and any text", () => {
    fc.assert(
      fc.property(
        fc.array(anyFrame, { maxLength: 30 }),
        anyText,
        fc.constantFrom(44, 80, 120),
        (frames, text, width) => {
          const columns = width - 1
          const view = new ChatView(() => columns, nameOf)
          view.apply(message({ text, state: "delivered", author: text.slice(0, 10) }))
          view.apply(message({ text, state: "queued", id: "msg_2" }))
          view.apply(begin)
          const rows: Array<Row> = []
          for (const update of turn(created, started, ...frames)) {
            view.apply(update)
            rows.push(...view.live())
            if (rows.length % 3 === 0) rows.push(...view.take())
          }
          view.apply({ kind: "ended", runId: run, problem: text })
          rows.push(...view.take())
          for (const row of rows) {
            assert.isAtMost(columnsOfRow(row), columns)
            assert.notMatch(paintRow(row, paint), /[\p{Cc}]/u)
          }
          const content = {
            live: view.live(),
            question: text,
            status: "ready",
            hint: undefined,
            files: [],
            prompt: "> ",
            isHidden: false
          }
          const screen = screenRows({ ...content, text, before: text.slice(0, 20) }, columns, paint)
          for (const row of screen.rows) assert.isAtMost(columnsOf(row), columns)
          assert.isBelow(screen.cursor.row, screen.rows.length)
        }
      ),
      { numRuns: 150 }
    )
  })
})
