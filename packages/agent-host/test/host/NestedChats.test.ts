/** Sub-agents as chats below the call that has started them: their calls, decisions in them, and late subscriptions. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import type { AgentHostClient, ReceivedAction } from "@corral/testing/editor/AgentHostClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { servedSession } from "../HostServer.ts"
import type { MemoryServices } from "../MemoryServices.ts"

type Fields = Readonly<Record<string, unknown>>

const approvalId = "apr_01K0000000000000000000000A" as ApprovalId // has the shape

const request: ApprovalRequest = {
  action: "shell",
  risk: "low",
  title: "Run touch a.txt",
  tool: "Bash",
  callId: "inner",
  parentCallId: "task",
  command: "touch a.txt",
  editable: false,
  scopes: ["once"]
}

const call = (services: MemoryServices, run: RunId, callId: string, parentCallId?: string): void =>
  services.emit(run, "run.tool.call", {
    callId,
    tool: parentCallId === undefined ? "Agent" : "Bash",
    label: `Call ${callId}`,
    status: "started",
    ...(parentCallId === undefined ? {} : { parentCallId })
  })

const result = (services: MemoryServices, run: RunId, callId: string, parentCallId?: string): void =>
  services.emit(run, "run.tool.result", {
    callId,
    tool: "Bash",
    status: "completed",
    output: `output of ${callId}`,
    ...(parentCallId === undefined ? {} : { parentCallId })
  })

/** A run whose agent has started a sub-agent, which has made one call. */
const withNestedChat = Effect.gen(function* () {
  const served = yield* servedSession
  const client = yield* served.server.open()
  yield* Effect.promise(async () => {
    await client.subscribe(served.session)
    await client.subscribe(served.chat)
  })
  const run = served.services.newRun(served.id, "delegate")
  call(served.services, run, "task")
  call(served.services, run, "inner", "task")
  const resource = yield* Effect.promise(() => resourceIn(client))
  return { ...served, client, run, resource }
})

const resourceIn = async (client: AgentHostClient): Promise<string> => {
  const { action } = await client.action("chat/toolCallContentChanged")
  const [content] = action["content"] as ReadonlyArray<Fields>
  assert.deepInclude(content, { type: "subagent", title: "Call task" })
  return String(content?.["resource"])
}

/** Title and state of each call of a turn. */
const callsOf = (turn: unknown): ReadonlyArray<readonly [unknown, unknown]> => {
  const { responseParts } = Object(turn) as { readonly responseParts: ReadonlyArray<Fields> }
  return responseParts.flatMap((part) => {
    const { displayName, status } = Object(part["toolCall"]) as Fields
    return part["kind"] === "toolCall" ? [[displayName, status] as const] : []
  })
}

const turnsOf = ({ turns }: Fields): ReadonlyArray<unknown> => turns as ReadonlyArray<unknown> // of a chat

describe("a sub-agent", () => {
  it.live("has a chat with its calls, also for a client that subscribes late", () =>
    Effect.gen(function* () {
      const { chat, client, resource, run, services } = yield* withNestedChat
      const first = yield* Effect.promise(() => client.subscribe(resource))
      assert.deepInclude(first, { resource, interactivity: "read-only", turns: [] })
      assert.deepStrictEqual(callsOf(first["activeTurn"]), [["Bash", "running"]])
      call(services, run, "more", "task")
      const isOfChat = ({ action, channel }: ReceivedAction) =>
        channel === resource && action.type === "chat/toolCallStart"
      yield* Effect.promise(() => client.action(isOfChat))
      for (const id of ["inner", "more"]) result(services, run, id, "task")
      result(services, run, "task")
      services.emit(run, "run.completed", { text: "done" })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      const late = yield* Effect.promise(() => client.subscribe(resource))
      const agent = yield* Effect.promise(() => client.subscribe(chat))
      assert.deepStrictEqual(turnsOf(late).map(callsOf), [
        [
          ["Bash", "completed"],
          ["Bash", "completed"]
        ]
      ])
      assert.isUndefined(late["activeTurn"])
      assert.deepStrictEqual(turnsOf(agent).map(callsOf), [[["Agent", "completed"]]])
    })
  )

  it.live("is decided about in its chat", () =>
    Effect.gen(function* () {
      const { client, resource, run, services } = yield* withNestedChat
      yield* Effect.promise(() => client.subscribe(resource))
      services.emit(run, "run.approval.requested", {
        approvalId,
        request,
        expiresAt: "2026-12-01T00:00:00.000Z"
      })
      const ready = yield* Effect.promise(() =>
        client.action(
          ({ action, channel }) =>
            channel === resource && action.type === "chat/toolCallReady" && action["options"] !== undefined
        )
      )
      const needed = yield* Effect.promise(() => client.action("session/inputNeededSet"))
      assert.deepInclude(Object(needed.action["request"]), { chat: resource, kind: "toolConfirmation" })
      const { toolCallId, turnId } = ready.action
      const echo = yield* Effect.promise(() =>
        client.perform(resource, {
          type: "chat/toolCallConfirmed",
          turnId,
          toolCallId,
          approved: true,
          confirmed: "user-action",
          selectedOptionId: `${approvalId}/allow_once`
        })
      )
      assert.isUndefined(echo.rejectionReason)
      assert.lengthOf(services.decided, 1)
      yield* Effect.promise(() => client.action("session/inputNeededRemoved"))
      const prompt = yield* Effect.promise(() =>
        client.perform(resource, {
          type: "chat/turnStarted",
          turnId: "mine",
          startedAt: "2026-11-29T10:00:00.000Z",
          message: { text: "hello", origin: { kind: "user" } }
        })
      )
      assert.strictEqual(prompt.rejectionReason, "Only the agent speaks to its sub-agents.")
    })
  )

  it.live("whose call has ended is marked in the chat of the agent", () =>
    Effect.gen(function* () {
      const { chat, client, id, resource, services } = yield* withNestedChat
      yield* Effect.promise(() => client.subscribe(resource))
      const before = services.lastRun()
      result(services, before, "task")
      services.emit(before, "run.completed", { text: "done" })
      const run = services.newRun(id, "again")
      call(services, run, "task")
      result(services, run, "task")
      call(services, run, "late", "task")
      const started = yield* Effect.promise(() =>
        client.action(
          ({ action }) => action.type === "chat/toolCallStart" && action["displayName"] === "↳ Bash"
        )
      )
      assert.strictEqual(started.channel, chat)
    })
  )

  it.live("of another session is not found", () =>
    Effect.gen(function* () {
      const { client, resource } = yield* withNestedChat
      const refused = yield* Effect.promise(() => client.refusal("subscribe", {}, `${resource}x`))
      assert.strictEqual(refused.code, -32008)
    })
  )
})
