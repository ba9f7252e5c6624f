/**
 * Lock of an Edge's home: one Edge per home, in this process and on this machine.
 *
 * Guarantees: the kernel releases the lock when the process ends, for any reason. Creates the home if it does not exist. Other users cannot
 * change its files.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import Database from "better-sqlite3"
import { Data, Effect, Layer, type Scope } from "effect"
import { chmodSync, statSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { unusableHome } from "./FileReason.ts"
import { keepPrivate } from "./PrivateFile.ts"

/** Another Edge uses the home. */
export class HomeInUse extends Data.TaggedError("HomeInUse")<{ readonly message: string }> {}

/** The home cannot be created, written, or opened by this installation, which then opens no other home either. */
export class HomeUnusable extends Data.TaggedError("HomeUnusable")<{
  readonly message: string
  readonly isInstallation?: boolean
}> {}

const refusalOf = (home: string, cause: unknown): HomeInUse | HomeUnusable => {
  if (cause instanceof Database.SqliteError && cause.code.startsWith("SQLITE_BUSY"))
    return new HomeInUse({ message: `${home} is in use by another Edge. Stop it, or choose another home.` })
  // The packed command installs SQLite as a separate package. Its absence is not about the home.
  if (cause instanceof Error && cause.name === "SqliteMissing")
    return new HomeUnusable({ message: cause.message, isInstallation: true })
  return new HomeUnusable({ message: unusableHome(home, cause) })
}

/** Permissions of other users to change what is in a folder. */
const WRITABLE_BY_OTHERS = 0o022

/** Takes them away from the home. `undefined` if there were none, otherwise the mode that it had. Throws for a home of another user. */
const closeHome = (home: string): number | undefined => {
  makeFolder(home)
  const mode = statSync(home).mode & 0o7777
  if ((mode & WRITABLE_BY_OTHERS) === 0 || process.platform === "win32") return undefined
  try {
    chmodSync(home, mode & ~WRITABLE_BY_OTHERS)
  } catch {
    throw new Error("other users can change its files, and it belongs to another user")
  }
  return mode
}

/** Creates the home, in which only its owner may change files. */
const privateHome = (home: string): Effect.Effect<void, HomeUnusable> =>
  Effect.flatMap(
    Effect.try({
      try: () => closeHome(home),
      catch: (cause) => new HomeUnusable({ message: unusableHome(home, cause) })
    }),
    (mode) =>
      mode === undefined
        ? Effect.void
        : Effect.logWarning("took the permission to write the home away from other users", {
            home,
            mode: mode.toString(8),
            next: "Check its files: another user could change them."
          })
  )

/** Holds the lock until the scope closes. */
export const holdHome = (home: string): Effect.Effect<void, HomeInUse | HomeUnusable, Scope.Scope> =>
  Effect.andThen(privateHome(home), lockHome(home))

const lockHome = (home: string): Effect.Effect<void, HomeInUse | HomeUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const file = join(home, "edge.db.lock")
        keepPrivate(file)
        const db = new Database(file, { timeout: 0 })
        try {
          db.pragma("journal_mode = MEMORY")
          db.pragma("locking_mode = EXCLUSIVE")
          db.exec("BEGIN EXCLUSIVE; COMMIT")
        } catch (error) {
          db.close()
          throw error
        }
        return db
      },
      catch: (cause) => refusalOf(home, cause)
    }),
    (db) => Effect.sync(() => db.close())
  ).pipe(Effect.asVoid)

export const homeLockLayer = Layer.effectDiscard(Effect.flatMap(EdgeConfig, ({ home }) => holdHome(home)))
