/** A limit for ten runs, 200 starts on two Hubs that are killed at random: ten start, and everything that they did not use is returned. */
import { assert, describe, it } from "@effect/vitest"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import type { ProjectLimits } from "@corral/domain/usage/Limit"
import type { UsageReport } from "@corral/domain/usage/UsageReport"
import { codeOf } from "@corral/testing/http/Contract"
import { HubClient } from "@corral/testing/hub/HubClient"
import { query } from "@corral/testing/postgres/PostgresServer"
import { type Joined, openJoined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { setTimeout as pause } from "node:timers/promises"
import { chanceOf, type Chance } from "./Chaos.ts"

const STARTS = 200
const AT_ONCE = 8
const RUN_TOKENS = 100
const LIMIT = 10 * RUN_TOKENS

const clientAt = (joined: Joined, index: number): HubClient => {
  const hub = joined.hubs[index % joined.hubs.length]
  assert.isDefined(hub)
  return new HubClient(hub.url, joined.owner.token, joined.owner.userId)
}

/** Repeats a start at both Hubs until one of them decides it. `undefined`: refused because of the limit. */
const start = async (joined: Joined, index: number): Promise<Task | undefined> => {
  const headers = { "idempotency-key": `start-${index}` }
  const text = "/use 40\n/wait\n/use 60\n/say done"
  let attempt = index
  const decided = await until(
    async () => {
      const answer = await joined
        .tryTask({ text, mode: "full_access", onOffline: "queue", headers }, clientAt(joined, attempt++))
        .catch(() => undefined)
      if (answer?.status === 201) return { task: answer.body }
      return answer !== undefined && codeOf(answer) === "budget_exceeded" ? { task: undefined } : undefined
    },
    `the start ${index} decided`,
    120_000
  )
  return decided.task
}

/** Kills one of the Hubs while the starts of a wave are decided, and starts it again. */
const killOne = async (joined: Joined, chance: Chance): Promise<void> => {
  await pause(chance.below(200))
  const hub = joined.hubs[chance.below(joined.hubs.length)]
  assert.isDefined(hub)
  await hub.end("SIGKILL")
  await pause(chance.below(300))
  await hub.start()
  joined.found()
}

const committed = async (joined: Joined): Promise<number> => {
  const [row] = await query(
    joined.hub.databaseUrl ?? "",
    "SELECT COALESCE(sum(GREATEST(reserved_tokens, input_tokens + output_tokens)), 0)::int AS tokens FROM run_usage"
  )
  return Number(row?.["tokens"])
}

describe("A limit for ten runs", { timeout: 600_000 }, () => {
  it("is never exceeded by 200 starts on two Hubs that are killed at random", async () => {
    const chance = chanceOf()
    const joined = await openJoined({ hubs: 2, edge: { grants: ["full_access"] } })
    const project = `/client/projects/${joined.projectId}`
    const put = async (method: "PATCH" | "PUT", path: string, body: object) => {
      const answer = await joined.owner.ask(method, path, { body })
      assert.strictEqual(answer.status, 200, answer.text)
    }
    await put("PATCH", project, { runBudget: { tokens: RUN_TOKENS } })
    await put("PUT", `${project}/limits/everyone`, { tokens: LIMIT })

    const accepted: Array<Task> = []
    let [next, refused, largest] = [0, 0, 0]
    const startNext = async (): Promise<void> => {
      const task = await start(joined, next++)
      if (task === undefined) refused++
      else accepted.push(task)
      largest = Math.max(largest, await committed(joined))
    }
    for (let wave = 0; wave < STARTS / AT_ONCE; wave++)
      await Promise.all([killOne(joined, chance), ...Array.from({ length: AT_ONCE }, startNext)])

    /** The runs of the accepted tasks, once each task has started or failed. */
    const runIds = await until(
      async () => {
        const tasks = await Promise.all(
          accepted.map(({ id }) => joined.owner.ask<Task>("GET", `/client/tasks/${id}`))
        )
        const states = tasks.map(({ body }) => body)
        return states.every(({ state }) => state === "running" || state === "failed")
          ? states.flatMap(({ runId, state }): ReadonlyArray<RunId> =>
              state === "running" && runId !== undefined ? [runId] : []
            )
          : undefined
      },
      "the accepted tasks started",
      180_000
    )
    process.stderr.write(
      `${STARTS / AT_ONCE} kills, ${accepted.length} accepted, ${refused} refused, at most ${largest} reserved\n`
    )
    assert.lengthOf(runIds, 10)
    assert.isAtMost(largest, LIMIT)
    assert.strictEqual(await committed(joined), LIMIT)

    for (const runId of runIds) {
      await joined.runWith(runId, ({ state }) => state === "running")
      const sent = await joined.owner.ask("POST", `/client/runs/${runId}/input`, { body: { text: "go on" } })
      assert.strictEqual(sent.status, 200, sent.text)
    }
    const runs = await Promise.all(
      runIds.map((runId) => joined.runWith(runId, ({ state }) => state === "failed" || state === "completed"))
    )
    assert.deepStrictEqual(new Set(runs.map(({ error }) => error?.code)), new Set(["budget_exceeded"]))
    const { body: limits } = await joined.owner.ask<ProjectLimits>("GET", `${project}/limits`)
    const today = limits.today.find(({ subject }) => subject === "everyone")
    assert.deepInclude<object>(today ?? {}, {
      used: { costUsd: 0, tokens: LIMIT },
      reserved: { costUsd: 0, tokens: 0 },
      state: "reached"
    })
    const { body: usage } = await joined.owner.ask<UsageReport>("GET", "/client/usage?by=agent")
    const atEdge = await Promise.all(runIds.map((runId) => joined.edge.client.run(runId)))
    const tokens = atEdge.reduce(
      (sum, { usage = {} }) => sum + (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0),
      0
    )
    assert.strictEqual(usage.total.inputTokens + usage.total.outputTokens, tokens)
  })
})
