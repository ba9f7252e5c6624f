/**
 * Change feed of the Hub: which approvals, change sets, devices, messages, questions, runs and tasks have changed, and which limits are nearly used
 * up, for every reader in this process who may see them.
 *
 * A notice names what may have changed; the feed reads its state and its readers in one statement. Guarantees: a reader receives the
 * present state first, then states in the order in which they occurred. When notices may have been missed, the feed ends its readers:
 * they reconnect and receive the present state.
 *
 * A reader holds the changes that it has not taken yet: the last one of each resource. A slow reader costs at most `MAX_WAITING`
 * changes. A reader that takes nothing for the stall time is ended.
 */
import { type ChangeHint, MAX_INITIAL_HINTS } from "@corral/domain/hub-api/ChangeHint"
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Coalesced } from "@corral/service/Coalesced"
import { SSE_COMMENT } from "@corral/service/stream/ServerSentEvents"
import { StreamTimes, type StreamTimesOptions } from "@corral/service/stream/StreamTimes"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Devices } from "../device/Devices.ts"
import { hubMetrics } from "../HubMetrics.ts"
import { type NoticeKind, Notices } from "../store/Notices.ts"
import {
  type AddressedChange,
  changedDevices,
  changedInProjects,
  changedLimits,
  decidedKinds,
  endedLeases,
  pendingRequests,
  presentIn,
  recentLimits
} from "./ChangeQueries.ts"

export class ChangeReader {
  readonly userId: UserId
  private readonly now: () => number
  private readonly onEnd: () => void
  private readonly times: StreamTimesOptions
  private readonly more: Coalesced
  private readonly waiting = new Map<string, ChangeHint>()
  /** Unix milliseconds since when the reader has not asked for more; `undefined` while it waits for changes. */
  private busySince: number | undefined
  private hasEnded = false

  /** `onEnd` is called once, when the reader must not continue. */
  static readonly make = (
    userId: UserId,
    now: () => number,
    onEnd: () => void
  ): Effect.Effect<ChangeReader> =>
    Effect.gen(function* () {
      return new ChangeReader(userId, now, onEnd, yield* StreamTimes, yield* Coalesced.make)
    })

  private constructor(
    userId: UserId,
    now: () => number,
    onEnd: () => void,
    times: StreamTimesOptions,
    more: Coalesced
  ) {
    this.userId = userId
    this.now = now
    this.onEnd = onEnd
    this.times = times
    this.more = more
  }

  add(change: ChangeHint): void {
    this.waiting.set(change.id, change)
    if (this.waiting.size > MAX_WAITING) this.end()
    this.more.wake()
  }

  /** Removes the waiting changes of a project, and of devices: the caller checks again whether the reader may see them. */
  withdraw(projectId: ProjectId): ReadonlyArray<ChangeHint> {
    const withdrawn = [...this.waiting.values()].filter(
      (change) => change.kind === "device" || ("projectId" in change && change.projectId === projectId)
    )
    for (const { id } of withdrawn) this.waiting.delete(id)
    return withdrawn
  }

  /** Next part of the `text/event-stream`. Waits for a change, at most until the next comment is due. */
  get next(): Effect.Effect<string> {
    return Effect.map(this.changes, textOf)
  }

  /** Next changes, at most `MAX_PART`. Waits for one, at most until the next comment of a stream is due: then there are none. */
  readonly changes: Effect.Effect<ReadonlyArray<ChangeHint>> = Effect.suspend(() => {
    this.busySince = undefined
    if (this.waiting.size > 0) return Effect.succeed(this.take())
    return this.more.woken.pipe(
      Effect.timeoutOption(this.times.pingEveryMs),
      Effect.map(() => this.take())
    )
  })

  /** Ends a stalled reader. Called every few seconds. */
  tick(): void {
    if (this.busySince !== undefined && this.now() - this.busySince > this.times.stalledAfterMs) this.end()
  }

  end(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.waiting.clear()
    this.onEnd()
  }

  private take(): ReadonlyArray<ChangeHint> {
    this.busySince = this.now()
    const changes = [...this.waiting.values()].slice(0, MAX_PART)
    for (const { id } of changes) this.waiting.delete(id)
    return changes
  }
}

const textOf = (changes: ReadonlyArray<ChangeHint>): string =>
  changes.length === 0 ? SSE_COMMENT : changes.map((change) => `data: ${JSON.stringify(change)}\n\n`).join("")

/** A reader with more waiting changes is ended: it receives the present state when it reconnects. */
const MAX_WAITING = 10_000
/** Changes of one part of the stream. */
const MAX_PART = 500

export class ChangeFeed extends Context.Service<
  ChangeFeed,
  {
    /** Sends the present state, then changes, until the returned function is called. */
    readonly follow: (reader: ChangeReader) => () => void
  }
>()("corral/hub/ChangeFeed") {
  static readonly layer = Layer.effect(
    ChangeFeed,
    Effect.gen(function* () {
      const state = yield* feedState
      const { joining, readers } = state
      const notices = yield* Notices
      const metrics = yield* CurrentMetrics
      metrics.sample(Effect.sync(() => [[hubMetrics.news, readers.size]]))
      const endAll = () => readers.forEach((reader) => reader.end())

      yield* state.passes.run(publishDue(state), (cause) =>
        // Changes that could not be read are missed.
        Effect.andThen(Effect.logWarning("failed to publish changes", cause), Effect.sync(endAll))
      )
      yield* checkReaders(state).pipe(
        Effect.ignore,
        Effect.andThen(Effect.sleep("5 seconds")),
        Effect.forever,
        Effect.forkScoped
      )
      notices.follow({ onNotice: (kind, id) => noteChange(state, kind, id), onMissed: endAll })

      return ChangeFeed.of({
        follow: (reader) => {
          readers.add(reader)
          joining.add(reader)
          state.wake()
          return () => {
            readers.delete(reader)
            joining.delete(reader)
          }
        }
      })
    })
  )
}

type Resource =
  | "approval"
  | "changes"
  | "device"
  | "input"
  | "limit"
  | "message"
  | "preferences"
  | "project"
  | "run"
  | "task"

type FeedState = Effect.Success<typeof feedState>

const feedState = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const passes = yield* Coalesced.make
  return {
    sql: yield* SqlClient.SqlClient,
    devices: yield* Devices,
    now: () => clock.currentTimeMillisUnsafe(),
    readers: new Set<ChangeReader>(),
    /** Readers that have not received the present state. */
    joining: new Set<ChangeReader>(),
    /** Ids of resources that may have changed. */
    due: {
      approval: new Set<string>(),
      changes: new Set<string>(),
      device: new Set<string>(),
      input: new Set<string>(),
      limit: new Set<string>(),
      message: new Set<string>(),
      preferences: new Set<string>(),
      project: new Set<string>(),
      run: new Set<string>(),
      task: new Set<string>()
    } satisfies Record<Resource, Set<string>>,
    /** Devices that readers saw online: the end of a lease is a change without a notice. */
    online: new Set<string>(),
    passes,
    wake: passes.wake
  }
})

/** Marks what a notice names as due. */
const noteChange = ({ due, readers, wake }: FeedState, kind: NoticeKind, id: string): void => {
  const resource = resourceOf[kind]
  if (resource === undefined || readers.size === 0) return
  if (resource === "project")
    for (const reader of readers)
      // That channel carries only ids of projects.
      for (const change of reader.withdraw(id as ProjectId)) due[change.kind].add(noticedId(change))
  due[resource].add(id)
  wake()
}

/** Sends the present state to new readers, and due changes to all who may see them. */
const publishDue = Effect.fnUntraced(function* (state: FeedState) {
  const { due, joining, now, readers, sql } = state
  const joined = [...joining]
  joining.clear()
  yield* Effect.forEach(joined, (reader) => sendPresent(state, reader), { concurrency: 4, discard: true })
  const projects = take(due.project)
  if (projects.length > 0) for (const { id, kind } of yield* presentIn(sql, projects)) due[kind].add(id)
  // Of the readers after each `take`: one who has joined before a notice must receive its change.
  const userIds = () => [...new Set([...readers].map(({ userId }) => userId))]
  publish(
    state,
    // That channel carries only ids of users.
    take(due.preferences).map((id) => ({
      to: [id as UserId],
      change: { kind: "preferences", id: id as UserId }
    }))
  )
  const devices = take(due.device)
  if (devices.length > 0) publish(state, yield* changedDevices(sql, devices, userIds(), now()))
  const limits = take(due.limit)
  if (limits.length > 0) publish(state, yield* changedLimits(sql, limits, userIds()))
  const changed = {
    approvals: take(due.approval),
    changes: take(due.changes),
    inputs: take(due.input),
    runs: take(due.run),
    tasks: take(due.task),
    messages: take(due.message)
  }
  if (Object.values(changed).some(({ length }) => length > 0))
    publish(state, yield* changedInProjects(sql, changed, userIds()))
  if (Object.values(due).some(({ size }) => size > 0)) state.wake()
})

const sendPresent = Effect.fnUntraced(function* (state: FeedState, reader: ChangeReader) {
  const { userId } = reader
  for (const device of yield* state.devices.list(userId, undefined, undefined, MAX_INITIAL_HINTS)) {
    const { id, lastSeenAt, state: presence } = device
    const change = {
      kind: "device",
      id,
      state: presence,
      ...(lastSeenAt === undefined ? {} : { lastSeenAt })
    } as const
    noteOnline(state, change)
    reader.add(change)
  }
  for (const change of yield* recentLimits(state.sql, userId, state.now())) reader.add(change)
  for (const kind of decidedKinds)
    for (const change of yield* pendingRequests(state.sql, kind, userId)) reader.add(change)
})

const publish = (state: FeedState, changes: ReadonlyArray<AddressedChange>): void => {
  for (const { change, to } of changes) {
    noteOnline(state, change)
    for (const reader of state.readers)
      if (to === "everyone" || to.includes(reader.userId)) reader.add(change)
  }
}

const noteOnline = ({ online }: FeedState, { id, kind, ...change }: ChangeHint): void => {
  if (kind !== "device") return
  if ("state" in change && change.state === "online") online.add(id)
  else online.delete(id)
}

/** Ends stalled readers, and finds leases that have run out. */
const checkReaders = Effect.fnUntraced(function* ({ due, now, online, readers, sql, wake }: FeedState) {
  readers.forEach((reader) => reader.tick())
  if (readers.size === 0) online.clear()
  if (online.size === 0) return
  const ended = yield* endedLeases(sql, [...online], now())
  for (const id of ended) due.device.add(id)
  if (ended.length > 0) wake()
})

/** Resource that each notice names. */
const resourceOf: Partial<Record<NoticeKind, Resource>> = {
  approval: "approval",
  changes: "changes",
  deviceEnded: "device",
  input: "input",
  limit: "limit",
  message: "message",
  membership: "project",
  preferences: "preferences",
  presence: "device",
  runState: "run",
  task: "task"
}

/** The id as a notice names it: a message with its session, and a limit with its day. */
const noticedId = (change: ChangeHint): string => {
  if (change.kind === "message") return `${change.sessionId} ${change.id}`
  return change.kind === "limit" ? `${change.id} ${change.day}` : change.id
}

/** Ids of one statement. */
const MAX_IDS = 1_000

const take = (ids: Set<string>): ReadonlyArray<string> => {
  const first = [...ids].slice(0, MAX_IDS)
  for (const id of first) ids.delete(id)
  return first
}
