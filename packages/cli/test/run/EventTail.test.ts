import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Stream } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { CommandFailed } from "../../src/CommandFailed.ts"
import { envelopeOf } from "@corral/domain/run/EventSequence"
import { tail } from "../../src/run/EventTail.ts"
import { frame, runId } from "./Tailed.ts"

type Visit = (response: ServerResponse, request: IncomingMessage) => void

const delta = (seq: number) =>
  frame(seq, "run.message.delta", { messageId: "m", channel: "text", text: `${seq}` })
const completed = (seq: number) => frame(seq, "run.completed", {})
const send = (response: ServerResponse, ...events: ReadonlyArray<string>) =>
  response.write(events.map((data) => `data: ${data}\n\n`).join(""))

/** The run as it is between two connections. */
const stateOf = (state: string, lastSeq: number): string =>
  JSON.stringify({ state, lastSeq, updatedAt: "2026-01-01T00:00:00.000Z" })

/** Server whose first stream is handled by the first function, and so on. Records the `after` of each stream. */
const streamServer = (run: string, ...visits: ReadonlyArray<Visit>) =>
  Effect.acquireRelease(
    Effect.callback<{ url: string; cursors: Array<string | undefined>; close: () => void }>((resume) => {
      const cursors: Array<string | undefined> = []
      const server = createServer((request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost")
        if (!pathname.endsWith("/events")) return void response.end(run)
        cursors.push(searchParams.get("after") ?? undefined)
        visits[cursors.length - 1]?.(response, request)
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, cursors, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** Refuses a stream as the services do. */
const refuse = (response: ServerResponse, status: number, code: string, details?: object) => {
  const body = { code, message: "Some fields are not valid.", requestId: "req_1", details }
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const follow = (url: string, after = 0, connections: Array<string> = []) =>
  tail({
    endpoint: Effect.succeed({ service: "Edge" as const, url, token: Redacted.make("secret") }),
    runId,
    attach: "corral attach run_1",
    after,
    onConnection: (state) => connections.push(state)
  })

const seqs = (url: string, after = 0, connections: Array<string> = []) =>
  Effect.map(Stream.runCollect(follow(url, after, connections)), (events) =>
    events.map((event) => envelopeOf(event.decoded).seq)
  )

const running = stateOf("running", 3)

describe("EventTail", () => {
  it.live("sends the token in the header, emits each event once and ends with the last one", () =>
    Effect.gen(function* () {
      let authorization: string | undefined
      const { url, cursors } = yield* streamServer(running, (response, { headers }) => {
        authorization = headers.authorization
        send(response, delta(1), delta(2), delta(2), "not an envelope", delta(1), delta(3), completed(4))
      })
      assert.deepStrictEqual(yield* seqs(url), [1, 2, 3, 4])
      assert.strictEqual(authorization, "Bearer secret")
      assert.deepStrictEqual(cursors, ["0"])
    })
  )

  it.live("emits the text of an event as it was sent", () =>
    Effect.gen(function* () {
      const sent = `{"later":1,${completed(1).slice(1)}`
      const { url } = yield* streamServer(running, (response) => send(response, sent))
      const events = yield* Stream.runCollect(follow(url))
      assert.deepStrictEqual(
        events.map(({ text }) => text),
        [sent]
      )
    })
  )

  it.live("reconnects after the last event when the connection is lost", () =>
    Effect.gen(function* () {
      const connections: Array<string> = []
      const { url, cursors } = yield* streamServer(
        running,
        (response) => response.write(`data: ${delta(1)}\n\n`, () => response.destroy()),
        (response) => {
          send(response, delta(1), delta(2))
          response.end()
        },
        (response) => send(response, completed(3))
      )
      assert.deepStrictEqual(yield* seqs(url, 0, connections), [1, 2, 3])
      assert.deepStrictEqual(cursors, ["0", "1", "2"])
      assert.deepStrictEqual(connections, ["lost", "restored", "lost", "restored"])
    })
  )

  it.live("ends when the run has already ended", () =>
    Effect.gen(function* () {
      const { url } = yield* streamServer(stateOf("completed", 9), (response) => response.end())
      assert.deepStrictEqual(yield* seqs(url, 9), [])
    })
  )

  it.live("fails with replay_gap when events are no longer kept", () =>
    Effect.gen(function* () {
      const { url, cursors } = yield* streamServer(running, (response) =>
        refuse(response, 409, "conflict", { reason: "replay_gap" })
      )
      const failure = yield* Effect.flip(seqs(url, 5))
      assert.strictEqual(failure.code, "replay_gap")
      assert.include(failure.message, "no longer keeps the events")
      assert.deepStrictEqual(cursors, ["5"])
    })
  )

  it.live("fails with the message of the Edge when the stream is refused, without a retry", () =>
    Effect.gen(function* () {
      const { cursors, url } = yield* streamServer(running, (response) =>
        refuse(response, 422, "schema_validation_failed")
      )
      assert.deepStrictEqual(
        yield* Effect.exit(seqs(url)),
        Exit.fail(
          new CommandFailed({
            message: "Some fields are not valid.",
            exitCode: 2,
            code: "schema_validation_failed",
            requestId: "req_1"
          })
        )
      )
      assert.deepStrictEqual(cursors, ["0"])
    })
  )

  it.live("slows a fast Edge down to the pace of its reader without losing events", () =>
    Effect.gen(function* () {
      const count = 20_000
      const { url } = yield* streamServer(running, (response) => {
        for (let seq = 1; seq < count; seq++) send(response, delta(seq))
        send(response, completed(count))
      })
      const slow = follow(url).pipe(
        Stream.tap((event) => (envelopeOf(event.decoded).seq % 5_000 === 0 ? Effect.yieldNow : Effect.void)),
        Stream.runCount
      )
      assert.strictEqual(yield* slow, count)
    })
  )

  it.live("closes the connection when it is interrupted", () =>
    Effect.gen(function* () {
      const closed = Promise.withResolvers<void>()
      const opened = Promise.withResolvers<void>()
      const { url } = yield* streamServer(running, (response) => {
        response.on("close", () => closed.resolve())
        response.writeHead(200)
        response.flushHeaders()
        opened.resolve()
      })
      const fiber = yield* Effect.forkChild(seqs(url))
      yield* Effect.promise(() => opened.promise)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => closed.promise)
    })
  )
})
