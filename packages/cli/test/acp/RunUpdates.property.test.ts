/** Updates of generated logs, checked by the schema of the SDK: each is valid, and a call is announced before it is updated. */
import type { SessionUpdate } from "@agentclientprotocol/sdk"
import { draft, decodeEvent, type EventDraft, eventSchema, eventTypes } from "@corral/domain/run/RunEvent"
import type { DecodedEvent } from "@corral/domain/run/EventSequence"
import { transition, type RunMachineInput } from "@corral/domain/run/RunMachine"
import { fold, initial } from "@corral/domain/run/RunState"
import { anyInput, created } from "@corral/testing/recordings/RunInputs"
import { tries } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { RunUpdates } from "../../src/acp/RunUpdates.ts"

interface UpdateSchema {
  readonly safeParse: (value: unknown) => { readonly success: boolean; readonly error?: unknown }
}

// The SDK checks with it what it receives, and does not export it.
const main = createRequire(import.meta.url).resolve("@agentclientprotocol/sdk")
const { zSessionUpdate }: { readonly zSessionUpdate: UpdateSchema } = await import(
  pathToFileURL(join(dirname(main), "../schema/zod.gen.js")).href
)

const check = (events: ReadonlyArray<DecodedEvent>): ReadonlyArray<SessionUpdate> => {
  const run = new RunUpdates({
    runId: "run_1",
    nameOf: (user) => user,
    pathOf: (path) => `/code/${path}`,
    isOwnMessage: () => false,
    isPromptOfEditor: () => false
  })
  const updates = events.flatMap((decoded) => run.apply({ decoded, missing: undefined }))
  const announced = new Set<string>()
  for (const update of updates) {
    const { error, success } = zSessionUpdate.safeParse(JSON.parse(JSON.stringify(update)))
    assert.isTrue(success, `${JSON.stringify(update)}: ${String(error)}`)
    if (update.sessionUpdate === "tool_call") {
      assert.isFalse(announced.has(update.toolCallId), update.toolCallId)
      announced.add(update.toolCallId)
    }
    if (update.sessionUpdate === "tool_call_update") assert.isTrue(announced.has(update.toolCallId))
  }
  return updates
}

const decodedOf = (input: unknown): ReadonlyArray<DecodedEvent> => {
  const result = decodeEvent(input)
  return Result.isSuccess(result) ? [result.success] : []
}

const envelope = (event: EventDraft, at: number): unknown => ({
  id: `evt_${String(at).padStart(26, "0")}`,
  seq: at + 1,
  type: event.type,
  runId: `run_${"0".repeat(26)}`,
  createdAt: "2026-01-01T00:00:00.000Z",
  payload: { v: 1, ...event.payload }
})

/** The events that the run machine appends for these inputs. */
const logOf = (inputs: ReadonlyArray<RunMachineInput>): ReadonlyArray<DecodedEvent> => {
  const events: Array<EventDraft> = [draft("run.created", created)]
  let state = events.reduce(fold, initial)
  for (const input of inputs) {
    const [next, actions] = transition(state, input)
    state = next
    for (const action of actions) if (action._tag === "Append") events.push(action.event)
  }
  return events.flatMap((event, at) => decodedOf(envelope(event, at)))
}

const names = ["call-1", "call-2", "call-3"] as const
const few = (value: unknown): string => names[String(value).length % names.length] ?? names[0]

/** Few calls, messages and requests, so that events meet. */
const meeting = (event: { readonly payload: Readonly<Record<string, unknown>> }) => ({
  ...event,
  payload: Object.fromEntries(
    Object.entries(event.payload).map(([key, value]) => [
      key,
      ["callId", "parentCallId", "messageId", "workId"].includes(key) ? few(value) : value
    ])
  )
})

const anyEvent = Arbitrary.map(
  Arbitrary.schema(Schema.Union(eventTypes.map((type) => Schema.toCodecJson(eventSchema(type))))),
  (event) => decodedOf(meeting(JSON.parse(JSON.stringify(event))))
)

describe("RunUpdates", () => {
  it.prop(
    "gives valid updates for the logs of the run machine",
    [Arbitrary.array(anyInput, { maxLength: 60 })],
    ([inputs]) => {
      const log = logOf(inputs)
      // What an adapter reports after the start has updates.
      assert.isTrue(log.length > 0)
      check(log)
    },
    tries(200)
  )

  it.prop(
    "gives valid updates for any events in any order",
    [Arbitrary.array(anyEvent, { maxLength: 30 })],
    ([events]) => void check(events.flat()),
    tries(60)
  )

  it("sends each text once, whether it streamed or not", () => {
    const message = { messageId: "m", channel: "text" } as const
    const updates = check(
      [
        draft("run.message.delta", { ...message, text: "one " }),
        draft("run.message.delta", { ...message, text: "two" }),
        draft("run.message.completed", { ...message, role: "assistant", text: "one two three" }),
        draft("run.turn.ended", { turn: 1, text: "one two three", outstanding: 0 }),
        draft("run.message.completed", { ...message, messageId: "n", role: "assistant", text: "whole" }),
        draft("run.completed", { text: "whole" })
      ].flatMap((event, at) => decodedOf(envelope(event, at)))
    )
    const texts = updates.flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text"
        ? [update.content.text]
        : []
    )
    assert.deepStrictEqual(texts, ["one ", "two", " three", "whole"])
  })

  it("shows what a sub-agent does in the call that started it", () => {
    const updates = check(
      [
        draft("run.tool.call", { callId: "task", tool: "Task", label: "Look", status: "started" }),
        draft("run.message.delta", { messageId: "m", channel: "text", text: "found", parentCallId: "task" }),
        draft("run.message.completed", {
          messageId: "m",
          role: "assistant",
          channel: "text",
          text: "found it",
          parentCallId: "task"
        }),
        draft("run.tool.call", {
          callId: "inner",
          tool: "Read",
          label: "Read a file",
          status: "started",
          parentCallId: "task"
        })
      ].flatMap((event, at) => decodedOf(envelope(event, at)))
    )
    const nested = updates.find(({ sessionUpdate }) => sessionUpdate === "tool_call_update")
    assert.include(JSON.stringify(nested), "found it")
    assert.deepInclude(updates.at(-1), { _meta: { corral: { parentToolCallId: "run_1/task" } } })
    assert.isTrue(updates.every(({ sessionUpdate }) => sessionUpdate !== "agent_message_chunk"))
  })
})
