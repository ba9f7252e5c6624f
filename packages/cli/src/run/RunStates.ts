/** The states of runs as people choose and see them, at an Edge and at a Hub. */
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { isTerminal } from "@corral/domain/run/Run"

/** A state that only a Hub knows. */
export const isHubStatus = (state: HubRunStatus): state is "queued" => state === "queued"

export const hasEnded = (state: HubRunStatus): boolean => !isHubStatus(state) && isTerminal(state)
