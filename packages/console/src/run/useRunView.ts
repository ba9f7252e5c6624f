/** React hooks for a followed run: the rarely changing summary, or the whole view. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMemo, useSyncExternalStore } from "react"
import { type FollowedRun, type FollowedRunSummary, RunFollower } from "./RunFollower.ts"

export const useFollowedRun = (runId: HubRun["id"]): readonly [FollowedRunSummary, RunFollower] => {
  const follower = useMemo(() => new RunFollower(runId), [runId])
  return [useSyncExternalStore(follower.subscribe, follower.summary), follower]
}

export const useRunView = (follower: RunFollower): FollowedRun =>
  useSyncExternalStore(follower.subscribe, follower.snapshot)
