/**
 * What goes wrong between a Hub and an Edge, done on purpose and in an order that a seed decides; and what must hold all the same: every
 * event once and in order at every follower, every command executed once.
 */
import { assert } from "@effect/vitest"
import type { RunId } from "@corral/domain/identity/Ids"
import { randomNumbers } from "@corral/conformance/Replay"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { UncontendedTime, until } from "@corral/testing/time/Until"
import type { Joined } from "@corral/testing/stack/Joined"
import { RunFollower } from "./RunFollower.ts"

/** Numbers that come again with the same seed. */
export interface Chance {
  readonly seed: number
  /** Whole, from 0, below that. */
  readonly below: (limit: number) => number
}

/** By `CORRAL_SEED` where it is set. A failing test tells its seed. */
export const chanceOf = (
  seed = Number(process.env["CORRAL_SEED"] ?? Math.floor(Math.random() * 1e9))
): Chance => {
  process.stderr.write(`seed ${seed}\n`)
  return { seed, below: randomNumbers(seed) }
}

const follow = (joined: Joined, runId: RunId): RunFollower =>
  new RunFollower(joined.front.url, joined.owner.token ?? "", runId)

/** Kills the Hub, and starts it again after a delay in milliseconds. */
export const restartHub = async (joined: Joined, downMs: number): Promise<void> => {
  await joined.hub.end("SIGKILL")
  await pause(downMs)
  await joined.hub.start()
  joined.found()
}

/** Kills the Edge and starts it again; it comes back by itself to the Hub. */
export const restartEdge = async (joined: Joined): Promise<void> => {
  await joined.edge.kill()
  await joined.edge.start()
}

/** Milliseconds of uncontended time until the Hub has what the Edge had when this was asked. */
export const resync = async (joined: Joined, runId: RunId): Promise<number> => {
  const { lastSeq } = await joined.edge.client.run(runId)
  const time = new UncontendedTime()
  await joined.runWith(runId, (run) => run.lastSeq >= lastSeq)
  return time.millis
}

/** Sends a run that waits between two parts into the next one, through the Hub. */
export const goOn = async (joined: Joined, runId: RunId): Promise<void> => {
  const response = await joined.owner.ask("POST", `/client/runs/${runId}/input`, { body: { text: "go on" } })
  assert.strictEqual(response.status, 200, response.text)
}

/**
 * A run of that many events, watched from its first one, while `trouble` is made until it has ended at the Edge. Each of several parts but
 * the first begins when the caller starts it.
 */
export const duringRun = async (
  joined: Joined,
  { events, parts = 1, rate }: { readonly events: number; readonly parts?: number; readonly rate: number },
  trouble: (runId: RunId) => Promise<void>
): Promise<RunFollower> => {
  const part = `/stream ${events / parts} ${rate} 40`
  const text = Array.from({ length: parts }, () => part).join("\n/wait\n")
  const { runId } = await joined.task({ text, mode: "full_access" })
  await joined.runWith(runId, ({ lastSeq }) => lastSeq > 0)
  const follower = follow(joined, runId)
  try {
    for (;;) {
      const { state } = await joined.edge.client.run(runId)
      if (state === "completed") break
      assert.include(["created", "starting", "running"], state)
      await trouble(runId)
    }
    await follower.ended(60_000)
    const { lastSeq } = await joined.edge.client.run(runId)
    assert.deepStrictEqual(follower.misplaced, [])
    assert.strictEqual(follower.last, lastSeq)
    assert.isAtLeast(lastSeq, events)
    assert.strictEqual(follower.types.at(-1), "run.completed")
    return follower
  } finally {
    follower.stop()
  }
}

/**
 * Tasks that each leave one line in a file when they are done, while `trouble` is made: none is done twice, and each ends in one state
 * at the Hub and at the Edge alike.
 */
export const duringTasks = async (
  joined: Joined,
  rounds: number,
  trouble: (round: number) => Promise<void>
): Promise<{ readonly completed: number; readonly failed: number }> => {
  const runIds = new Map<string, RunId>()
  const tally = { completed: 0, failed: 0 }
  for (let round = 0; round < rounds; round++) {
    const created = await until(
      async () => {
        const text = `/shell echo ${round} >> done.txt\n/sleep ${100 + (round % 7) * 40}\n/say done`
        const answer = await joined
          .tryTask({ text, mode: "full_access", onOffline: "queue" })
          .catch(() => undefined)
        return answer?.status === 201 ? answer.body : undefined
      },
      "a task that is taken",
      60_000
    )
    await trouble(round)
    const over = await joined.taskWith(created.id, ({ state }) => ["completed", "failed"].includes(state))
    assert.isDefined(over.runId)
    runIds.set(created.id, over.runId)
    tally[over.state === "completed" ? "completed" : "failed"]++
    const run = await joined.runWith(over.runId, ({ state }) => state === over.state)
    const here = await joined.edge.client.run(over.runId)
    assert.deepStrictEqual([here.state, here.lastSeq], [run.state, run.lastSeq])
  }
  assert.strictEqual(new Set(runIds.values()).size, rounds)
  const lines = readFileSync(join(joined.edge.workspace, "done.txt"), "utf8").trim().split("\n")
  assert.deepStrictEqual(lines, [...new Set(lines)], "a task was done twice")
  assert.isAtLeast(lines.length, tally.completed)
  return tally
}
