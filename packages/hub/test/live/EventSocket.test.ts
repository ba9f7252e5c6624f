/** One subscriber over a real socket, with a log and a clock of the test's own. */
import { Arbitrary, Effect, Schema } from "effect"
import { closeCodes } from "@corral/domain/http/EventStream"
import type { RunId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { WebSocket, WebSocketServer } from "ws"
import { within } from "@corral/testing/time/Within"
import { EventSocket, type LogSource } from "../../src/live/EventSocket.ts"
import type { LogBatch } from "../../src/run/LogBatch.ts"
import { newId } from "@corral/testing/hub/Mirror"

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

/** Logs in memory: a batch a read. */
class Logs implements LogSource {
  readonly batches: Array<LogBatch> = []
  runs = (): Promise<ReadonlyArray<RunId>> =>
    Promise.resolve([...new Set(this.batches.map(({ runId }) => runId))])
  read = (runId: RunId, after: number): Promise<ReadonlyArray<LogBatch>> =>
    Promise.resolve(
      this.batches.filter((batch) => batch.runId === runId && batch.firstSeq > after).slice(0, 1)
    )
  lengthOf(runId: RunId): number {
    return this.batches.findLast((batch) => batch.runId === runId)?.lastSeq ?? 0
  }
}

const start = { endsWithRun: true, positions: new Map() }
const large = "x".repeat(200_000)

describe("EventSocket", () => {
  it("closes a reader with 1013 when its full socket took nothing for 30 s, not before", () =>
    withSocket(async ({ client, socket, stream }) => {
      const logs = new Logs()
      const runId = newId<RunId>("run")
      for (let seq = 1; seq <= 200; seq++) logs.batches.push(batchOf(runId, seq, [large]))
      let now = 0
      const reader = new EventSocket(socket, stream, logs, () => now, start)
      client.pause()
      reader.wokenAll()
      // The kernel takes some megabytes by itself; then everything waits for the reader.
      const full = async (before = -1): Promise<void> => {
        await new Promise((resolve) => setImmediate(resolve))
        return reader.waitsAfter(runId) === undefined &&
          stream.writableLength > 0 &&
          stream.writableLength === before
          ? undefined
          : full(stream.writableLength)
      }
      await within(full(), 10_000, "a full socket")
      // What the kernel took meanwhile is seen here.
      reader.tick()
      now += 30_000
      reader.tick()
      assert.strictEqual(socket.readyState, WebSocket.OPEN)
      now += 1
      reader.tick()
      assert.notStrictEqual(socket.readyState, WebSocket.OPEN)
      const closed = once(client, "close")
      client.resume()
      assert.strictEqual((await closed)[0], closeCodes.stalled)
    }))

  it("pings every 20 s a reader that keeps up", () =>
    withSocket(async ({ client, socket, stream }) => {
      let now = 0
      const reader = new EventSocket(socket, stream, new Logs(), () => now, start)
      reader.wokenAll()
      let pings = 0
      client.on("ping", () => pings++)
      for (let i = 0; i < 8; i++) {
        now += 10_001
        reader.tick()
      }
      const closed = once(client, "close")
      reader.end(1001, "over")
      await closed
      assert.strictEqual(pings, 4)
    }))

  it("closes with 4410 where events are missing, after those before", () =>
    withSocket(async ({ client, socket, stream }) => {
      const logs = new Logs()
      const runId = newId<RunId>("run")
      logs.batches.push(batchOf(runId, 1, ["1"]), batchOf(runId, 4, ["4"]))
      const frames: Array<string> = []
      client.on("message", (data: Buffer) => frames.push(data.toString("utf8")))
      const closed = once(client, "close")
      new EventSocket(socket, stream, logs, () => 0, start).wokenAll()
      assert.strictEqual((await closed)[0], closeCodes.replayGap)
      assert.deepStrictEqual(frames, ["1"])
    }))

  it("closes with 1013 where the log cannot be read", () =>
    withSocket(async ({ client, socket, stream }) => {
      const logs = new Logs()
      logs.batches.push(batchOf(newId<RunId>("run"), 1, ["1"]))
      logs.read = () => Promise.reject(new Error("the database has gone"))
      const closed = once(client, "close")
      new EventSocket(socket, stream, logs, () => 0, start).wokenAll()
      assert.strictEqual((await closed)[0], closeCodes.stalled)
    }))

  /** What happens next: a batch is appended, one that was is told, there is a wake-up, or whatever is being read is answered. */
  const Step = Schema.Struct({
    what: Schema.Literals(["append", "append and tell", "tell old", "wake", "wake all", "answer", "answer"]),
    run: Schema.Literals([0, 1]),
    length: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 }))
  })
  it.effect.prop(
    "sends each event once and in order, whatever comes between a read and its answer",
    [Arbitrary.array(Arbitrary.schema(Step), { maxLength: 40 })],
    ([steps]) =>
      Effect.promise(() =>
        withSocket(async ({ client, socket, stream }) => {
          const logs = new Logs()
          const runs = [newId<RunId>("run"), newId<RunId>("run")] as const
          const answers: Array<() => void> = []
          let free = false
          const settle = () => new Promise((resolve) => setImmediate(resolve))
          const source: LogSource = {
            runs: () => logs.runs(),
            // Read now, answered later.
            read: async (runId, after) => {
              const found = await logs.read(runId, after)
              if (!free) await new Promise<void>((resolve) => answers.push(resolve))
              return found
            }
          }
          const frames: Array<string> = []
          client.on("message", (data: Buffer) => frames.push(data.toString("utf8")))
          const reader = new EventSocket(socket, stream, source, () => 0, { ...start, endsWithRun: false })
          reader.wokenAll()
          for (const { length, run, what } of steps) {
            const runId = runs[run]
            if (what.startsWith("append")) {
              const from = logs.lengthOf(runId) + 1
              const lines = Array.from({ length }, (_, i) => `${run} ${from + i}`)
              const batch = batchOf(runId, from, lines)
              logs.batches.push(batch)
              if (what === "append and tell") reader.told(batch)
            }
            if (what === "tell old") {
              const old = logs.batches.find((batch) => batch.runId === runId)
              if (old !== undefined) reader.told(old)
            }
            if (what === "wake") reader.woken(runId)
            if (what === "wake all") reader.wokenAll()
            if (what === "answer") answers.shift()?.()
            await settle()
          }
          free = true
          for (const runId of runs) reader.woken(runId)
          while (answers.length > 0) {
            answers.shift()?.()
            await settle()
          }
          const wanted = runs.map((runId, run) =>
            Array.from({ length: logs.lengthOf(runId) }, (_, i) => `${run} ${i + 1}`)
          )
          const come = async (): Promise<void> => {
            await settle()
            return frames.length >= wanted.flat().length ? undefined : come()
          }
          await within(come(), 5_000, "all events")
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
