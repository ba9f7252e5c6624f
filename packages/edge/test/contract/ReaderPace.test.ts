/** A program that waits for the only reader of its run, over a real socket. The Edge's clock stands still: a full reader never becomes slow. */
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { within } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { WebSocket } from "ws"
import { EventReader } from "@corral/testing/edge/EdgeClient"
import { assertDense } from "../harness/LogInvariants.ts"

const machine = Effect.runSync(Clock.Clock)
/** 16 MB: more than any buffer between the program and its reader. */
const SCRIPT = "/stream 20000 0 800"

/** Sleeps end; the time does not change. */
class TimelessEdge extends EdgeInProcess {
  protected override get parts() {
    const now = machine.currentTimeMillisUnsafe()
    const clock: Clock.Clock = Object.assign(Object.create(machine), {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.succeed(now)
    })
    return Layer.succeedContext(Context.make(Clock.Clock, clock))
  }
}

/** A reader that answers pings when the test wants it. */
class SilentReader {
  readonly events: EventReader
  readonly #socket: WebSocket
  readonly #pings: Array<Buffer> = []
  #answers = false

  constructor({ token, url }: EdgeInProcess, runId: string) {
    this.#socket = new WebSocket(`${url.replace("http", "ws")}/v1/events?runId=${runId}`, {
      headers: { authorization: `Bearer ${token}` },
      autoPong: false
    })
    this.#socket.on("ping", (position: Buffer) => {
      if (this.#answers) this.#socket.pong(position)
      else this.#pings.push(position)
    })
    this.events = new EventReader(this.#socket, true)
  }

  get hasPings(): boolean {
    return this.#pings.length > 0
  }

  answer(): void {
    this.#answers = true
    for (const position of this.#pings.splice(0)) this.#socket.pong(position)
  }
}

describe("A program", () => {
  it("waits while its only reader is full, and continues when the reader has read", async () => {
    const edge = new TimelessEdge()
    onTestFinished(() => edge.remove())
    await edge.start()
    const { client } = edge
    const { id } = await client.create(SCRIPT)
    const reader = new SilentReader(edge, id)
    await reader.events.count(100)
    // Another run is the clock: as much output, to a reader that answers.
    const other = await client.follow({ runId: (await client.create(SCRIPT)).id, light: true })
    assert.strictEqual((await other.ended).code, 1000)
    const { lastSeq, state } = await client.run(id)
    assert.strictEqual(state, "running")
    assert.isAtMost(lastSeq, 2_000)
    assert.isTrue(reader.hasPings)
    reader.answer()
    const { code } = await within(reader.events.ended, 50_000, "the rest of the run")
    assert.strictEqual(code, 1000)
    assertDense(reader.events.events)
    assert.strictEqual(reader.events.events.length, (await client.run(id)).lastSeq)
  })
})
