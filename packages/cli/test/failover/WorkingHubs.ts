/** Three Hubs on a cluster, with a live run that a client follows, and requests of people. */
import { assert, onTestFinished } from "@effect/vitest"
import { PostgresCluster } from "@corral/testing/cluster/PostgresCluster"
import { type Joined, openJoined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { duringRun } from "../joined/Chaos.ts"
import { SteadyWork } from "./SteadyWork.ts"

const EVENTS_PER_SECOND = 100
const HUBS = 3

/** Milliseconds until a Hub accepts a write again. */
export const untilWritable = async (joined: Joined): Promise<number> => {
  const startedAt = performance.now()
  await until(
    async () => {
      const answer = await joined.owner
        .ask("POST", "/client/sessions", { body: { projectId: joined.projectId, title: "Probe" } })
        .catch(() => undefined)
      return answer?.status === 201 ? true : undefined
    },
    "a write",
    120_000
  )
  return performance.now() - startedAt
}

export interface WorkingHubs {
  readonly cluster: PostgresCluster
  readonly joined: Joined
}

/**
 * Calls `trouble` again and again while a run streams for that long. Nothing acknowledged may be lost or doubled by its end, no Hub may have been
 * restarted, and the run's follower has every event once.
 */
export const duringWork = async (
  { diskMegabytes, seconds }: { readonly diskMegabytes?: number; readonly seconds: number },
  trouble: (hubs: WorkingHubs) => Promise<void>
): Promise<void> => {
  const cluster = await PostgresCluster.open(diskMegabytes === undefined ? {} : { diskMegabytes })
  onTestFinished(() => cluster.close())
  const joined = await openJoined({ databaseUrl: cluster.url, edge: { grants: ["full_access"] } })
  for (let count = 1; count < HUBS; count++) await joined.addHub()
  const pids = joined.hubs.map(({ pid }) => pid)
  const work = new SteadyWork(joined)
  await work.start()
  await duringRun(joined, { events: seconds * EVENTS_PER_SECOND, rate: EVENTS_PER_SECOND }, () =>
    trouble({ cluster, joined })
  )
  await work.stop()
  await work.check()
  process.stderr.write(
    `${work.tasks.length} tasks, ${work.messages.length} messages, ${work.decided.size} decisions, ${work.repeated} repeated requests\n`
  )
  assert.deepStrictEqual(
    joined.hubs.map(({ pid }) => pid),
    pids
  )
  for (const pid of pids) assert.doesNotThrow(() => process.kill(pid, 0))
}
