/** Examination of a store that no Edge has open, for a user whose Edge does not start. */
import Database from "better-sqlite3"
import { existsSync, type Stats, statSync } from "node:fs"
import { join } from "node:path"
import { fileReason } from "../store/FileReason.ts"
import { missingTable, newerStore, NEWEST_VERSION } from "../store/migrations.ts"
import { folderAsStore, lostStore } from "../store/Store.ts"
import { RESTORE_HINT, StoreDamaged } from "../store/StoreDamage.ts"
import { storeReader } from "../store/StoreReader.ts"
import { storedDataChecks } from "./StoredDataChecks.ts"

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** The first damage in what a store of the newest version keeps. */
const damageIn = (db: Database.Database): StoreDamaged | undefined => {
  let damage: StoreDamaged | undefined
  const reportDamage = (found: StoreDamaged): void => {
    damage ??= found
  }
  for (const check of storedDataChecks({ ...storeReader(db, reportDamage), reportDamage })) {
    try {
      for (const _ of check()) if (damage !== undefined) return damage
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
    }
    if (damage !== undefined) return damage
  }
  return undefined
}

/** Reads every page and every row of a home's store. Returns a sentence if the store is missing, damaged or of a newer version. */
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
      const version = Number(db.pragma("user_version", { simple: true }))
      if (version === 0)
        return existsSync(token) ? `${file} has no tables of Corral. ${RESTORE_HINT}` : undefined
      if (version > NEWEST_VERSION) return `${file}: ${newerStore(version)}.`
      const missing = missingTable(db, version)
      if (missing !== undefined) return `${file} is damaged: ${missing}. ${RESTORE_HINT}`
      // Migrated at the next start, after which it can be read.
      if (version < NEWEST_VERSION) return undefined
      const damage = damageIn(db)
      return damage === undefined ? undefined : `${damage.message} ${RESTORE_HINT}`
    } finally {
      db.close()
    }
  } catch (error) {
    return `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}. ${RESTORE_HINT}`
  }
}
