/** Run states on an Edge and on a Hub. */
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { isTerminal } from "@corral/domain/run/RunEnd"

/** Whether only a Hub has this state. */
export const isHubStatus = (state: HubRunStatus): state is "queued" => state === "queued"

export const hasEnded = (state: HubRunStatus): boolean => !isHubStatus(state) && isTerminal(state)
