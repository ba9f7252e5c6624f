/** When a reader of the event stream counts as stalled: over a real socket, with a clock of the test's own. */
import type { RunId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import { EventSocket, LogReads } from "@corral/service/stream/EventSocket"
import type { Start } from "@corral/service/stream/LogSource"
import { defaultStreamTimes } from "@corral/service/stream/StreamTimes"
import { assert, layer } from "@effect/vitest"
import { type Cause, Context, Effect } from "effect"
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { WebSocket, WebSocketServer } from "ws"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { makeEventEncoder } from "../../src/log/StoredEvents.ts"
import { edgeRunSource } from "../../src/log/EdgeLogSource.ts"
import { insertRun } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import type { StoreDamaged } from "../../src/store/StoreDamage.ts"
import { at, newRunId, runOf } from "../Samples.ts"
import { memoryLogLayer } from "../Stored.ts"

/** A client and the socket that the server has for it. */
const connected = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const handshakes = new WebSocketServer({ server })
    const accepted = once(handshakes, "connection")
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const [[socket, request]] = await Promise.all([accepted, once(client, "open")])
    return {
      client,
      socket: socket as WebSocket,
      stream: (request as IncomingMessage).socket,
      server
    }
  }),
  ({ client, server, socket }) =>
    Effect.sync(() => {
      client.terminate()
      socket.terminate()
      server.close()
    })
)

class SoundReads extends LogReads {
  override report(cause: Cause.Cause<unknown>): void {
    assert.fail(String(cause))
  }
}

/** A socket that follows the log of a run. */
const follow = (
  { socket, stream }: { readonly socket: WebSocket; readonly stream: Duplex },
  log: EdgeEventLog["Service"],
  now: () => number,
  { runId, ...start }: Start & { readonly runId: RunId }
) => {
  const reader = new EventSocket<StoreDamaged>(now, new SoundReads(Context.empty()), {
    socket,
    stream,
    endsWithRun: true
  })
  reader.follow(edgeRunSource(log, runId), start)
  return reader
}

layer(memoryLogLayer)("An EventSocket on the Edge's log", (it) => {
  it.effect("counts a stall from when the socket is full, not from when it was last heard of", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const { client, socket, stream } = yield* connected
      const runId = newRunId()
      let now = 0
      const reader = follow({ socket, stream }, log, () => now, { runId, after: 0, isOver: false })

      // A reader that had nothing to read for ten minutes.
      now = 600_000
      client.pause()
      const encode = makeEventEncoder({ runId })
      const text = "x".repeat(200_000)
      for (let seq = 1; stream.writableLength === 0; seq++) {
        const line = encode(seq, at, draft("run.message.delta", { messageId: "m", channel: "text", text }))
        yield* log.append({ runId, firstSeq: seq, count: 1, lines: line, terminal: false }, [])
      }
      reader.tick(defaultStreamTimes)
      assert.strictEqual(socket.readyState, WebSocket.OPEN, "it has stalled for no time yet")
      now += 30_000
      reader.tick(defaultStreamTimes)
      assert.strictEqual(socket.readyState, WebSocket.OPEN, "30 s are not over")
      now += 1
      reader.tick(defaultStreamTimes)
      assert.notStrictEqual(socket.readyState, WebSocket.OPEN)
      now += 2_999
      reader.tick(defaultStreamTimes)
      assert.strictEqual(socket.readyState, WebSocket.CLOSING, "it has 3 s to read why")
      const closed = once(client, "close")
      client.resume()
      assert.strictEqual((yield* Effect.promise(() => closed))[0], 1013)
    })
  )

  it.effect("destroys a stalled reader that does not read why it is closed", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const { client, socket, stream } = yield* connected
      const runId = newRunId()
      let now = 0
      const reader = follow({ socket, stream }, log, () => now, { runId, after: 0, isOver: false })
      client.pause()
      const encode = makeEventEncoder({ runId })
      const text = "x".repeat(200_000)
      for (let seq = 1; stream.writableLength === 0; seq++) {
        const line = encode(seq, at, draft("run.message.delta", { messageId: "m", channel: "text", text }))
        yield* log.append({ runId, firstSeq: seq, count: 1, lines: line, terminal: false }, [])
      }
      for (const step of [0, 30_001, 3_000]) {
        now += step
        reader.tick(defaultStreamTimes)
      }
      assert.isTrue(stream.destroyed)
    })
  )

  it.effect("does not count a reader as stalled that takes a little, however long one write takes it", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const { client, socket, stream } = yield* connected
      const runId = newRunId()
      let now = 0
      const reader = follow({ socket, stream }, log, () => now, { runId, after: 0, isOver: false })
      client.pause()
      const encode = makeEventEncoder({ runId })
      const text = "x".repeat(200_000)
      const lines = Array.from({ length: 150 }, (_, i) =>
        encode(i + 1, at, draft("run.message.delta", { messageId: "m", channel: "text", text }))
      )
      // One batch, thus one write: far more than the kernel keeps for a reader.
      yield* log.append(
        { runId, firstSeq: 1, count: lines.length, lines: lines.join("\n"), terminal: false },
        []
      )
      let taken = 0
      const next = (count: number) =>
        new Promise<void>((resolve) => {
          const until = taken + count
          const take = () => {
            if (++taken < until) return
            client.off("message", take)
            client.pause()
            resolve()
          }
          client.on("message", take)
          client.resume()
        })
      for (let round = 0; round < 3; round++) {
        // More than what both kernels hold between two of the writer's steps.
        yield* Effect.promise(() => next(40))
        assert.isAbove(stream.writableLength, 0, "the write is not over")
        now += 20_000
        reader.tick(defaultStreamTimes)
        assert.strictEqual(socket.readyState, WebSocket.OPEN, `it reads: round ${round}`)
      }
      // Bytes that the kernel still takes count as progress once. Then it takes none.
      now += 20_000
      reader.tick(defaultStreamTimes)
      now += 30_001
      reader.tick(defaultStreamTimes)
      assert.notStrictEqual(socket.readyState, WebSocket.OPEN)
    })
  )

  it.effect("closes a reader that retention overtakes with 4410, after whole frames in order", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const store = yield* Store
      const { client, socket, stream } = yield* connected
      const runId = newRunId()
      const encode = makeEventEncoder({ runId })
      const text = "x".repeat(200_000)
      yield* store.commit([insertRun(runOf(runId, { state: "completed", endedAt: at, lastSeq: 100 }))])
      for (let seq = 1; seq <= 100; seq++) {
        const delta = draft("run.message.delta", { messageId: "m", channel: "text", text })
        const event = seq === 100 ? draft("run.completed", {}) : delta
        yield* log.append(
          { runId, firstSeq: seq, count: 1, lines: encode(seq, at, event), terminal: seq === 100 },
          []
        )
      }
      client.pause()
      const reader = follow({ socket, stream }, log, () => 0, { runId, after: 0, isOver: false })
      reader.tick(defaultStreamTimes)
      assert.isAbove(stream.writableLength, 0, "the reader is behind")
      yield* store.commit([
        ["UPDATE runs SET log = 'going' WHERE id = ?", runId],
        ["DELETE FROM events WHERE run_id = ? AND last_seq <= 90", runId]
      ])
      const late = yield* connected
      const begins = follow(late, log, () => 0, {
        runId,
        after: 95,
        isOver: false
      })
      let started = 0
      late.client.on("message", () => started++)
      const [lateCode] = yield* Effect.promise(() => once(late.client, "close"))
      assert.deepStrictEqual([lateCode, started], [4410, 0], "not begun with what is left")
      begins.release()
      const seqs: Array<number> = []
      client.on("message", (data: Buffer) => seqs.push((JSON.parse(data.toString()) as { seq: number }).seq))
      client.resume()
      const [code] = yield* Effect.promise(() => once(client, "close"))
      assert.strictEqual(code, 4410)
      assert.isBelow(seqs.length, 90)
      assert.deepStrictEqual(
        seqs,
        seqs.map((_, i) => i + 1)
      )
    })
  )
})
