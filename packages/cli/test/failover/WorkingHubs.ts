/** Three Hubs and a Gateway on a cluster, with a live run that a client follows, requests and chat messages of people, and pushes of devices. */
import { assert, onTestFinished } from "@effect/vitest"
import { PostgresCluster } from "./PostgresCluster.ts"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { duringRun } from "../joined/Chaos.ts"
import { Chats } from "../joined/Chats.ts"
import { SteadyChats } from "./SteadyChats.ts"
import { SteadyPushes } from "./SteadyPushes.ts"
import { SteadyWork } from "./SteadyWork.ts"

const EVENTS_PER_SECOND = 100
const HUBS = 3
/** How long the capacity is measured, with the other work. */
const CAPACITY_MS = 10_000
/** Share of the platform's 15 s and 5 minutes until it sends an event again. */
const RESEND = 0.01

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
  const chats = await Chats.open({
    joined: { databaseUrl: cluster.url, edge: { grants: ["full_access"] } },
    gatewayDatabaseUrl: cluster.url,
    fake: { ladder: RESEND }
  })
  onTestFinished(() => chats.remove())
  const { joined } = chats
  for (let count = 1; count < HUBS; count++) await joined.addHub()
  const pids = joined.hubs.map(({ pid }) => pid)
  const work = new SteadyWork(joined)
  await work.start()
  const talk = await SteadyChats.open(chats)
  talk.start()
  const pushes = await SteadyPushes.open(joined, cluster.url)
  const capacity = await pushes.capacity(CAPACITY_MS)
  pushes.start(capacity / 2)
  await duringRun(joined, { events: seconds * EVENTS_PER_SECOND, rate: EVENTS_PER_SECOND }, () =>
    trouble({ cluster, joined })
  )
  await Promise.all([pushes.stop(), talk.stop(), work.stop()])
  await pushes.check()
  await talk.check()
  await work.check()
  process.stderr.write(
    `${work.tasks.length} tasks, ${work.messages.length} messages, ${work.decided.size} decisions, ${work.repeated} repeated requests; ` +
      `${talk.accepted.length} chat messages, ${talk.repeated} repeated; ${pushes.acknowledged} events, ${pushes.repeated} repeated pushes, ` +
      `at half of ${capacity.toFixed(0)} pushes a second\n`
  )
  assert.deepStrictEqual(
    joined.hubs.map(({ pid }) => pid),
    pids
  )
  for (const pid of pids) assert.doesNotThrow(() => process.kill(pid, 0))
}
