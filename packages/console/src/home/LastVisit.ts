/**
 * Time of the last visit of the home page in this browser. A visit continues until the page was not open for half an hour.
 */
import { useEffect, useState } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"

/** Time without the page that ends a visit. */
const PAUSE_MS = 30 * 60_000
/** What a first visit shows. */
const FIRST_VISIT_MS = 24 * 3_600_000
/** A page that stays open remembers this often that it is. */
const REMEMBER_MS = 60_000

export interface Visit {
  /** End of the visit before. */
  readonly since: number
  /** Last time in this visit. */
  readonly seen: number
}

/** The visit that `now` belongs to. */
export const visitAt = (stored: Visit | undefined, now: number): Visit => {
  if (stored === undefined || stored.seen > now) return { since: now - FIRST_VISIT_MS, seen: now }
  return { since: now - stored.seen > PAUSE_MS ? stored.seen : stored.since, seen: now }
}

const read = (key: string): Visit | undefined => {
  try {
    const { seen, since } = JSON.parse(accountStorage.getItem(key) ?? "{}")
    return typeof seen === "number" && typeof since === "number" ? { seen, since } : undefined
  } catch {
    return undefined
  }
}

/** End of the visit before this one, in milliseconds since 1970. */
export const useLastVisit = (): number => {
  const key = `corral.visit.${useCurrentUser().user.id}`
  const [{ since }] = useState(() => visitAt(read(key), Date.now()))
  useEffect(() => {
    const remember = () => accountStorage.setItem(key, JSON.stringify({ since, seen: Date.now() }))
    remember()
    const timer = setInterval(remember, REMEMBER_MS)
    return () => clearInterval(timer)
  }, [key, since])
  return since
}
