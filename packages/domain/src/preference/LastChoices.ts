/** Last choices of a user for new work, one per project. Pure, without schemas: browsers load it. */
import type { LastChoice } from "./Preferences.ts"

/** Projects with a last choice. */
export const MAX_LAST_CHOICES = 30

/** The choices with this one first. The oldest is dropped where there are too many. */
export const withChoice = (
  choices: ReadonlyArray<LastChoice> | undefined,
  choice: LastChoice
): ReadonlyArray<LastChoice> =>
  [choice, ...(choices ?? []).filter(({ projectId }) => projectId !== choice.projectId)].slice(
    0,
    MAX_LAST_CHOICES
  )
