/** A run's log as components see it: all of it, or only what changes rarely. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMemo, useSyncExternalStore } from "react"
import { EventLog, type LogSummary, type LogView } from "./EventLog.ts"

export const useRunLog = (runId: HubRun["id"]): readonly [LogSummary, EventLog] => {
  const log = useMemo(() => new EventLog(runId), [runId])
  return [useSyncExternalStore(log.subscribe, log.summary), log]
}

export const useLogView = (log: EventLog): LogView => useSyncExternalStore(log.subscribe, log.snapshot)
