/**
 * Invalidation of cached data by changes of the Hub: visible data is read again, once for a burst of changes.
 *
 * Guarantees: what is shown was read after the change. The cache does not repeat a first read that is in progress, whose answer may be older
 * than the change; such data is read again as soon as it is there.
 */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { QueryClient, QueryFilters } from "@tanstack/react-query"

/** Groups of the contract whose lists change with a hint of this kind. */
const groupsByKind: { readonly [K in ChangeHint["kind"]]: ReadonlyArray<string> } = {
  device: ["devices"],
  approval: ["approvals", "runs"],
  input: ["inputs", "runs"],
  task: ["tasks"],
  run: ["runs", "sessions"],
  message: ["sessions"]
}

/** Delay that combines the hints of a burst. */
const BURST_MS = 250

export class Invalidation {
  private readonly client: QueryClient
  private readonly groups = new Set<string>()
  /** Hashes of queries that are read again after their first read. */
  private readonly repeated = new Set<string>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: QueryClient) {
    this.client = client
  }

  /** Invalidates what these changes concern, together with the other changes of a burst. */
  add(hints: ReadonlyArray<ChangeHint>): void {
    for (const { kind } of hints) for (const group of groupsByKind[kind]) this.groups.add(group)
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      for (const group of this.groups) this.invalidate({ queryKey: [group] })
      this.groups.clear()
    }, BURST_MS)
  }

  /** Invalidates all data. */
  addAll(): void {
    this.invalidate({})
  }

  private invalidate(filters: QueryFilters): void {
    const cache = this.client.getQueryCache()
    for (const { promise, queryHash, queryKey, state } of cache.findAll({
      ...filters,
      fetchStatus: "fetching"
    })) {
      if (state.data !== undefined || promise === undefined || this.repeated.has(queryHash)) continue
      this.repeated.add(queryHash)
      const repeat = () => {
        this.repeated.delete(queryHash)
        void this.client.invalidateQueries({ queryKey, exact: true })
      }
      promise.then(repeat, repeat)
    }
    void this.client.invalidateQueries(filters)
  }
}
