/** End of background work, from an agent's word for its state. */
import type { WorkEnding } from "../output/OutstandingWork.ts"

/** `undefined` while the work continues. */
export const workEndingOf = (state: unknown): WorkEnding | undefined => {
  switch (state) {
    case "completed":
    case "failed":
      return state
    case "stopped":
    case "cancelled":
    case "killed":
      return "stopped"
    default:
      return undefined
  }
}
