/**
 * Small pushes of simulated devices, as runs make them that emit an event now and then. A device connects again and repeats a push until it is
 * acknowledged. What its run emits meanwhile is in the next push.
 */
import { assert } from "@effect/vitest"
import type { RunId } from "@corral/domain/identity/Ids"
import { MAX_PUSH_EVENTS } from "@corral/domain/link/EdgeLink"
import { mint } from "@corral/service/Identifiers"
import { newSimulatedDevice, type SimulatedDevice, SimulatedLink } from "@corral/testing/edge/SimulatedLink"
import { createdRun, createRun, linesOf, messageDelta } from "@corral/testing/hub/Mirror"
import { query } from "@corral/testing/postgres/PostgresServer"
import type { Joined } from "@corral/testing/stack/Joined"
import { setTimeout as pause } from "node:timers/promises"

const DEVICES = 60
const RETRY_MS = 500

/** One device with one run. */
class Pusher {
  readonly runId = mint<RunId>("run", Date.now())
  acknowledged = 0
  repeated = 0
  readonly #url: string
  readonly #device: SimulatedDevice
  #link: SimulatedLink | undefined

  constructor(url: string, device: SimulatedDevice) {
    this.#url = url
    this.#device = device
  }

  /** Pushes the next events, repeatedly until they are acknowledged. */
  async push(count: number): Promise<void> {
    const first = this.acknowledged + 1
    // The run is created by its first event, and then says something now and then.
    const events = Array.from({ length: count }, (_, at) =>
      first + at === 1 ? createdRun : messageDelta("a few words")
    )
    const lines = linesOf(this.runId, first, events)
    for (;;) {
      const acknowledged = await this.#try(first, lines).catch(() => undefined)
      if (acknowledged === undefined) {
        this.repeated++
        await pause(RETRY_MS)
        continue
      }
      assert.strictEqual(acknowledged, first + count - 1)
      this.acknowledged = acknowledged
      return
    }
  }

  async #try(first: number, lines: ReadonlyArray<string>): Promise<number> {
    if (this.#link?.isOpen !== true) this.#link = await SimulatedLink.open(this.#url, this.#device)
    return this.#link.push(this.runId, first, lines)
  }

  close(): void {
    this.#link?.close()
  }
}

export class SteadyPushes {
  readonly #databaseUrl: string
  readonly #pushers: ReadonlyArray<Pusher>
  #isOver = false
  #loops: Promise<unknown> = Promise.resolve()

  /** Devices and runs that the Hubs know. */
  static async open(joined: Joined, databaseUrl: string): Promise<SteadyPushes> {
    const devices = Array.from({ length: DEVICES }, newSimulatedDevice)
    const pushers = devices.map((device) => new Pusher(joined.front.url, device))
    const owner = joined.owner.userId
    const deviceRows = devices.map(
      ({ deviceId, publicKey }) => `('${deviceId}', '${owner}', 'simulated', 'edge', '${publicKey}', now())`
    )
    const offer = JSON.stringify({ agentId: createRun.agentId, workspace: createRun.workspace })
    const runRows = pushers.map(
      ({ runId }, at) =>
        `('${runId}', '${joined.projectId}', '${devices[at]?.deviceId}', '${offer}', '${JSON.stringify(createRun)}', 'queued', now(), now())`
    )
    await query(
      databaseUrl,
      `INSERT INTO devices (id, owner_id, name, kind, public_key, created_at) VALUES ${deviceRows.join()};
       INSERT INTO runs (id, project_id, target_id, offer, made, state, created_at, updated_at) VALUES ${runRows.join()}`
    )
    return new SteadyPushes(databaseUrl, pushers)
  }

  private constructor(databaseUrl: string, pushers: ReadonlyArray<Pusher>) {
    this.#databaseUrl = databaseUrl
    this.#pushers = pushers
  }

  /** Pushes a second while every device pushes as fast as it is acknowledged. */
  async capacity(millis: number): Promise<number> {
    // The first push also links.
    await this.#each((pusher) => pusher.push(1))
    const [begin, before] = [performance.now(), this.acknowledged]
    await this.#each(async (pusher) => {
      while (performance.now() - begin < millis) await pusher.push(1)
    })
    return ((this.acknowledged - before) * 1_000) / (performance.now() - begin)
  }

  start(perSecond: number): void {
    this.#isOver = false
    const interval = (DEVICES * 1_000) / perSecond
    this.#loops = this.#each(async (pusher) => {
      let emittedAt = performance.now() + Math.random() * interval
      while (!this.#isOver) {
        const due = Math.floor((performance.now() - emittedAt) / interval)
        if (due < 1) {
          await pause(Math.max(1, emittedAt + interval - performance.now()))
          continue
        }
        const count = Math.min(due, MAX_PUSH_EVENTS)
        emittedAt += count * interval
        await pusher.push(count)
      }
    })
    // `stop` reports the failure.
    this.#loops.catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#loops
    for (const pusher of this.#pushers) pusher.close()
  }

  get acknowledged(): number {
    return this.#pushers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  get repeated(): number {
    return this.#pushers.reduce((sum, { repeated }) => sum + repeated, 0)
  }

  /** The Hubs have every acknowledged event once. */
  async check(): Promise<void> {
    const ids = this.#pushers.map(({ runId }) => `'${runId}'`).join()
    const rows = await query(
      this.#databaseUrl,
      `SELECT run_id, sum(last_seq - first_seq + 1)::int AS events, count(DISTINCT first_seq)::int AS firsts, count(*)::int AS batches,
         min(first_seq) AS first, max(last_seq) AS last FROM run_events WHERE run_id IN (${ids}) GROUP BY run_id`
    )
    const stored = new Map(rows.map((row) => [row["run_id"], row]))
    for (const { acknowledged, runId } of this.#pushers) {
      const { batches, events, first, firsts, last } = stored.get(runId) ?? {}
      assert.deepStrictEqual([first, last, events, firsts], [1, acknowledged, acknowledged, batches], runId)
    }
  }

  #each(act: (pusher: Pusher) => Promise<void>): Promise<unknown> {
    return Promise.all(this.#pushers.map(act))
  }
}
