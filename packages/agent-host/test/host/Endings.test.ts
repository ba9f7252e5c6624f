/** Runs that end otherwise than by their program: what waits in them, and what the client sees of their end. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatAddress, sessionAddress } from "../../src/protocol/Addresses.ts"
import { serveHost, servedSession } from "../HostServer.ts"
import { agentId, MemoryServices, workspace } from "../MemoryServices.ts"

const prompt = (turnId: string) => ({
  type: "chat/turnStarted",
  turnId,
  startedAt: "2026-11-29T10:00:00.000Z",
  message: { text: "Go", origin: { kind: "user" } }
})

/** A run whose device sends nothing. */
const silentRun = (services: MemoryServices, sessionId: SessionId, key?: string): RunId => {
  const run = services.newRun(sessionId, "Go", key)
  services.runs.get(run)?.events.splice(0)
  return run
}

/** The service ends a run whose device sends nothing. */
const fail = (services: MemoryServices, sessionId: SessionId, run: RunId): void => {
  const stored = services.runs.get(run)
  if (stored !== undefined) stored.state = "failed"
  services.hint({ kind: "session", sessionId })
}

describe("a run whose device does not answer", () => {
  it.live("ends the turn of the client, which then follows the next run", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const id = services.newSession()
      const send = () =>
        Effect.sync(() => ({ sessionId: id, chatId: `${id}-1`, runId: silentRun(services, id, "turn-1") }))
      const server = yield* serveHost(() => ({ ...backend, send }))
      const chat = chatAddress(sessionAddress(agentId, id))
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(chat))
      yield* Effect.promise(() => client.perform(chat, prompt("turn-1")))
      fail(services, id, services.lastRun())
      const { action } = yield* Effect.promise(() => client.action("chat/error"))
      assert.strictEqual(action["turnId"], "turn-1")
      services.newRun(id, "Again")
      yield* Effect.promise(() =>
        client.action(({ action }) => Object(action["message"]).text === "Again", "the next run")
      )
    })
  )

  it.live("is another turn if its device answers later", () =>
    Effect.gen(function* () {
      const { chat, id, server, services } = yield* servedSession
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(chat))
      const run = silentRun(services, id)
      fail(services, id, run)
      const { action } = yield* Effect.promise(() => client.action("chat/error"))
      assert.strictEqual(action["turnId"], `${run}.1`)
      services.emit(run, "run.created", { workspace, mode: "ask", input: { text: "Go" } })
      services.emit(run, "run.message.delta", { messageId: "m", channel: "text", text: "Here I am" })
      const { action: part } = yield* Effect.promise(() => client.action("chat/responsePart"))
      assert.strictEqual(part["turnId"], `${run}.late`)
    })
  )

  it.live("is shown with its prompt and its end to a client that comes later", () =>
    Effect.gen(function* () {
      const { chat, id, server, services } = yield* servedSession
      fail(services, id, silentRun(services, id))
      const client = yield* server.open()
      const { activeTurn, turns } = yield* Effect.promise(() => client.subscribe(chat))
      assert.isUndefined(activeTurn)
      const [turn] = turns as ReadonlyArray<{
        readonly state: string
        readonly message: { readonly text: string }
      }>
      assert.deepStrictEqual([turn?.state, turn?.message.text], ["error", "Go"])
    })
  )

  it.live("holds up no page of older turns", () =>
    Effect.gen(function* () {
      const { chat, id, server, services } = yield* servedSession
      for (let n = 0; n < 25; n++) {
        const run = services.newRun(id, `Prompt ${n}`)
        const stored = services.runs.get(run)
        // Its last events are lost.
        if (stored !== undefined) stored.state = "failed"
      }
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(chat))
      yield* Effect.promise(() => client.call("fetchTurns", {}, chat))
    })
  )
})

describe("a program that is killed while an approval waits", () => {
  const approvalId = (end: string) => `apr_01K0000000000000000000000${end}` as ApprovalId // has the shape
  const request: ApprovalRequest = {
    action: "shell",
    risk: "high",
    title: "Run rm",
    command: "rm",
    callId: "c1",
    editable: false,
    scopes: ["once"]
  }
  const expiresAt = "2026-12-01T00:00:00.000Z"

  const setUp = Effect.gen(function* () {
    const served = yield* servedSession
    const client = yield* served.server.open()
    const run = served.services.newRun(served.id, "Go")
    yield* Effect.promise(() => client.subscribe(served.session))
    yield* Effect.promise(() => client.subscribe(served.chat))
    return { ...served, client, run }
  })

  it.live("leaves nothing that waits, and no later decision counts", () =>
    Effect.gen(function* () {
      const { chat, client, run, services, session } = yield* setUp
      services.emit(run, "run.approval.requested", { approvalId: approvalId("A"), request, expiresAt })
      yield* Effect.promise(() => client.action("session/inputNeededSet"))
      services.emit(run, "run.failed", { error: { code: "internal", message: "killed" } })
      yield* Effect.promise(() => client.action("session/inputNeededRemoved"))
      const state = yield* Effect.promise(() => client.subscribe(session))
      assert.isUndefined(state["inputNeeded"])
      const { rejectionReason } = yield* Effect.promise(() =>
        client.perform(chat, {
          type: "chat/toolCallConfirmed",
          turnId: `${run}.1`,
          toolCallId: `${run}/c1`,
          approved: true,
          confirmed: "user-action",
          selectedOptionId: `${approvalId("A")}/allow_once`
        })
      )
      assert.isDefined(rejectionReason)
      assert.deepStrictEqual(services.decided, [])
    })
  )

  it.live("two approvals of one call are two decisions, in any order", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* setUp
      for (const end of ["A", "B"])
        services.emit(run, "run.approval.requested", { approvalId: approvalId(end), request, expiresAt })
      const ready = (end: string) =>
        Effect.promise(() =>
          client.action(
            ({ action }) =>
              action.type === "chat/toolCallReady" &&
              JSON.stringify(action["options"] ?? "").includes(approvalId(end)),
            `the options of ${end}`
          )
        )
      for (const end of ["B", "A"]) {
        const { action } = yield* ready(end)
        const { rejectionReason } = yield* Effect.promise(() =>
          client.perform(chat, {
            type: "chat/toolCallConfirmed",
            turnId: action["turnId"],
            toolCallId: action["toolCallId"],
            approved: true,
            confirmed: "user-action",
            selectedOptionId: `${approvalId(end)}/allow_once`
          })
        )
        assert.isUndefined(rejectionReason)
      }
      assert.deepStrictEqual(
        services.decided.map((each) => each.approvalId),
        [approvalId("B"), approvalId("A")]
      )
    })
  )
})
