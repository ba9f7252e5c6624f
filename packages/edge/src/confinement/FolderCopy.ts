/**
 * Read-only copy of a folder of a workspace, which may be hostile: the permissions of the copy allow no change until they are opened.
 *
 * Guarantees: no link is followed, and a copy is whole or not made. Files of several names become files of one.
 * Does not: copy owners, times, or the samples of hooks, which no program runs.
 */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { OpenedFolder } from "./OpenedFolder.ts"

/** What all copies of a run may still contain. */
export interface CopyRoom {
  entries: number
  bytes: number
}

const MAX_DEPTH = 16
const HOOKS = "hooks"
const SAMPLE = ".sample"
export const CLOSED_FOLDER = 0o555
/** Permissions of a file that no program changes. */
export const closedFile = (mode: number): number => 0o444 | (mode & 0o111)

class TooLarge extends Error {}

const copyOpened = (folder: OpenedFolder, to: string, room: CopyRoom, depth: number): void => {
  if (depth > MAX_DEPTH) throw new TooLarge()
  mkdirSync(to, { mode: 0o700 })
  for (const { kind, name } of folder.entries()) {
    if (kind === "file" && name.endsWith(SAMPLE) && basename(to) === HOOKS) continue
    if (--room.entries < 0 || kind === "other" || name.includes("\uFFFD")) throw new TooLarge()
    const path = join(to, name)
    if (kind === "link") symlinkSync(folder.targetOfLink(name), path)
    else if (kind === "folder") folder.inside(name, (inner) => copyOpened(inner, path, room, depth + 1))
    else {
      const file = folder.readBytes(name, room.bytes)
      if (typeof file !== "object") throw new TooLarge()
      room.bytes -= file.bytes.length
      writeFileSync(path, file.bytes, { mode: closedFile(file.mode), flag: "wx" })
    }
  }
  chmodSync(to, CLOSED_FOLDER)
}

/** Copies a file. Returns whether it is one, and was copied. */
const copyFile = (
  root: string,
  names: ReadonlyArray<string>,
  to: string,
  room: CopyRoom
): boolean | undefined =>
  OpenedFolder.with(root, names.slice(0, -1), (folder) => {
    const file = folder.readBytes(names.at(-1) ?? "", room.bytes)
    if (typeof file !== "object") return false
    writeFileSync(to, file.bytes, { mode: closedFile(file.mode), flag: "wx" })
    return true
  })

/** Copies `names` of `root`, a folder or a file, to `to`, whose parent exists. Returns whether it was copied. */
export const copyFolder = (
  root: string,
  names: ReadonlyArray<string>,
  to: string,
  room: CopyRoom
): boolean => {
  try {
    const isCopied = OpenedFolder.with(root, names, (folder) => {
      copyOpened(folder, to, room, 0)
      return true
    })
    if (isCopied === true || copyFile(root, names, to, room) === true) return true
  } catch {
    // It is too large, changes meanwhile, or holds something else.
  }
  removeCopy(to)
  return false
}

const removeCopy = (to: string): void => {
  try {
    rmSync(to, { recursive: true, force: true })
  } catch {
    // A closed folder of an ordinary user. The end of the run removes it.
  }
}
