/** What can be found out about a store that no Edge has open: for a person who asks why the Edge does not start. */
import Database from "better-sqlite3"
import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import { lostStore } from "./Store.ts"
import { RESTORE_HINT } from "./StoreDamage.ts"

/** Checks the whole store of a home; a sentence where it is missing or damaged. Reads every page. */
export const examineStore = (home: string): string | undefined => {
  const file = join(home, "edge.db")
  const token = join(home, "edge.token")
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return existsSync(token) ? lostStore(file, token) : undefined
  try {
    const db = new Database(file, { readonly: true })
    try {
      const found = db.pragma("quick_check(1)", { simple: true })
      return found === "ok" ? undefined : `${file} is damaged. ${RESTORE_HINT}`
    } finally {
      db.close()
    }
  } catch (error) {
    return `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}. ${RESTORE_HINT}`
  }
}
