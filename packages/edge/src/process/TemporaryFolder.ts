/**
 * Private temporary folder of each run: created at its start with mode 0700, removed at its end. Also whether what belongs to
 * a run was made by an earlier Edge, and stays for the next one.
 *
 * It is in Corral's home. Unix sockets have short paths, so if the home's path is too long, it is in a folder of the system's temporary
 * folder that belongs to this home, and that a stopped Edge removes. Links are removed and never followed.
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { chmodSync, existsSync, readdirSync, rmdirSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { isOurFolder, makeTemporary } from "./PrivateFolder.ts"

/** Whether what belongs to a run was made by an earlier Edge, and whether it stays for the next one. */
export interface RunLife {
  readonly isAdopted: boolean
  /** Asked when it would be removed. */
  readonly isLeft: () => boolean
}

/** Of what ends with its Edge. */
export const ownLife: RunLife = { isAdopted: false, isLeft: () => false }

export { makeTemporary } from "./PrivateFolder.ts"

/** The path of a socket has up to 103 characters. This leaves 32 for its name after a run's id. */
const MAX_PARENT_LENGTH = 39

const inHome = (home: string): string => join(home, "tmp")
const inSystem = (home: string): string =>
  join(tmpdir(), `corral-${createHash("sha256").update(home).digest("hex").slice(0, 10)}`)

/** Path of a run's folder. */
export const temporaryFolderOf = (home: string, runId: string): string => {
  const [long, short] = [inHome(home), inSystem(home)]
  return join(long.length <= MAX_PARENT_LENGTH || long.length <= short.length ? long : short, runId)
}

/** The folder of an adopted run, which exists, or a new one. */
export const openTemporary = (folder: string, { isAdopted }: RunLife): void => {
  if (!isAdopted || !existsSync(folder)) makeTemporary(folder)
  else if (!isOurFolder(folder)) throw new Error("the folder of temporary files belongs to another user")
}

/** Adds permissions, because a folder that cannot be listed or changed cannot be emptied. */
const openUp = (folder: string): void => {
  chmodSync(folder, 0o700)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) openUp(join(folder, entry.name))
  }
}

/** Removes a folder with its content, including read-only entries. */
const removeWhole = async (folder: string): Promise<void> => {
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 })
  try {
    await remove()
  } catch {
    openUp(folder)
    await remove()
  }
}

/** Fails with the system's message. */
export const removeFolder = (folder: string): Effect.Effect<void, string> =>
  Effect.tryPromise({ try: () => removeWhole(folder), catch: String })

/** Removes a folder, and logs a failure. */
export const removeTemporary = (folder: string): Effect.Effect<void> =>
  removeFolder(folder).pipe(
    Effect.catch((cause) => Effect.logWarning("failed to remove a temporary folder", cause))
  )

/** The folders that a killed Edge of this home left, except those of `adopted` runs: their names begin with the run's id. */
export const leftTemporary = (
  home: string,
  adopted: ReadonlySet<string> = new Set()
): ReadonlyArray<string> =>
  [inHome(home), inSystem(home)].filter(isOurFolder).flatMap((around) =>
    readdirSync(around)
      .filter((name) => !adopted.has(name.split(".", 1)[0] ?? name))
      .map((name) => join(around, name))
  )

/** Removes the folder around the runs' folders from the system's temporary folder, unless a run that continues has its own there. */
export const leaveSystemFolder = (home: string): void => {
  try {
    rmdirSync(inSystem(home))
  } catch {
    // There is none, or it is not empty.
  }
}
