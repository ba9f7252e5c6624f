/**
 * Copy of a workspace's folder, with shared blocks where the file system can share them. Names are bytes. No link is followed.
 *
 * Does not: copy sockets, pipes and devices, owners, or what is `leftOut` at the top.
 */
import { Effect } from "effect"
import { constants } from "node:fs"
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readlink,
  rm,
  symlink,
  utimes,
  writeFile
} from "node:fs/promises"
import { join } from "node:path"

/** Files that are copied at the same time. */
const AT_ONCE = 32

const joined = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, Buffer.from("/"), name])

const copyEntry = async (from: Buffer, to: Buffer): Promise<Buffer | undefined> => {
  const stat = await lstat(from).catch(() => undefined)
  // It was deleted after it was listed.
  if (stat === undefined) return undefined
  if (stat.isSymbolicLink()) await symlink(await readlink(from, { encoding: "buffer" }), to)
  else if (stat.isFile()) {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    await chmod(to, stat.mode & 0o7777)
    await utimes(to, stat.atime, stat.mtime)
  } else if (stat.isDirectory()) {
    await mkdir(to, { mode: 0o700 })
    return to
  }
  return undefined
}

/** Copies the content of a folder into one that exists. */
const copyContent = async (
  from: string,
  to: string,
  leftOut: ReadonlyArray<string>,
  signal: AbortSignal
): Promise<void> => {
  const pending: Array<readonly [from: Buffer, to: Buffer]> = [[Buffer.from(from), Buffer.from(to)]]
  const folders: Array<readonly [from: Buffer, to: Buffer]> = []
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [source, target] = next
    folders.push(next)
    const names = (await readdir(source, { encoding: "buffer" })).filter(
      (name) => folders.length > 1 || !leftOut.includes(name.toString("latin1"))
    )
    for (let at = 0; at < names.length; at += AT_ONCE) {
      signal.throwIfAborted()
      const some = names.slice(at, at + AT_ONCE).map(async (name) => {
        const inner = await copyEntry(joined(source, name), joined(target, name))
        if (inner !== undefined) pending.push([joined(source, name), inner])
      })
      await Promise.all(some)
    }
  }
  // Inner folders first: a closed folder takes no more files.
  for (const [source, target] of folders.toReversed())
    await chmod(target, (await lstat(source)).mode & 0o7777)
}

/** Fails with the system's message. An interruption ends it. */
export const copyTree = (
  from: string,
  to: string,
  leftOut: ReadonlyArray<string>
): Effect.Effect<void, string> =>
  Effect.tryPromise({ try: (signal) => copyContent(from, to, leftOut, signal), catch: String })

/** Whether files of a folder of the Edge share blocks with their copies there. */
export const canShareBlocks = (folder: string): Effect.Effect<boolean> =>
  Effect.promise(async () => {
    const [one, other] = [join(folder, "one"), join(folder, "other")]
    try {
      await writeFile(one, "shared")
      await copyFile(one, other, constants.COPYFILE_FICLONE_FORCE)
      return true
    } catch {
      return false
    } finally {
      await rm(one, { force: true })
      await rm(other, { force: true })
    }
  })
