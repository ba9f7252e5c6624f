/** What the session list shows: all sessions, those that need the user, unread ones or archived ones. Pure. */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { SessionItem } from "@corral/domain/session/Session"
import type { WorkStatus } from "../status/SessionStatus.ts"

export const sessionViews = ["all", "needsYou", "unread", "archived"] as const
export type SessionView = (typeof sessionViews)[number]

export const isInView = (
  { id, unread = 0 }: SessionItem,
  view: SessionView,
  statuses: ReadonlyMap<SessionId, WorkStatus>
): boolean => {
  switch (view) {
    case "needsYou":
      return statuses.get(id) === "needsYou"
    case "unread":
      return unread > 0
    default:
      return true
  }
}
