/** A run's log as a component sees it. */
import type { HubRun } from "@corral/domain/HubRun"
import { useMemo, useSyncExternalStore } from "react"
import { EventLog, type LogView } from "./EventLog.ts"

export const useRunLog = (runId: HubRun["id"]): readonly [LogView, EventLog] => {
  const log = useMemo(() => new EventLog(runId), [runId])
  return [useSyncExternalStore(log.subscribe, log.snapshot), log]
}
