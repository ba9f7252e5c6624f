/**
 * Changes of a user's preferences: the merge of fields into the document, and the last choices for new work, one per project. Pure, without
 * schemas: browsers load it.
 */
import type { LastChoice, PreferenceChanges } from "./Preferences.ts"

/** Replaces the fields of a document that the change has; `null` removes a field. Other fields, also those of later versions, stay. */
export const mergedFields = <Fields extends object>(stored: Fields, changes: PreferenceChanges): Fields =>
  // A change has only fields of the document, each with its type or null.
  Object.fromEntries(
    Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== null && value !== undefined)
  ) as Fields

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
