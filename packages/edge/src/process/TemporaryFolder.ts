/**
 * The private temporary folder of each run: made when it starts, mode 0700, gone when nothing of the run is left.
 *
 * It lies in Corral's own home. Programs make Unix sockets in it, whose paths are short by nature: where the home leaves them no room,
 * it lies in a folder of the system's temporary one that belongs to this home. Links are removed, never followed.
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { chmodSync, lstatSync, mkdirSync, readdirSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** The path of a socket has at most 103 characters; this leaves 32 for its name after a run's id. */
const ROOMY = 39

const inHome = (home: string): string => join(home, "tmp")
const inSystem = (home: string): string =>
  join(tmpdir(), `corral-${createHash("sha256").update(home).digest("hex").slice(0, 10)}`)

/** Where that run's folder is to be. */
export const temporaryFolderOf = (home: string, runId: string): string => {
  const [own, short] = [inHome(home), inSystem(home)]
  return join(own.length <= ROOMY || own.length <= short.length ? own : short, runId)
}

/** A folder itself, and no link to one, of this user: in the system's temporary folder others could have been there first. */
const isOurs = (folder: string): boolean => {
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  return stat?.isDirectory() === true && (process.getuid === undefined || stat.uid === process.getuid())
}

/** Throws if the folder exists, or if its parent belongs to another user. */
export const makeTemporary = (folder: string): void => {
  const around = dirname(folder)
  mkdirSync(around, { recursive: true, mode: 0o700 })
  if (!isOurs(around)) throw new Error("the folder of temporary files belongs to another user")
  chmodSync(around, 0o700)
  mkdirSync(folder, { mode: 0o700 })
}

/** What may not be listed or changed cannot be emptied. */
const openUp = (folder: string): void => {
  chmodSync(folder, 0o700)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) openUp(join(folder, entry.name))
  }
}

/** Removes it with all that is in it, what may not be changed included. */
const removeWhole = async (folder: string): Promise<void> => {
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 })
  try {
    await remove()
  } catch {
    openUp(folder)
    await remove()
  }
}

/** Fails with what the system says. */
export const removeFolder = (folder: string): Effect.Effect<void, string> =>
  Effect.tryPromise({ try: () => removeWhole(folder), catch: String })

/** Logs what cannot be removed. */
export const removeTemporary = (folder: string): Effect.Effect<void> =>
  removeFolder(folder).pipe(
    Effect.catch((cause) => Effect.logWarning("a temporary folder could not be removed", cause))
  )

/** What an Edge of that home left that was killed. */
export const leftTemporary = (home: string): ReadonlyArray<string> =>
  [inHome(home), inSystem(home)]
    .filter(isOurs)
    .flatMap((around) => readdirSync(around).map((name) => join(around, name)))
