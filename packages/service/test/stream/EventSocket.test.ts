/** One subscriber over a real socket, with logs in memory and a clock of the test's own. */
import { closeCodes } from "@corral/domain/http/StreamEnd"
import type { RunId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, type Cause, Context, Data, Effect, Schema } from "effect"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { WebSocket, WebSocketServer } from "ws"
import { EventSocket, LogReads } from "../../src/stream/EventSocket.ts"
import { type LogBatch, type LogSource, withoutGap } from "../../src/stream/LogSource.ts"
import { defaultStreamTimes } from "../../src/stream/StreamTimes.ts"
import { within } from "@corral/testing/time/Until"

interface Connected {
  readonly client: WebSocket
  readonly socket: WebSocket
  readonly stream: Socket
  readonly server: Server
}

/** A client and the socket that the server has for it. */
const connect = async (): Promise<Connected> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const handshakes = new WebSocketServer({ server })
  const accepted = once(handshakes, "connection")
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [[socket, request]] = await Promise.all([accepted, once(client, "open")])
  return { client, socket: socket as WebSocket, stream: (request as IncomingMessage).socket, server }
}

const withSocket = async (use: (connected: Connected) => Promise<void>): Promise<void> => {
  const connected = await connect()
  try {
    await use(connected)
  } finally {
    connected.client.terminate()
    connected.socket.terminate()
    connected.server.close()
  }
}

const batchOf = (
  runId: RunId,
  firstSeq: number,
  lines: ReadonlyArray<string>,
  terminal = false
): LogBatch => ({
  runId,
  firstSeq,
  lastSeq: firstSeq + lines.length - 1,
  lines: lines.join("\n"),
  terminal
})

/** Logs in memory. A read gives one batch. */
class Logs {
  readonly batches: Array<LogBatch> = []
  read = (runId: RunId, after: number): Promise<ReadonlyArray<LogBatch>> =>
    Promise.resolve(
      this.batches.filter((batch) => batch.runId === runId && batch.firstSeq > after).slice(0, 1)
    )
  lengthOf(runId: RunId): number {
    return this.batches.findLast((batch) => batch.runId === runId)?.lastSeq ?? 0
  }
}

class LogUnreadable extends Data.TaggedError("LogUnreadable")<{}> {}

const sourceOf = (logs: Pick<Logs, "read">, runId: RunId): LogSource<LogUnreadable> => ({
  read: (after) =>
    Effect.flatMap(
      Effect.tryPromise({ try: () => logs.read(runId, after), catch: () => new LogUnreadable() }),
      (batches) => withoutGap(batches, after)
    ),
  follow: () => () => undefined,
  hasDropped: () => false,
  closeFor: () => ({ code: closeCodes.stalled, reason: "the log cannot be read" })
})

class SoundReads extends LogReads {
  override report(cause: Cause.Cause<unknown>): void {
    assert.fail(String(cause))
  }
}

const socketOf = ({ socket, stream }: Connected, now: () => number, endsWithRun = true) =>
  new EventSocket<LogUnreadable>(now, new SoundReads(Context.empty()), { socket, stream, endsWithRun })

const start = { after: 0, isOver: false }
const [first, second] = ["run_1" as RunId, "run_2" as RunId] as const
const large = "x".repeat(200_000)

describe("EventSocket", () => {
  it("closes a reader with 1013 when its full socket took nothing for 30 s, not before", () =>
    withSocket(async (connected) => {
      const { client, socket, stream } = connected
      const logs = new Logs()
      for (let seq = 1; seq <= 200; seq++) logs.batches.push(batchOf(first, seq, [large]))
      let now = 0
      const reader = socketOf(connected, () => now)
      client.pause()
      reader.follow(sourceOf(logs, first), start)
      // The kernel takes some megabytes by itself; then everything waits for the reader.
      const full = async (before = -1): Promise<void> => {
        await new Promise((resolve) => setImmediate(resolve))
        return !reader.canSend && stream.writableLength > 0 && stream.writableLength === before
          ? undefined
          : full(stream.writableLength)
      }
      await within(full(), 10_000, "a full socket")
      // Shows the socket what the kernel took meanwhile.
      reader.tick(defaultStreamTimes)
      now += 30_000
      reader.tick(defaultStreamTimes)
      assert.strictEqual(socket.readyState, WebSocket.OPEN)
      now += 1
      reader.tick(defaultStreamTimes)
      assert.notStrictEqual(socket.readyState, WebSocket.OPEN)
      const closed = once(client, "close")
      client.resume()
      assert.strictEqual((await closed)[0], closeCodes.stalled)
    }))

  it("pings an up-to-date reader every 20 s", () =>
    withSocket(async (connected) => {
      const { client } = connected
      let now = 0
      const reader = socketOf(connected, () => now)
      reader.follow(sourceOf(new Logs(), first), start)
      let pings = 0
      client.on("ping", () => pings++)
      for (let i = 0; i < 8; i++) {
        now += 10_001
        reader.tick(defaultStreamTimes)
      }
      const closed = once(client, "close")
      reader.end(1001, "over")
      await closed
      assert.strictEqual(pings, 4)
    }))

  it("asks a reader of a paced log what it has read, from half a window on, and no other reader", () =>
    withSocket(async (connected) => {
      const { client } = connected
      const reader = socketOf(connected, () => 0)
      const pings: Array<Buffer> = []
      client.on("ping", (position: Buffer) => pings.push(position))
      const received = (count: number) =>
        new Promise<void>((resolve) => {
          let left = count
          const onMessage = () => {
            if (--left > 0) return
            client.off("message", onMessage)
            resolve()
          }
          client.on("message", onMessage)
        })
      const source = { ...sourceOf(new Logs(), first), isPaced: true }
      reader.follow(source, start)
      const small = received(1)
      reader.send(batchOf(first, 1, ["1"]))
      await small
      const windowOf = () => reader.window
      assert.isUndefined(windowOf())
      const whole = received(3)
      reader.send(batchOf(first, 2, [large, large, large]))
      const window = windowOf()
      if (window === undefined) return assert.fail("no window")
      assert.strictEqual(window.state, "full")
      const room = new Promise<void>((resolve) => (window.onRoom = resolve))
      await Promise.all([whole, within(room, 5_000, "the pong")])
      assert.strictEqual(window.state, "room")
      assert.strictEqual(pings.length, 1)
      await withSocket(async (other) => {
        const unpaced = socketOf(other, () => 0)
        unpaced.follow(sourceOf(new Logs(), first), start)
        unpaced.send(batchOf(first, 1, [large, large, large]))
        assert.isUndefined(unpaced.window)
      })
    }))

  it("closes with 4410 where events are missing, after those before", () =>
    withSocket(async (connected) => {
      const { client } = connected
      const logs = new Logs()
      logs.batches.push(batchOf(first, 1, ["1"]), batchOf(first, 4, ["4"]))
      const frames: Array<string> = []
      client.on("message", (data: Buffer) => frames.push(data.toString("utf8")))
      const closed = once(client, "close")
      socketOf(connected, () => 0).follow(sourceOf(logs, first), start)
      assert.strictEqual((await closed)[0], closeCodes.replayGap)
      assert.deepStrictEqual(frames, ["1"])
    }))

  it("closes with 1013 when the log cannot be read", () =>
    withSocket(async (connected) => {
      const logs = new Logs()
      logs.batches.push(batchOf(first, 1, ["1"]))
      logs.read = () => Promise.reject(new Error("the database is gone"))
      const closed = once(connected.client, "close")
      socketOf(connected, () => 0).follow(sourceOf(logs, first), start)
      assert.strictEqual((await closed)[0], closeCodes.stalled)
    }))

  it("closes with 1000 after the run's terminal event, and at the start of a run that is over", () =>
    withSocket(async (connected) => {
      const { client } = connected
      const logs = new Logs()
      logs.batches.push(batchOf(first, 1, ["1"], true))
      const frames: Array<string> = []
      client.on("message", (data: Buffer) => frames.push(data.toString("utf8")))
      const closed = once(client, "close")
      socketOf(connected, () => 0).follow(sourceOf(logs, first), start)
      assert.strictEqual((await closed)[0], closeCodes.ended)
      assert.deepStrictEqual(frames, ["1"])
      await withSocket(async (other) => {
        const over = once(other.client, "close")
        socketOf(other, () => 0).follow(sourceOf(logs, first), { after: 1, isOver: true })
        assert.strictEqual((await over)[0], closeCodes.ended)
      })
    }))

  it("releases the log when the stream ends, or immediately after its end", () =>
    withSocket(async (connected) => {
      const reader = socketOf(connected, () => 0)
      let released = 0
      reader.follow({ ...sourceOf(new Logs(), first), follow: () => () => released++ }, start)
      assert.strictEqual(released, 0)
      reader.end(1001, "over")
      reader.release()
      assert.strictEqual(released, 1)
      reader.releaseWith(() => released++)
      assert.strictEqual(released, 2)
    }))

  /** Next step: an append, with or without notice, an old batch again, a wake-up, or the completion of a pending read. */
  const Step = Schema.Struct({
    what: Schema.Literals(["append", "append and notify", "repeat", "wake", "wake all", "answer", "answer"]),
    run: Schema.Literals([0, 1]),
    length: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 }))
  })
  it.effect.prop(
    "sends each event once and in order, regardless of what comes between a read and its answer",
    [Arbitrary.array(Arbitrary.schema(Step), { maxLength: 40 })],
    ([steps]) =>
      Effect.promise(() =>
        withSocket(async (connected) => {
          const { client } = connected
          const logs = new Logs()
          const runs = [first, second] as const
          const pending: Array<() => void> = []
          let isFree = false
          const settle = () => new Promise((resolve) => setImmediate(resolve))
          // Reads now, completes later.
          const read = async (runId: RunId, after: number) => {
            const found = await logs.read(runId, after)
            if (!isFree) await new Promise<void>((resolve) => pending.push(resolve))
            return found
          }
          const frames: Array<string> = []
          client.on("message", (data: Buffer) => frames.push(data.toString("utf8")))
          const reader = socketOf(connected, () => 0, false)
          const cursors = runs.map((runId) => reader.cursorOf(sourceOf({ read }, runId), 0))
          const wakeAll = () => cursors.forEach((cursor) => cursor.wake())
          wakeAll()
          for (const { length, run, what } of steps) {
            const runId = runs[run]
            if (what.startsWith("append")) {
              const from = logs.lengthOf(runId) + 1
              const lines = Array.from({ length }, (_, i) => `${run} ${from + i}`)
              const batch = batchOf(runId, from, lines)
              logs.batches.push(batch)
              if (what === "append and notify") cursors[run]?.receive(batch)
            }
            if (what === "repeat") {
              const old = logs.batches.find((batch) => batch.runId === runId)
              if (old !== undefined) cursors[run]?.receive(old)
            }
            if (what === "wake") cursors[run]?.wake()
            if (what === "wake all") wakeAll()
            if (what === "answer") pending.shift()?.()
            await settle()
          }
          isFree = true
          wakeAll()
          while (pending.length > 0) {
            pending.shift()?.()
            await settle()
          }
          const wanted = runs.map((runId, run) =>
            Array.from({ length: logs.lengthOf(runId) }, (_, i) => `${run} ${i + 1}`)
          )
          const next = async (): Promise<void> => {
            await settle()
            return frames.length >= wanted.flat().length ? undefined : next()
          }
          await within(next(), 5_000, "all events")
          const closed = once(client, "close")
          reader.end(1001, "over")
          await closed
          assert.deepStrictEqual(
            [0, 1].map((run) => frames.filter((frame) => frame.startsWith(`${run} `))),
            wanted
          )
        })
      ),
    { arbitrary: { runs: 60 } }
  )
})
