/** Two windows that prompt one session at the same time: neither loses the turn of the other. */
import { Conflict, type Failure } from "@corral/domain/errors/Failures"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import type { SentMessage } from "../../src/host/HostBackend.ts"
import { chatAddress, sessionAddress } from "../../src/protocol/Addresses.ts"
import { serveHost } from "../HostServer.ts"
import { agentId, MemoryServices } from "../MemoryServices.ts"

const prompt = {
  type: "chat/turnStarted",
  turnId: "mine",
  startedAt: "2026-11-29T10:00:00.000Z",
  message: { text: "Mine", origin: { kind: "user" } }
}

/** A window that sends while the turn of another one begins in the run between turns. `answer`: of the service, afterwards. */
const sentMeanwhile = Effect.fnUntraced(function* (answer: Effect.Effect<SentMessage, Failure>) {
  const services = new MemoryServices()
  const { backend } = services.connect()
  const sending = yield* Deferred.make<void>()
  const gate = yield* Deferred.make<void>()
  const send = () =>
    Deferred.succeed(sending, undefined).pipe(Effect.andThen(Deferred.await(gate)), Effect.andThen(answer))
  const server = yield* serveHost(() => ({ ...backend, send }))
  const id = services.newSession()
  const run = services.newRun(id, "Begin")
  services.emit(run, "run.turn.ended", { turn: 1, outstanding: 1 })
  const chat = chatAddress(sessionAddress(agentId, id))
  const client = yield* server.open()
  yield* Effect.promise(() => client.subscribe(chat))
  client.dispatch(chat, prompt)
  yield* Deferred.await(sending)
  services.emit(run, "run.message.completed", {
    messageId: "theirs",
    role: "user",
    channel: "text",
    text: "Theirs"
  })
  services.emit(run, "run.turn.started", { turn: 2, by: "message" })
  yield* Effect.promise(() =>
    client.action(
      ({ action }) => action.type === "chat/turnStarted" && Object(action["message"]).text === "Theirs"
    )
  )
  yield* Deferred.succeed(gate, undefined)
  const echo = yield* Effect.promise(() => client.action(({ origin }) => origin !== undefined))
  services.emit(run, "run.message.delta", { messageId: "m", channel: "text", text: "For them" })
  yield* Effect.promise(() => client.action(({ action }) => Object(action["part"]).content === "For them"))
  services.emit(run, "run.turn.ended", { turn: 2, outstanding: 1 })
  yield* Effect.promise(() => client.action("chat/turnComplete"))
  const state = yield* Effect.promise(() => client.subscribe(chat))
  return { client, echo, id, run, services, state }
})

describe("a prompt during the turn of another window", () => {
  it.live("waits, and the turn in progress stays", () =>
    Effect.gen(function* () {
      const sent = { sessionId: "ses_01K0000000000000000000000A" as SentMessage["sessionId"], chatId: "c" } // has the shape
      const { client, echo, run, services, state } = yield* sentMeanwhile(Effect.succeed(sent))
      assert.include(JSON.stringify(state["turns"]), "For them")
      assert.isDefined(echo.rejectionReason)
      assert.include(JSON.stringify(state["queuedMessages"]), "Mine")
      services.emit(run, "run.message.completed", {
        messageId: "x",
        role: "user",
        channel: "text",
        text: "Mine"
      })
      services.emit(run, "run.turn.started", { turn: 3, by: "message" })
      const started = yield* Effect.promise(() =>
        client.action(
          ({ action }) =>
            action.type === "chat/turnStarted" &&
            action["turnId"] === "mine" &&
            action["queuedMessageId"] !== undefined
        )
      )
      assert.include(JSON.stringify(state["queuedMessages"]), String(started.action["queuedMessageId"]))
    })
  )

  it.live("is refused with a line, and the turn in progress stays", () =>
    Effect.gen(function* () {
      const refusal = new Conflict({ message: "The queue is full." })
      const { echo, state } = yield* sentMeanwhile(Effect.fail(refusal))
      assert.strictEqual(echo.rejectionReason, refusal.message)
      assert.include(JSON.stringify(state["turns"]), "For them")
      assert.include(JSON.stringify(state["turns"]), "The queue is full.")
    })
  )
})
