/** Last choices of a user for new work, one per project. Pure, without schemas: browsers load it. */
import type { LastChoice } from "./Preferences.ts"

/** Projects with a last choice. */
export const MAX_LAST_CHOICES = 30

/** Bytes of JSON of all choices, so that there is room for the other preferences. */
const MAX_BYTES = 12_288

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length

/** The choices with this one first. The oldest are dropped where there are too many, or where they are too long together. */
export const withChoice = (
  choices: ReadonlyArray<LastChoice> | undefined,
  choice: LastChoice
): ReadonlyArray<LastChoice> => {
  const others = (choices ?? []).filter(({ projectId }) => projectId !== choice.projectId)
  const newest = [choice, ...others].slice(0, MAX_LAST_CHOICES)
  while (newest.length > 1 && bytesOf(newest) > MAX_BYTES) newest.pop()
  return newest
}
