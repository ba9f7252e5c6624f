/** Merge of changes into a document of preferences. Pure, without schemas: browsers load it. */
import type { PreferenceChanges } from "./Preferences.ts"

/** Replaces the fields of a document that the change has; `null` removes a field. Other fields, also those of later versions, stay. */
export const mergedFields = <Fields extends object>(stored: Fields, changes: PreferenceChanges): Fields =>
  // A change has only fields of the document, each with its type or null.
  Object.fromEntries(
    Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== null && value !== undefined)
  ) as Fields
