/** Condition of SQL statements for rows of runs that have not ended. */
import { liveStates } from "@corral/domain/run/RunEnd"

export const hasLiveState = `state IN (${liveStates.map((state) => `'${state}'`).join(", ")})`
