/** One approval by its id. The contract has lists alone: it is looked for among those that wait, then among the rest. */
import type { HubApproval } from "@corral/domain/HubRun"
import { hub } from "../api/Hub.ts"

/** Pages of 200 that are looked through. */
const PAGES = 20

/** `null` where it is not found. */
export const findApproval = async (id: string, signal: AbortSignal): Promise<HubApproval | null> => {
  for (const state of [{ state: "pending" as const }, {}]) {
    let cursor: string | undefined
    for (let page = 0; page < PAGES; page++) {
      const query = { ...state, limit: 200, ...(cursor === undefined ? {} : { cursor }) }
      const { items, nextCursor } = await hub.approvals.list({ query, signal })
      const found = items.find((approval) => approval.id === id)
      if (found !== undefined) return found
      if (nextCursor === null) break
      cursor = nextCursor
    }
  }
  return null
}
