/**
 * Change feed of the Hub, `/client/news`: invalidates the queries of changed data, so that visible data is read again. The first reads of a page wait
 * for the connection. After a lost connection it reconnects and invalidates all queries. Hints also go to one listener.
 */
import { CorralError } from "@corral/client/http/CorralError"
import { hubChanges } from "@corral/client/Hub"
import type { ConnectionState } from "@corral/client/stream/Reconnection"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { type QueryClient, type QueryFilters, useQueryClient } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import { hubTransport, readHold } from "./Hub.ts"

/** A device, approval, question or run in cached data. */
interface Row {
  readonly id?: unknown
  readonly state?: unknown
  readonly lastSeenAt?: unknown
  readonly pendingApprovals?: ReadonlyArray<unknown>
  readonly pendingInputs?: ReadonlyArray<unknown>
}

/** Rows of a list, a page, several pages, or one resource. */
const rowsOf = (data: unknown): ReadonlyArray<Row> => {
  if (Array.isArray(data)) return data
  if (typeof data !== "object" || data === null) return []
  if ("pages" in data && Array.isArray(data.pages)) return data.pages.flatMap(rowsOf)
  return "items" in data && Array.isArray(data.items) ? data.items : [data]
}

/** Whether a row is the resource in the same state, or its run that waits for it. A set has more than its state. */
const isSameState = (row: Row, hint: ChangeHint): boolean => {
  switch (hint.kind) {
    case "device":
      // With the same heartbeat, the device has reported nothing since.
      return row.id === hint.id && row.state === hint.state && row.lastSeenAt === hint.lastSeenAt
    case "approval":
    case "input": {
      if (hint.state !== "pending") return false
      const waiting = hint.kind === "approval" ? row.pendingApprovals : row.pendingInputs
      return row.id === hint.id ? row.state === hint.state : waiting?.includes(hint.id) === true
    }
    default:
      return false
  }
}

const isSaidBy = (hint: ChangeHint, data: unknown): boolean =>
  rowsOf(data).some((row) => isSameState(row, hint))

/** Whether cached data contain what a hint of the change feed says. `others`: cached data of the same group. */
const isReflected = (hint: ChangeHint, data: unknown, others: ReadonlyArray<unknown> = []): boolean =>
  isSaidBy(hint, data) ||
  (hint.kind === "device" &&
    data !== undefined &&
    !rowsOf(data).some(({ id }) => id === hint.id) &&
    others.some((other) => isSaidBy(hint, other)))

/** Groups of the contract whose lists change with a hint of this kind. */
const groupsByKind: { readonly [K in ChangeHint["kind"]]: ReadonlyArray<string> } = {
  device: ["devices"],
  approval: ["approvals", "runs"],
  input: ["inputs", "runs"],
  changes: ["changeSets", "runs", "sessions", "taskGroups"],
  task: ["tasks", "taskGroups"],
  run: ["runs", "sessions", "taskGroups"],
  message: ["sessions"],
  limit: ["usage"],
  preferences: ["preferences"]
}

/** Delay that combines the hints of a burst. */
const BURST_MS = 250

/** Whether cached data need no further read. */
type IsCurrent = (data: unknown) => boolean

const neverCurrent: IsCurrent = () => false

/**
 * Invalidation of cached data by changes of the Hub: visible data is read again, once for a burst of changes.
 *
 * Guarantees: what is shown was read after the change. The cache does not repeat a first read that is in progress, whose answer may be older
 * than the change; such data is read again as soon as it is there. The present state, with which a connection begins, reads nothing again that
 * contains it: the lists of a page that has just opened. A list without a resource is taken as older than the hint, but for a device: a list of
 * a project has only those that are shared with it.
 */
export class Invalidation {
  private readonly client: QueryClient
  /** Hints of a burst by the groups that they concern. */
  private readonly due = new Map<string, Array<IsCurrent>>()
  /** Resources with a hint since the connection began. The first one may be the present state. */
  private readonly hinted = new Set<string>()
  /** By the hashes of queries that are in their first read: what may need another one after it. */
  private readonly repeated = new Map<string, Array<IsCurrent>>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: QueryClient) {
    this.client = client
  }

  /** Invalidates what these changes concern, together with the other changes of a burst. */
  add(hints: ReadonlyArray<ChangeHint>): void {
    for (const hint of hints) {
      const isFirst = this.isFirst(hint)
      for (const group of groupsByKind[hint.kind]) {
        const isCurrent = isFirst
          ? (data: unknown) => isReflected(hint, data, this.cached(group))
          : neverCurrent
        const due = this.due.get(group)
        if (due === undefined) this.due.set(group, [isCurrent])
        else due.push(isCurrent)
      }
    }
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      for (const [group, due] of this.due)
        this.invalidate({ queryKey: [group] }, (data) => due.every((isCurrent) => isCurrent(data)))
      this.due.clear()
    }, BURST_MS)
  }

  /** Invalidates all data that was read without a connection. */
  addAll(): void {
    this.hinted.clear()
    this.invalidate({}, neverCurrent)
  }

  private cached(group: string): ReadonlyArray<unknown> {
    return this.client.getQueriesData({ queryKey: [group] }).map(([, data]) => data)
  }

  private isFirst({ id, kind }: ChangeHint): boolean {
    const key = `${kind} ${id}`
    const isFirst = !this.hinted.has(key)
    this.hinted.add(key)
    return isFirst
  }

  private invalidate(filters: QueryFilters, isCurrent: IsCurrent): void {
    const cache = this.client.getQueryCache()
    for (const query of cache.findAll({ ...filters, fetchStatus: "fetching" })) {
      const { promise, queryHash, queryKey, state } = query
      if (state.data !== undefined || promise === undefined) continue
      const waiting = this.repeated.get(queryHash)
      if (waiting !== undefined) {
        waiting.push(isCurrent)
        continue
      }
      const all = [isCurrent]
      this.repeated.set(queryHash, all)
      const repeat = () => {
        this.repeated.delete(queryHash)
        if (!all.every((each) => each(query.state.data)))
          void this.client.invalidateQueries({ queryKey, exact: true })
      }
      promise.then(repeat, repeat)
    }
    void this.client.invalidateQueries({ ...filters, predicate: ({ state }) => !isCurrent(state.data) })
  }
}

type OnHints = (hints: ReadonlyArray<ChangeHint>) => void

/** Connection to the Hub. */
export interface FeedConnection {
  readonly live: boolean
  /** When the Hub was last heard, where the connection is lost. */
  readonly heardAt: Date | undefined
}

interface Listeners {
  readonly onConnectionChange: (connection: FeedConnection) => void
  readonly onHints: OnHints
}

/** Follows the change feed until the signal aborts. */
export const followChanges = async (
  client: QueryClient,
  signal: AbortSignal,
  { onHints, onConnectionChange }: Listeners
): Promise<void> => {
  const staleness = new Invalidation(client)
  let latest: FeedConnection = { live: true, heardAt: undefined }
  const onConnection = (state: ConnectionState, heardAt: Date | undefined) => {
    latest = { live: state === "live", heardAt }
    onConnectionChange(latest)
    const wasHeld = readHold.release()
    if (state === "live" && !wasHeld) staleness.addAll()
  }
  try {
    for await (const hints of hubChanges(hubTransport, { signal, onConnection })) {
      staleness.add(hints)
      onHints(hints)
    }
  } catch (error) {
    if (signal.aborted) return
    readHold.release()
    onConnectionChange({ ...latest, live: false })
    if (error instanceof CorralError && error.code === "unauthorized")
      void client.resetQueries({ queryKey: ["auth"] })
  }
}

/** Follows the change feed while mounted. */
export const useChangeFeed = (onHints: OnHints): FeedConnection => {
  const client = useQueryClient()
  const [connection, setConnection] = useState<FeedConnection>({ live: true, heardAt: undefined })
  const latest = useRef(onHints)
  useEffect(() => {
    latest.current = onHints
  })
  useEffect(() => {
    const stop = new AbortController()
    const listeners: Listeners = {
      onConnectionChange: setConnection,
      onHints: (hints) => latest.current(hints)
    }
    void followChanges(client, stop.signal, listeners)
    return () => stop.abort()
  }, [client])
  return connection
}
