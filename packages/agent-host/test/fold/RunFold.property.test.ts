/** Random runs: what their fold promises in any order of events. */
import type { ApprovalId, InputRequestId, WorkspaceId } from "@corral/domain/identity/Ids"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { ChatAction } from "../../src/protocol/Actions.ts"
import type { ChatState, ResponsePart } from "../../src/protocol/State.ts"
import { chatReducer } from "../../src/reducers/ChatReducer.ts"
import { problemOf } from "../protocol/ActionSchemas.ts"
import { foldedActions } from "./FoldedRun.ts"

const empty: ChatState = {
  resource: "c",
  title: "",
  status: 1,
  modifiedAt: "2026-01-01T00:00:00.000Z",
  turns: []
}

const callId = fc.constantFrom("c1", "c2", "c3")
const parentCallId = fc.option(fc.constantFrom("c1", "c2"), { nil: undefined })
const text = fc.constantFrom("", "a", "*b*", "`c`", "\n# d")
const channel = fc.constantFrom("text" as const, "reasoning" as const)
const messageId = fc.constantFrom("m1", "m2")
const approvalId = fc
  .constantFrom("A", "B")
  .map((last) => `apr_01K0000000000000000000000${last}` as ApprovalId) // has the shape
const inputId = fc
  .constantFrom("A", "B")
  .map((last) => `inq_01K0000000000000000000000${last}` as InputRequestId) // the same

const withParent = <T extends object>(value: T, parent: string | undefined) =>
  parent === undefined ? value : { ...value, parentCallId: parent }

const drafts: fc.Arbitrary<EventDraft> = fc.oneof(
  fc
    .tuple(messageId, channel, text, parentCallId)
    .map(([id, of, content, parent]) =>
      draft("run.message.delta", withParent({ messageId: id, channel: of, text: content }, parent))
    ),
  fc
    .tuple(
      messageId,
      channel,
      text,
      parentCallId,
      fc.constantFrom("assistant" as const, "user" as const, "system" as const)
    )
    .map(([id, of, content, parent, role]) =>
      draft("run.message.completed", withParent({ messageId: id, channel: of, text: content, role }, parent))
    ),
  fc
    .tuple(callId, parentCallId, text)
    .map(([id, parent, label]) =>
      draft(
        "run.tool.call",
        withParent(
          { callId: id, tool: "Bash", label, status: "started" as const, input: { command: "ls" } },
          parent
        )
      )
    ),
  fc
    .tuple(callId, fc.constantFrom("completed" as const, "failed" as const, "denied" as const), text)
    .map(([id, status, output]) => draft("run.tool.result", { callId: id, tool: "Bash", status, output })),
  fc.tuple(approvalId, fc.option(callId, { nil: undefined })).map(([id, call]) =>
    draft("run.approval.requested", {
      approvalId: id,
      request: {
        action: "write",
        risk: "low",
        title: "Write",
        editable: false,
        scopes: ["once"],
        ...(call === undefined ? {} : { callId: call })
      },
      expiresAt: "2026-12-01T00:00:00.000Z"
    })
  ),
  fc
    .tuple(approvalId, fc.constantFrom("approved" as const, "denied" as const, "expired" as const))
    .map(([id, state]) =>
      draft("run.approval.resolved", { approvalId: id, state, origin: "console", by: "usr_1" })
    ),
  inputId.map((id) =>
    draft("run.input.requested", {
      inputId: id,
      request: { kind: "question", title: "Q", questions: [{ id: "q", text: "Q", kind: "boolean" }] }
    })
  ),
  fc
    .tuple(inputId, fc.constantFrom("answered" as const, "declined" as const, "withdrawn" as const))
    .map(([id, state]) => draft("run.input.resolved", { inputId: id, state })),
  fc.constant(draft("run.steps.updated", { steps: [{ id: "1", text: "one", state: "in_progress" }] })),
  fc.constant(draft("run.work.started", { workId: "w", kind: "command", title: "npm run dev" })),
  fc.constant(draft("run.work.ended", { workId: "w", state: "completed" })),
  fc
    .tuple(fc.nat(3), text)
    .map(([outstanding, content]) => draft("run.turn.ended", { turn: 1, text: content, outstanding })),
  fc
    .constantFrom("message" as const, "program" as const)
    .map((by) => draft("run.turn.started", { turn: 2, by })),
  fc.constant(draft("run.usage.updated", { usage: { inputTokens: 1 } })),
  fc.constant(draft("run.notice", { kind: "warning", text: "careful" })),
  fc.constant(draft("run.paused", {})),
  fc.constant(draft("run.resumed", {}))
)

const ends: fc.Arbitrary<EventDraft> = fc.constantFrom(
  draft("run.completed", { text: "end" }),
  draft("run.failed", { error: { code: "internal", message: "broken" } }),
  draft("run.cancelled", { by: "usr_1" })
)

const created = draft("run.created", { workspace: "w" as WorkspaceId, mode: "ask", input: { text: "go" } }) // an id of any text

const runs = fc
  .tuple(fc.array(drafts, { maxLength: 60, size: "max" }), ends)
  .map(([events, end]) => [created, ...events, end])

const reduceAll = (actions: ReadonlyArray<ChatAction>, state = empty): ChatState =>
  actions.reduce((each, action) => chatReducer(each, action), state)

const partsOf = (state: ChatState): ReadonlyArray<ResponsePart> =>
  state.turns.flatMap(({ responseParts }) => responseParts)

describe("RunFold", () => {
  it("gives the same actions for the same events", () => {
    fc.assert(
      fc.property(runs, (events) => {
        assert.deepStrictEqual(foldedActions(events), foldedActions(events))
      })
    )
  })

  it("writes actions with the fields of the protocol and no others", () => {
    fc.assert(
      fc.property(runs, (events) => {
        assert.deepStrictEqual(
          foldedActions(events)
            .flat()
            .flatMap((action) => problemOf(action) ?? []),
          []
        )
      })
    )
  })

  it("ends every turn with the run, and leaves nothing that waits", () => {
    fc.assert(
      fc.property(runs, (events) => {
        const state = reduceAll(foldedActions(events).flat())
        assert.isUndefined(state.activeTurn)
        assert.isNotEmpty(state.turns)
        assert.strictEqual(new Set(state.turns.map(({ id }) => id)).size, state.turns.length)
        for (const part of partsOf(state))
          if (part.kind === "toolCall") assert.include(["completed", "cancelled"], part.toolCall.status)
      })
    )
  })

  it("announces a call before it changes, and names each part once", () => {
    fc.assert(
      fc.property(runs, (events) => {
        const started = new Set<string>()
        for (const action of foldedActions(events).flat()) {
          if (!("toolCallId" in action)) continue
          if (action.type === "chat/toolCallStart") {
            assert.isFalse(started.has(action.toolCallId))
            started.add(action.toolCallId)
          } else assert.isTrue(started.has(action.toolCallId), action.type)
        }
        const ids = partsOf(reduceAll(foldedActions(events).flat())).flatMap((part) =>
          part.kind === "markdown" || part.kind === "reasoning" ? [part.id] : []
        )
        assert.strictEqual(new Set(ids).size, ids.length)
      })
    )
  })

  it("leads a client that joins at any event to the same state", () => {
    fc.assert(
      fc.property(runs, fc.nat(60), (events, place) => {
        const actions = foldedActions(events)
        const at = Math.min(place, actions.length)
        const snapshot = reduceAll(actions.slice(0, at).flat())
        assert.deepStrictEqual(reduceAll(actions.slice(at).flat(), snapshot), reduceAll(actions.flat()))
      })
    )
  })

  it("asks no yes or no as a boolean, and offers no decision first", () => {
    fc.assert(
      fc.property(runs, (events) => {
        for (const action of foldedActions(events).flat()) {
          if (action.type !== "chat/inputRequested") continue
          for (const question of action.request.questions ?? []) {
            assert.strictEqual(question.kind, "single-select")
            if (question.kind === "single-select")
              assert.strictEqual(question.options[0]?.label, "Not decided")
          }
        }
      })
    )
  })
})
