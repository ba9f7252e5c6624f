/** The newest runs of the user, and all that are in progress: for marks of sessions, the board and the palette. */
import type { HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

const NEWEST = 50
/** Most runs of one state that are in progress. */
const MOST = 100

/** Old runs can be in one of these states. Runs that start are among the newest. */
const unfinished: ReadonlyArray<HubRunStatus> = ["queued", "running", "waiting_approval", "waiting_input"]

export const latestRunsQuery = queryOptions({
  queryKey: ["runs", "latest"],
  queryFn: async ({ signal }): Promise<ReadonlyArray<HubRun>> => {
    const newest = await hubApi.runs.list({ query: { limit: NEWEST }, signal })
    if (newest.nextCursor === null) return newest.items
    const older = await Promise.all(
      unfinished.map((state) => hubApi.runs.list({ query: { limit: MOST, state }, signal }))
    )
    const all = [newest, ...older].flatMap(({ items }) => items)
    return [...new Map(all.map((run) => [run.id, run])).values()]
  }
})

const none: ReadonlyArray<HubRun> = []

/** Empty while they load. */
export const useLatestRuns = (): ReadonlyArray<HubRun> => useQuery(latestRunsQuery).data ?? none
