/** Many readers of runs that write: reconnecting at random places, joining at random moments, and one that never reads. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { WebSocket } from "ws"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertDense, assertWhole } from "../harness/LogInvariants.ts"
import { Seeded } from "../harness/Seeded.ts"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeProcess()
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

const RECONNECTS = 5_000
const LANES = 10
const READERS = 100
const EVENTS = 4_000

/** A reader that keeps nothing but how long each event took from the runtime to here: the runtime writes when it sent it. */
class Timed {
  readonly took: Array<number> = []
  seqs = 0
  readonly ended: Promise<number>
  private readonly socket: WebSocket

  constructor(runId: string, after: number) {
    this.seqs = after
    this.socket = new WebSocket(`${edge.url.replace("http", "ws")}/v1/events?runId=${runId}&after=${after}`, {
      headers: { authorization: `Bearer ${edge.token}` }
    })
    this.socket.on("error", () => undefined)
    this.socket.on("message", (data: Buffer) => {
      const text = data.toString("latin1")
      const seq = Number(/"seq":(\d+)/.exec(text)?.[1])
      assert.strictEqual(seq, ++this.seqs, "every event once and in order")
      const sent = /"text":"(\d+) /.exec(text)?.[1]
      if (sent !== undefined) this.took.push(Number(process.hrtime.bigint() - BigInt(sent)) / 1e6)
    })
    this.ended = new Promise((resolve) => this.socket.once("close", resolve))
  }

  pause(): void {
    this.socket.pause()
  }

  drop(): void {
    this.socket.terminate()
  }
}

const percentile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return Number((sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(1))
}

describe("Many readers", () => {
  it("that reconnect 5,000 times at random places miss nothing and get nothing twice", async () => {
    const seeded = new Seeded("5,000 reconnects")
    const runs = await Promise.all(Array.from({ length: 5 }, () => client.create("/stream 60000 1000 64")))
    let events = 0
    const startedAt = performance.now()
    const lane = async (n: number) => {
      const runId = runs[n % runs.length]?.id ?? ""
      let position = 0
      for (let i = 0; i < RECONNECTS / LANES; i++) {
        // Where it was, or back at some place that it has seen.
        const after =
          seeded.whole(0, 3) === 0 ? seeded.whole(Math.max(0, position - 2_000), position) : position
        const reader = await client.follow({ runId, after, light: true })
        await Promise.race([reader.count(seeded.whole(1, 30)), reader.ended])
        reader.drop()
        assertDense(reader.events, after)
        events += reader.events.length
        position = Math.max(position, after + reader.events.length)
      }
    }
    await Promise.all(Array.from({ length: LANES }, (_, n) => lane(n)))
    const seconds = (performance.now() - startedAt) / 1_000
    for (const { id } of runs) {
      await client.cancel(id)
      assertWhole(await client.log(id))
    }
    console.log(
      JSON.stringify({
        what: "5,000 reconnects at random places while 5 runs write",
        events,
        seconds: Math.round(seconds),
        lost: 0
      })
    )
  })

  it("of which one never reads, and many join at random moments, get all of it", async () => {
    const seeded = new Seeded("100 readers")
    const { id: runId } = await client.create(`/stream ${EVENTS} 400 4000`)
    const readers = Array.from({ length: READERS / 2 }, () => new Timed(runId, 0))
    const never = new Timed(runId, 0)
    never.pause()
    const pace = await client.follow({ runId, light: true })
    const before = edge.memory
    let most = before
    // The rest joins after this number of events; events before that are replayed and show nothing about latency.
    for (let n = readers.length; n < READERS - 1; n++) {
      await pace.count(Math.max(pace.events.length, seeded.whole(1, EVENTS - 200)))
      readers.push(new Timed(runId, seeded.whole(0, pace.events.length)))
      most = Math.max(most, edge.memory)
    }
    for (const reader of readers) assert.strictEqual(await reader.ended, 1000)
    most = Math.max(most, edge.memory)
    const { lastSeq } = await client.run(runId)
    for (const reader of readers) assert.strictEqual(reader.seqs, lastSeq)
    never.drop()
    const took = readers.slice(0, READERS / 2).flatMap((reader) => reader.took)
    console.log(
      JSON.stringify({
        what: "100 readers of 400 events/s of 4 KB, 1 of which never reads: from the runtime to the reader, ms",
        n: took.length,
        p50: percentile(took, 0.5),
        p99: percentile(took, 0.99),
        most: percentile(took, 1),
        lost: 0,
        grownMb: Math.round((most - before) / 1e6)
      })
    )
  })

  it("and a runtime that prints lines of 100 MB leave another run's readers undisturbed", async () => {
    const { id: shared } = await client.create("/stream 1000000 100 200")
    const { id: measured } = await client.create("/stream 1000000 100 64")
    const readers = Array.from({ length: READERS - 1 }, () => new Timed(shared, 0))
    // Asks for more than its socket takes, and reads none of it.
    const { id: long } = await client.create("/stream 20000 20000 2000")
    await client.log(long)
    const never = new Timed(long, 0)
    never.pause()
    const calm = new Timed(measured, 0)
    const pace = await client.follow({ runId: measured, light: true })
    // What was there when they came is replayed and says nothing about latency.
    await pace.count(500)
    calm.took.splice(0)
    await pace.count(1_500)
    const quiet = calm.took.splice(0)
    const { id: bad } = await client.create("/longline 100\n/longline 100\n/longline 100\n/say after")
    assertWhole(await client.log(bad))
    await pace.count(pace.events.length + 1_000)
    for (const id of [shared, measured]) await client.cancel(id)
    for (const reader of [...readers, calm]) await reader.ended
    never.drop()
    const figures = (took: ReadonlyArray<number>) => ({
      n: took.length,
      p50: percentile(took, 0.5),
      p99: percentile(took, 0.99),
      most: percentile(took, 1)
    })
    console.log(
      JSON.stringify({
        what: "another run at 100 events/s beside 100 readers, 1 of which never reads, ms from the runtime to the reader",
        before: figures(quiet),
        besideLinesOf100Mb: figures(calm.took)
      })
    )
  })
})
