/** Run that works in the background, as the Hub shows it. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"

/** Whether the agent has ended its turn, and has one work outstanding. */
export const isInBackground = ({ outstanding, state, turn }: HubRun): boolean =>
  state === "running" && turn === "idle" && outstanding?.count === 1
