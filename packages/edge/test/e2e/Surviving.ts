/** Many live runs whose Edge ends again and again: their work, what users do meanwhile, and what must be true in the end. */
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { setTimeout as pause } from "node:timers/promises"
import { assertWhole } from "../harness/LogInvariants.ts"
import type { Seeded } from "../harness/Seeded.ts"

interface ExpectedRun {
  readonly id: string
  /** Completed messages of an uninterrupted run. */
  readonly texts: ReadonlyArray<string>
  /** Pieces of streamed text, besides those of messages. */
  readonly pieces: number
  isCancelled: boolean
}

const STEPS = 6
/** How long the last runs may take. */
const END_MS = 60_000

/** A script of a run and what it says: text, streams, approvals, commands and further input in random order. */
const scriptOf = (seeded: Seeded, name: string) => {
  const lines: Array<string> = []
  const texts: Array<string> = []
  let pieces = 0
  let inputs = 0
  for (let step = 0; step < STEPS; step++) {
    lines.push(`/say ${name} ${step}`)
    texts.push(`${name} ${step}`)
    switch (seeded.whole(0, 4)) {
      case 0:
        lines.push("/stream 30 60 40")
        pieces += 30
        break
      case 1:
        lines.push("/ask")
        texts.push("allowed")
        break
      case 2:
        lines.push("/wait")
        // The input is in the log as the user's message, then as what the agent says.
        texts.push(`input ${inputs}`, `input ${inputs}`)
        inputs++
        break
      case 3:
        lines.push(`/sleep ${seeded.whole(50, 1_500)}`)
        break
      default:
        lines.push(`/think ${"thought ".repeat(seeded.whole(1, 200)).trim()}`)
    }
  }
  lines.push(`/say ${name} over`)
  texts.push(`${name} over`)
  return { script: lines.join("\n"), texts, pieces, inputs }
}

const textsOf = (events: ReadonlyArray<Envelope>): ReadonlyArray<string> =>
  events.flatMap(({ payload, type }) =>
    type === "run.message.completed" && payload["role"] !== "system" && payload["channel"] === "text"
      ? [String(payload["text"])]
      : []
  )

/** The streams of a run become one message: the sum of its pieces, each with its time. */
const isStreamed = (text: string): boolean => /^\d{9,} x/.test(text)

/** The run says what it would say without an interruption. */
const assertSame = ({ id, pieces, texts }: ExpectedRun, events: ReadonlyArray<Envelope>): void => {
  const messages = textsOf(events)
  assert.deepStrictEqual(messages.filter((text) => !isStreamed(text)).sort(), [...texts].sort(), id)
  const streamed = messages.filter(isStreamed).join("")
  assert.strictEqual(streamed.length, pieces * 40, id)
  const deltas = events.flatMap(({ payload, type }) =>
    type === "run.message.delta" && payload["channel"] === "text" ? [String(payload["text"])] : []
  )
  assert.strictEqual(deltas.filter(isStreamed).join(""), streamed, id)
  const times = [...streamed.matchAll(/\d{9,}(?= x)/g)].map(([time]) => BigInt(time))
  assert.isTrue(
    times.every((time, i) => i === 0 || time > (times[i - 1] ?? 0n)),
    `${id}: a piece is repeated`
  )
}

export class SurvivingRuns {
  readonly #edge: EdgeProcess
  readonly #seeded: Seeded
  readonly #live = new Map<string, ExpectedRun & { inputs: number; sent: number }>()
  #created = 0
  ended = 0

  constructor(edge: EdgeProcess, seeded: Seeded) {
    this.#edge = edge
    this.#seeded = seeded
  }

  get live(): number {
    return this.#live.size
  }

  /** Starts runs until that number is live. */
  async fill(count: number): Promise<void> {
    while (this.#live.size < count) {
      const { script, ...expected } = scriptOf(this.#seeded, `run ${this.#created++}`)
      const { id } = await this.#edge.client.create(script)
      this.#live.set(id, { ...expected, id, isCancelled: false, sent: 0 })
    }
  }

  /** Decides, sends input and cancels, while the Edge may end at any moment. Requests that are cut off are repeated later. */
  async act(isLast = false): Promise<void> {
    const { client } = this.#edge
    const pending = await client.approvals("state=pending")
    for (const { id, runId } of pending)
      if (isLast || this.#seeded.whole(0, 2) === 0) await client.decide(runId, id, "allow")
    for (const run of this.#live.values()) {
      // Again if the Edge ended before it had received the cancel.
      if (run.isCancelled || (!isLast && this.#seeded.whole(0, 40) === 0)) await this.#cancel(run)
      if (run.sent < run.inputs && !run.isCancelled) await this.#send(run)
    }
  }

  /** Checks the runs that have ended, and forgets them. */
  async collect(): Promise<void> {
    for (const run of this.#live.values()) {
      const { error, state } = await this.#edge.client.run(run.id)
      if (state !== "completed" && state !== "failed" && state !== "cancelled") continue
      const events = await this.#edge.client.log(run.id)
      assertWhole(events)
      if (run.isCancelled) assert.include(["cancelled", "completed"], state)
      else {
        assert.strictEqual(state, "completed", `${run.id}: ${JSON.stringify(error)}`)
        assertSame(run, events)
      }
      this.#live.delete(run.id)
      this.ended++
    }
  }

  /** Lets all runs end. */
  async finish(): Promise<void> {
    await until(
      async () => {
        await this.act(true)
        await this.collect()
        return this.#live.size === 0 ? true : undefined
      },
      "the ends of all runs",
      END_MS
    ).catch(async (cause: unknown) => {
      throw new Error(
        `${String(cause)}: ${(await Promise.all([...this.#live.values()].map((run) => this.#describe(run)))).join("\n")}\n${this.#edge.stderr.slice(-4_000)}`
      )
    })
  }

  /** A run that does not end. */
  async #describe({ id, inputs, sent }: ExpectedRun & { inputs: number; sent: number }): Promise<string> {
    const { state } = await this.#edge.client.run(id)
    const page = await this.#edge.client.ask("GET", `/v1/runs/${id}/events?limit=200`)
    const alive = this.#edge.survivorsOf(id).map(({ pid }) => pid)
    return `${id} is ${state}, ${sent} of ${inputs} inputs, processes ${alive.join(" ")}, ${page.text.slice(-1_500)}`
  }

  async #cancel(run: ExpectedRun): Promise<void> {
    run.isCancelled = true
    await this.#edge.client.ask("POST", `/v1/runs/${run.id}/cancel`, { body: {} })
  }

  async #send(run: ExpectedRun & { sent: number }): Promise<void> {
    const text = `input ${run.sent}`
    const headers = { "idempotency-key": `${run.id}-${run.sent}` }
    const { status } = await this.#edge.client.ask("POST", `/v1/runs/${run.id}/input`, {
      body: { text },
      headers
    })
    if (status < 300) run.sent++
  }
}

export interface SurvivalOptions {
  readonly edge: EdgeProcess
  readonly seeded: Seeded
  readonly runs: number
  readonly kills: number
  /** Programs of the Edge, in turns. */
  readonly entries: ReadonlyArray<string>
  /** After this number of kills, the next program starts instead. */
  readonly killsPerUpgrade: number
}

/** Ends the Edge again and again under live runs, then lets them end. Returns how many runs have ended as they would without it. */
export const surviveKills = async (options: SurvivalOptions): Promise<number> => {
  const { edge, entries, kills, killsPerUpgrade, runs, seeded } = options
  const all = new SurvivingRuns(edge, seeded)
  const inAir = (work: Promise<void>) =>
    work.catch((cause: unknown) => {
      // The Edge ended meanwhile.
      if (
        !/fetch failed|ECONNRE|socket|terminated|other side/i.test(
          `${String(cause)} ${String((cause as Error).cause)}`
        )
      )
        throw cause
    })
  for (let kill = 1; kill <= kills; kill++) {
    await all.fill(runs)
    const work = inAir(all.act())
    await pause(seeded.whole(0, 300))
    const isUpgrade = kill % killsPerUpgrade === 0
    if (isUpgrade) {
      edge.entry = entries[(kill / killsPerUpgrade) % entries.length] ?? edge.entry
      assert.strictEqual((await edge.stop()).code, 0)
    } else await edge.kill()
    await work
    await edge.start()
    await all.collect()
  }
  await all.finish()
  assert.deepStrictEqual(edge.survivors(), [])
  return all.ended
}
