/**
 * Logs of a run in which much is open at a time: calls, approvals, questions, work, messages, files, artifacts. Generated for every event type, so
 * that a reader can show that an event costs it the same however much is open.
 */
import { assert } from "@effect/vitest"
import {
  encodeUlid,
  type ApprovalId,
  type ArtifactId,
  type InputRequestId,
  type PreviewId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import { draft, type EventDraft, type EventType, type PayloadOf } from "@corral/domain/run/RunEvent"
import { countOperations } from "../time/CountedOperations.ts"

const idOf = <Id extends string>(prefix: string, n: number): Id =>
  `${prefix}_${encodeUlid(n, new Uint8Array(10))}` as Id // made as ids are made

const approvalIdAt = (n: number) => idOf<ApprovalId>("apr", n)
const inputIdAt = (n: number) => idOf<InputRequestId>("inq", n)
const chat = { platform: "feishu", tenant: "t" } as const

type Payloads = { readonly [T in EventType]: (n: number) => PayloadOf<T> }

/** Payload of the n-th event of each type. One that closes something closes the n-th of its kind. */
const payloads: Payloads = {
  "run.created": () => ({ workspace: "api" as WorkspaceId, mode: "ask", input: { text: "Look." } }),
  "run.started": () => ({ model: "model-1" }),
  "run.paused": () => ({}),
  "run.resumed": () => ({}),
  "run.message.delta": (n) => ({ messageId: `m${n}`, channel: "text", text: "word " }),
  "run.message.completed": (n) => ({ messageId: `m${n}`, role: "assistant", channel: "text", text: "word " }),
  "run.tool.call": (n) => ({ callId: `c${n}`, tool: "shell", label: "ls", status: "started", input: {} }),
  "run.tool.result": (n) => ({ callId: `c${n}`, tool: "shell", status: "completed", output: "a" }),
  "run.file.read": (n) => ({ path: `${n}.txt`, callId: `c${n}` }),
  "run.file.changed": (n) => ({ path: `${n}.txt`, change: "created", callId: `c${n}` }),
  "run.diff.ready": (n) => ({ files: n, additions: 1, deletions: 1 }),
  "run.changes.unknown": () => ({ reason: "failed", detail: "a" }),
  "run.protected.changed": (n) => ({ count: 1, files: [{ path: `${n}.sh`, change: "created" }] }),
  "run.repository.changed": (n) => ({ refs: [{ name: `refs/heads/${n}` }], count: 1 }),
  "run.patch.proposed": (n) => ({ path: `${n}.txt`, patch: "+a", callId: `c${n}` }),
  "run.artifact.ready": (n) => ({
    artifactId: idOf<ArtifactId>("art", n),
    callId: `c${n}`,
    name: `${n}.png`,
    mediaType: "image/png",
    size: 1,
    sha256: ""
  }),
  "run.preview.ready": (n) => ({ previewId: idOf<PreviewId>("prv", n), title: "Page" }),
  "run.approval.requested": (n) => ({
    approvalId: approvalIdAt(n),
    expiresAt: "2026-01-01T00:30:00.000Z",
    request: {
      action: "write",
      risk: "low",
      title: `Write ${n}.txt`,
      callId: `c${n}`,
      editable: false,
      scopes: ["once"]
    }
  }),
  "run.approval.resolved": (n) => ({ approvalId: approvalIdAt(n), state: "approved", edited: n % 2 === 0 }),
  "run.input.requested": (n) => ({
    inputId: inputIdAt(n),
    request: { kind: "question", title: "Why?", questions: [{ id: "0", text: "Why?", kind: "text" }] }
  }),
  "run.input.resolved": (n) => ({ inputId: inputIdAt(n), state: "declined" }),
  "run.work.started": (n) => ({
    workId: `w${n}`,
    kind: n % 2 === 0 ? "command" : "agent",
    title: `Work ${n}`
  }),
  "run.work.ended": (n) => ({ workId: `w${n}`, state: "completed" }),
  "run.turn.started": (n) => ({ turn: n + 2, by: "program" }),
  "run.turn.ended": (n) => ({ turn: n + 1, outstanding: 1 }),
  "run.usage.updated": (n) => ({ usage: { inputTokens: n } }),
  "run.steps.updated": (n) => ({ parentCallId: `c${n}`, steps: [{ id: "1", text: "a", state: "pending" }] }),
  "run.notice": () => ({ kind: "warning", text: "a" }),
  "runtime.unavailable": () => ({ reason: "unknown", message: "a" }),
  "runtime.retrying": () => ({ reason: "unknown", attempt: 1 }),
  "runtime.timeout": () => ({ kind: "run", afterMs: 1 }),
  "schema.validation_failed": () => ({ message: "a", bytes: 1 }),
  "integration.message.received": (n) => ({
    ...chat,
    upstreamEventId: `e${n}`,
    chatId: "c",
    chatType: "direct",
    messageId: `m${n}`,
    senderId: "u",
    text: "a"
  }),
  "integration.card.action": (n) => ({ ...chat, upstreamEventId: `e${n}`, actionId: "a", operatorId: "u" }),
  "identity.binding.required": () => ({ ...chat, senderId: "u", chatId: "c" }),
  // Last, because the run is over after one of them.
  "run.completed": () => ({ text: "Done." }),
  "run.failed": () => ({ error: { code: "internal", message: "Failed." } }),
  "run.cancelled": () => ({})
}

const eventAt = (type: EventType, n: number): EventDraft =>
  // The table gives each type its payload; TypeScript loses the pair in the look-up.
  draft(type, payloads[type](n) as never)

const types = Object.keys(payloads) as ReadonlyArray<EventType> // the keys of the table

/** What opens something that stays open, or adds to what a view shows. */
const openers = [
  "run.tool.call",
  "run.approval.requested",
  "run.input.requested",
  "run.work.started",
  "run.artifact.ready",
  "run.file.changed",
  "run.patch.proposed",
  "run.message.delta",
  "run.steps.updated",
  "run.notice",
  "run.protected.changed"
] as const satisfies ReadonlyArray<EventType>

const numbers = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, n) => n)

/** A run in which `size` of everything is open, and half as many approvals and questions were resolved. */
export const crowdedRun = (size: number): ReadonlyArray<EventDraft> => [
  eventAt("run.created", 0),
  eventAt("run.started", 0),
  ...numbers(size).flatMap((n) => openers.map((type) => eventAt(type, n))),
  ...numbers(size / 2).flatMap((n) => [eventAt("run.approval.resolved", n), eventAt("run.input.resolved", n)])
]

/** Events of one type that can follow the crowd of that size: what they close is open, what they open is new. */
const following = (type: EventType, size: number, count: number): ReadonlyArray<EventDraft> => {
  const opens = (openers as ReadonlyArray<EventType>).includes(type)
  return numbers(count).map((n) => eventAt(type, opens ? size + n : size - 1 - n))
}

const STEPS = 20
const SMALL = 100
const LARGE = 2_000

/** A reader of events that is under test. Applies one event. */
export type EventReaderUnderTest = (event: EventDraft) => void

/**
 * Checks that an event of any type costs a reader the same in a crowd of 2,000 as in one of 100. `makeReader` gives a new reader; `perStep` is the
 * number of operations that one event may cost more: a view's row, for instance, names what is open, up to a limit.
 */
export const checkStepCosts = (makeReader: () => EventReaderUnderTest, perStep = 5): void => {
  const cost = (size: number): ReadonlyMap<EventType, number> => {
    const read = makeReader()
    for (const event of crowdedRun(size)) read(event)
    return new Map(
      types.map((type) => {
        const events = following(type, size, STEPS)
        return [type, countOperations(() => events.forEach((event) => read(event)))]
      })
    )
  }
  const small = cost(SMALL)
  for (const [type, operations] of cost(LARGE))
    assert.isAtMost(operations, (small.get(type) ?? 0) + STEPS * perStep, `operations of 20 ${type}`)
}
