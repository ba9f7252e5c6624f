/** Examination of a store that no Edge has open, for a user whose Edge does not start. */
import Database from "better-sqlite3"
import { existsSync, type Stats, statSync } from "node:fs"
import { join } from "node:path"
import { fileReason } from "./FileReason.ts"
import { missingTable } from "./migrations.ts"
import { folderAsStore, lostStore } from "./Store.ts"
import { RESTORE_HINT } from "./StoreDamage.ts"

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** Reads every page of a home's store. Returns a sentence if the store is missing or damaged. */
export const examineStore = (home: string): string | undefined => {
  const file = join(home, "edge.db")
  const token = join(home, "edge.token")
  let stat: Stats | undefined
  try {
    stat = statSync(file)
  } catch (cause) {
    if (!isMissing(cause)) return `${file} cannot be read: ${fileReason(cause)}.`
  }
  if (stat?.isDirectory() === true) return folderAsStore(file)
  if ((stat?.size ?? 0) === 0) return existsSync(token) ? lostStore(file, token) : undefined
  try {
    const db = new Database(file, { readonly: true })
    try {
      const found = db.pragma("quick_check(1)", { simple: true })
      if (found !== "ok") return `${file} is damaged. ${RESTORE_HINT}`
      if (db.pragma("user_version", { simple: true }) === 0)
        return existsSync(token) ? `${file} has no tables of Corral. ${RESTORE_HINT}` : undefined
      const missing = missingTable(db)
      return missing === undefined ? undefined : `${file} is damaged: ${missing}. ${RESTORE_HINT}`
    } finally {
      db.close()
    }
  } catch (error) {
    return `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}. ${RESTORE_HINT}`
  }
}
