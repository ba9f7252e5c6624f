/**
 * Limits that are nearly or completely used up today, from the hints of the change feed: those of the user, and those of everyone together. A new connection
 * repeats the hints of the last day.
 */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { useSyncExternalStore } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useProjects } from "../api/ProjectsAndTargets.ts"
import { useToday } from "../ui/Time.tsx"
import { dayNear } from "./usageDays.ts"

type LimitHint = Extract<ChangeHint, { kind: "limit" }>

const listeners = new Set<() => void>()
let hints: ReadonlyMap<string, LimitHint> = new Map()

/** Takes the hints of the change feed. */
export const noteLimits = (changes: ReadonlyArray<ChangeHint>): void => {
  const limits = changes.filter((change) => change.kind === "limit")
  if (limits.length === 0) return
  hints = new Map([...hints, ...limits.map((limit) => [limit.id, limit] as const)])
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** The most used limit that concerns the user today. Undefined while all have enough left. */
export const useUsedLimits = (): LimitHint["state"] | undefined => {
  const noted = useSyncExternalStore(subscribe, () => hints)
  const projects = useProjects()
  const { user } = useCurrentUser()
  // Changes with the day.
  useToday()
  const states = [...noted.values()].flatMap(({ day, projectId, state, userId }) => {
    const project = projects.find(({ id }) => id === projectId)
    const concerns = userId === undefined || userId === user.id
    return project !== undefined && concerns && day === dayNear(project.timeZone, Date.now()) ? [state] : []
  })
  return states.find((state) => state === "reached") ?? states[0]
}
