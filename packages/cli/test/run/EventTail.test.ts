import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Stream } from "effect"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { type WebSocket, WebSocketServer } from "ws"
import { CommandFailed } from "../../src/CommandFailed.ts"
import { envelopeOf, tail } from "../../src/run/EventTail.ts"
import { frame, runId } from "./Tailed.ts"

type Visit = (socket: WebSocket, request: IncomingMessage) => void

const delta = (seq: number) =>
  frame(seq, "run.message.delta", { messageId: "m", channel: "text", text: `${seq}` })
const completed = (seq: number) => frame(seq, "run.completed", {})

/** A stream that treats its first visitor as the first function says, and so on; gives its address and what was asked of it. */
const streamServer = (...visits: ReadonlyArray<Visit>) =>
  Effect.acquireRelease(
    Effect.callback<{ url: string; asked: Array<string | undefined>; close: () => void }>((resume) => {
      const asked: Array<string | undefined> = []
      const server = createServer()
      const sockets = new WebSocketServer({ server })
      sockets.on("connection", (socket, request) => {
        asked.push(new URL(request.url ?? "", "http://localhost").searchParams.get("after") ?? undefined)
        visits[asked.length - 1]?.(socket, request)
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => {
          for (const client of sockets.clients) client.terminate()
          server.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, asked, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

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
    events.map((event) => envelopeOf(event).seq)
  )

describe("EventTail", () => {
  it.live("sends the token in the header, gives each event once and ends at the last one", () =>
    Effect.gen(function* () {
      let authorization: string | undefined
      const { url, asked } = yield* streamServer((socket, { headers }) => {
        authorization = headers.authorization
        for (const text of [
          delta(1),
          delta(2),
          delta(2),
          "not an envelope",
          delta(1),
          delta(3),
          completed(4)
        ]) {
          socket.send(text)
        }
      })
      assert.deepStrictEqual(yield* seqs(url), [1, 2, 3, 4])
      assert.strictEqual(authorization, "Bearer secret")
      assert.deepStrictEqual(asked, ["0"])
    })
  )

  it.live("connects again after what it has, however the connection was lost", () =>
    Effect.gen(function* () {
      const connections: Array<string> = []
      const { url, asked } = yield* streamServer(
        (socket) => socket.send(delta(1), () => socket.terminate()),
        (socket) => {
          socket.send(delta(1))
          socket.send(delta(2))
          socket.close(1013, "the reader stalled")
        },
        (socket) => socket.send(completed(3))
      )
      assert.deepStrictEqual(yield* seqs(url, 0, connections), [1, 2, 3])
      assert.deepStrictEqual(asked, ["0", "1", "2"])
      assert.deepStrictEqual(connections, ["lost", "restored", "lost", "restored"])
    })
  )

  it.live("ends where the run had ended before", () =>
    Effect.gen(function* () {
      const { url } = yield* streamServer((socket) => socket.close(1000, "the run has ended"))
      assert.deepStrictEqual(yield* seqs(url, 9), [])
    })
  )

  it.live("says plainly that a gap cannot be filled", () =>
    Effect.gen(function* () {
      const { url, asked } = yield* streamServer((socket) => socket.close(4410, "replay_gap"))
      const failure = yield* Effect.flip(seqs(url, 5))
      assert.strictEqual(failure.code, "replay_gap")
      assert.include(failure.message, "no longer keeps the events")
      assert.deepStrictEqual(asked, ["5"])
    })
  )

  it.live("passes a refusal on in the Edge's words, and does not try again", () =>
    Effect.gen(function* () {
      let visits = 0
      const server = createServer()
      server.on("upgrade", (_request, socket) => {
        visits++
        const body = JSON.stringify({
          code: "schema_validation_failed",
          message: "Some fields are not valid.",
          requestId: "req_1"
        })
        socket.end(
          `HTTP/1.1 422 Refused\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
        )
      })
      yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const { port } = server.address() as AddressInfo
      assert.deepStrictEqual(
        yield* Effect.exit(seqs(`http://127.0.0.1:${port}`)),
        Exit.fail(
          new CommandFailed({
            message: "Some fields are not valid.",
            exitCode: 2,
            code: "schema_validation_failed",
            requestId: "req_1"
          })
        )
      )
      assert.strictEqual(visits, 1)
    })
  )

  it.live("holds a fast Edge back while its reader is slow, and loses nothing", () =>
    Effect.gen(function* () {
      const count = 20_000
      const { url } = yield* streamServer((socket) => {
        for (let seq = 1; seq < count; seq++) socket.send(delta(seq))
        socket.send(completed(count))
      })
      const slow = follow(url).pipe(
        Stream.tap((event) => (envelopeOf(event).seq % 5_000 === 0 ? Effect.yieldNow : Effect.void)),
        Stream.runCount
      )
      assert.strictEqual(yield* slow, count)
    })
  )

  it.live("lets go of the socket when it is interrupted", () =>
    Effect.gen(function* () {
      const closed = Promise.withResolvers<void>()
      const opened = Promise.withResolvers<void>()
      const { url } = yield* streamServer((socket) => {
        socket.on("close", () => closed.resolve())
        opened.resolve()
      })
      const fiber = yield* Effect.forkChild(seqs(url))
      yield* Effect.promise(() => opened.promise)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => closed.promise)
    })
  )
})
