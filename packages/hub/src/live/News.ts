/**
 * What changes at the Hub, to everyone in this process who may see it. Notices of other services say where to look; what is found there is
 * told to whoever may see it then.
 *
 * One thing after the other: a reader is told of states in the order in which they were. Where changes may have been missed readers are
 * ended, because whoever comes is told the present state first.
 */
import { type HubNews, PRESENT_NEWS } from "@corral/domain/hub-api/HubNews"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { Devices } from "../device/Devices.ts"
import { hubMetrics } from "../HubMetrics.ts"
import type { NoticeKind } from "../store/Notice.ts"
import { type AddressedNews, deviceNews, pendingNews, projectNews, standingIn } from "./AddressedNews.ts"
import type { NewsReader } from "./NewsReader.ts"
import { Notices } from "../store/Notices.ts"

export class News extends Context.Service<
  News,
  {
    /** Tells the reader the present state, then changes, until the returned function is called. */
    readonly follow: (reader: NewsReader) => () => void
  }
>()("corral/hub/News") {
  static readonly layer = Layer.effect(
    News,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const devices = yield* Devices
      const notices = yield* Notices
      const now = () => clock.currentTimeMillisUnsafe()
      const readers = new Set<NewsReader>()
      const metrics = yield* CurrentMetrics
      metrics.sample(Effect.sync(() => [[hubMetrics.news, readers.size]]))
      const coming = new Set<NewsReader>()
      /** Ids of what may have changed. */
      const due = {
        approval: new Set<string>(),
        device: new Set<string>(),
        project: new Set<string>(),
        run: new Set<string>(),
        task: new Set<string>()
      }
      const more = yield* Queue.sliding<void>(1)
      const wake = () => void Queue.offerUnsafe(more, undefined)

      /** Devices that readers were told are online: whose lease ends must be told, whenever that was written. */
      const online = new Set<string>()
      const note = ({ id, kind, ...news }: HubNews) => {
        if (kind !== "device") return
        if ("state" in news && news.state === "online") online.add(id)
        else online.delete(id)
      }

      const tellPresent = Effect.fnUntraced(function* (reader: NewsReader) {
        const { userId } = reader
        for (const device of yield* devices.list(userId, undefined, undefined, PRESENT_NEWS)) {
          const { id, lastSeenAt, state } = device
          const news = {
            kind: "device",
            id,
            state,
            ...(lastSeenAt === undefined ? {} : { lastSeenAt })
          } as const
          note(news)
          reader.told(news)
        }
        for (const news of yield* pendingNews(sql, userId)) reader.told(news)
      })

      const tell = (found: ReadonlyArray<AddressedNews>) => {
        for (const { news, to } of found) {
          note(news)
          for (const reader of readers) if (to === "everyone" || to.includes(reader.userId)) reader.told(news)
        }
      }

      const turn = Effect.gen(function* () {
        const came = [...coming]
        coming.clear()
        yield* Effect.forEach(came, tellPresent, { concurrency: 4, discard: true })
        const projects = take(due.project)
        if (projects.length > 0)
          for (const { id, kind } of yield* standingIn(sql, projects)) due[kind].add(id)
        const userIds = [...new Set([...readers].map(({ userId }) => userId))]
        const found = take(due.device)
        if (found.length > 0) tell(yield* deviceNews(sql, found, userIds, now()))
        const moved = { approvals: take(due.approval), runs: take(due.run), tasks: take(due.task) }
        if (Object.values(moved).some(({ length }) => length > 0))
          tell(yield* projectNews(sql, moved, userIds))
        if (Object.values(due).some(({ size }) => size > 0)) wake()
      })

      const endAll = () => readers.forEach((reader) => reader.end())

      yield* Queue.take(more).pipe(
        Effect.andThen(turn),
        // What could not be read was missed.
        Effect.catch((error) =>
          Effect.andThen(Effect.logWarning("news are not told", error), Effect.sync(endAll))
        ),
        Effect.forever,
        Effect.forkScoped
      )

      /** Nobody tells that a lease has run out. */
      const look = Effect.gen(function* () {
        readers.forEach((reader) => reader.tick())
        if (readers.size === 0) online.clear()
        if (online.size === 0) return
        const ended = yield* sql<{ readonly id: DeviceId }>`
          SELECT id FROM devices WHERE id = ANY(${[...online]}::text[])
            AND (revoked_at IS NOT NULL OR lease_until IS NULL OR lease_until <= ${new Date(now())})`
        for (const { id } of ended) due.device.add(id)
        if (ended.length > 0) wake()
      })
      yield* look.pipe(
        Effect.ignore,
        Effect.andThen(Effect.sleep("5 seconds")),
        Effect.forever,
        Effect.forkScoped
      )

      notices.follow({
        onNotice: (kind, id) => {
          const told = toldBy[kind]
          if (told === undefined || readers.size === 0) return
          if (told === "project")
            for (const reader of readers)
              // That channel tells ids of projects alone.
              for (const news of reader.withdraw(id as ProjectId)) due[news.kind].add(news.id)
          due[told].add(id)
          wake()
        },
        onMissed: endAll
      })

      return News.of({
        follow: (reader) => {
          readers.add(reader)
          coming.add(reader)
          wake()
          return () => {
            readers.delete(reader)
            coming.delete(reader)
          }
        }
      })
    })
  )
}

/** What to look at for each notice. */
const toldBy: Partial<Record<NoticeKind, "approval" | "device" | "project" | "run" | "task">> = {
  approval: "approval",
  deviceEnded: "device",
  membership: "project",
  presence: "device",
  runState: "run",
  task: "task"
}

/** Ids of one statement. */
const AT_ONCE = 1_000

const take = (ids: Set<string>): ReadonlyArray<string> => {
  const taken = [...ids].slice(0, AT_ONCE)
  for (const id of taken) ids.delete(id)
  return taken
}
