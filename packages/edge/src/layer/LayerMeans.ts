/**
 * How this machine makes layers: by overlayfs in a user namespace, by copies that share blocks, or by plain copies. Each is tried once. Also the copy of
 * a workspace's folder.
 *
 * Guarantees: an overlay is used for a workspace only after it was mounted there once. One with other mounts in it gets a copy, as does one with
 * files of another user or group that the Edge's user may write: a user namespace has one of each, and an overlay cannot take such files up.
 *
 * A copy shares blocks where the file system can share them. Its names are bytes, and no link is followed.
 *
 * Does not: copy sockets, pipes and devices, owners, or what is `leftOut` at the top. Look at more than 2,000 entries for such files. Deeper ones cannot be written in an overlay.
 */
import { Effect, Context, Data } from "effect"
import {
  constants,
  accessSync,
  existsSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
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
import type { LayerReadiness } from "@corral/domain/http/Health"
import type { LayerMeans } from "@corral/domain/run/Run"
import { makeFolder } from "@corral/service/MakeFolder"
import { randomUUID } from "node:crypto"
import { removeFolder } from "../process/TemporaryFolder.ts"
import { folderEntries } from "../workspace/UntrustedFiles.ts"
import { mountLayer, type MountPrograms, mountPrograms } from "./LayerMounts.ts"
import { layerPlaces } from "./LayerRows.ts"

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
const canShareBlocks = (folder: string): Effect.Effect<boolean> =>
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

/** Programs that mount layers; `undefined` if this machine lacks one. */
export const LayerPrograms = Context.Reference<MountPrograms | undefined>("corral/edge/LayerPrograms", {
  defaultValue: mountPrograms
})

interface MachineMeans {
  readonly canMount: boolean
  readonly canShare: boolean
  readonly problem?: string
}

const HINT =
  "Layers are copies of the workspace, which take longer. Overlays need util-linux and user namespaces, and CORRAL_HOME on a file system such as ext4 or XFS."

/** Nothing can be tried now, for example because the disk is full. */
class TrialImpossible extends Data.TaggedError("TrialImpossible")<{ readonly message: string }> {}

const attemptTrial = <A>(work: () => A): Effect.Effect<A, TrialImpossible> =>
  Effect.try({ try: work, catch: (cause) => new TrialImpossible({ message: String(cause).slice(0, 200) }) })

/** Folders of an overlay for a trial. */
const withTrial = <A, E>(
  home: string,
  use: (folder: string) => Effect.Effect<A, E>
): Effect.Effect<A, E | TrialImpossible> => {
  const folder = join(home, "layers", `trial-${randomUUID()}`)
  const folders = attemptTrial(() => {
    const { lower, upper, work } = layerPlaces(folder)
    for (const each of [upper, work, lower, join(folder, "root")]) makeFolder(each, 0o700)
  })
  return Effect.ensuring(
    Effect.andThen(folders, use(folder)),
    Effect.suspend(() => Effect.ignore(removeFolder(folder)))
  )
}

/** Writes and removes files in an overlay. Fails with a phrase. */
const tryOverlay = (programs: MountPrograms, home: string): Effect.Effect<void, string | TrialImpossible> =>
  withTrial(home, (folder) => {
    const root = join(folder, "root")
    return Effect.scoped(
      Effect.gen(function* () {
        yield* attemptTrial(() => {
          for (const name of ["changed", "removed"]) writeFileSync(join(root, name), "below")
        })
        const { at } = yield* mountLayer(programs, { kind: "write", folder, root })
        const found = yield* Effect.try({
          try: () => {
            writeFileSync(at(join(root, "changed")), "above")
            rmSync(at(join(root, "removed")))
            const isRemoved = !existsSync(at(join(root, "removed")))
            const isBelow = readFileSync(join(root, "changed"), "utf8") === "below"
            return isRemoved && isBelow && existsSync(join(root, "removed"))
          },
          catch: String
        })
        if (!found) return yield* Effect.fail("an overlay does not keep what is written")
      })
    )
  })

const tryAll = Effect.fnUntraced(function* (
  home: string,
  programs: MountPrograms | undefined
): Effect.fn.Return<MachineMeans, TrialImpossible> {
  yield* attemptTrial(() => makeFolder(join(home, "layers"), 0o700))
  const canShare = yield* withTrial(home, canShareBlocks)
  if (process.platform !== "linux") return { canMount: false, canShare }
  const problem =
    programs === undefined
      ? "unshare, nsenter or mount is not installed."
      : yield* tryOverlay(programs, home).pipe(
          Effect.as(undefined),
          Effect.catch((cause) =>
            cause instanceof TrialImpossible
              ? Effect.fail(cause)
              : Effect.succeed(`Overlays do not work here: ${cause.slice(0, 200)}.`)
          )
        )
  return { canMount: problem === undefined, canShare, ...(problem === undefined ? {} : { problem }) }
})

const MAX_ENTRIES = 2_000

/** Whether the Edge's user may write a file of another user or group. Looks at the upper folders first. */
export const hasForeignFiles = (
  root: string,
  user = process.geteuid?.(),
  group = process.getegid?.()
): boolean => {
  const isForeign = (path: string): boolean => {
    try {
      const stat = lstatSync(path)
      if (stat.isSymbolicLink() || (stat.uid === user && stat.gid === group)) return false
      accessSync(path, constants.W_OK)
      return true
    } catch {
      return false
    }
  }
  if (isForeign(root)) return true
  const folders = [root]
  let count = 0
  for (const folder of folders)
    for (const entry of folderEntries(folder)) {
      if (entry.name === ".git") continue
      if (++count > MAX_ENTRIES) return false
      const path = join(folder, entry.name)
      if (isForeign(path)) return true
      if (entry.isDirectory()) folders.push(path)
    }
  return false
}

const COPIES = "a workspace gets copies instead of overlays"

export class LayerChecks {
  /** `undefined` if they are missing. */
  readonly programs: MountPrograms | undefined
  readonly #home: string
  /** Found by trying; `undefined` until then. */
  #found: MachineMeans | undefined
  /** Whether an overlay can be mounted over a workspace, by its path. */
  readonly #workspaces = new Map<string, boolean>()

  private constructor(home: string, programs: MountPrograms | undefined) {
    this.#home = home
    this.programs = programs
  }

  static readonly make = Effect.fnUntraced(function* (home: string): Effect.fn.Return<LayerChecks> {
    return new LayerChecks(home, yield* LayerPrograms)
  })

  /** What could not be tried is tried again by the next caller. */
  readonly #machine: Effect.Effect<MachineMeans> = Effect.suspend(() =>
    this.#found === undefined
      ? tryAll(this.#home, this.programs).pipe(
          Effect.tap((found) => Effect.sync(() => (this.#found = found))),
          Effect.catch(({ message }) =>
            Effect.succeed({
              canMount: false,
              canShare: false,
              problem: `Layers could not be tried: ${message}.`
            })
          )
        )
      : Effect.succeed(this.#found)
  )

  get readiness(): Effect.Effect<Omit<LayerReadiness, "enforced">> {
    return Effect.map(this.#machine, ({ canMount, canShare, problem }) => ({
      means: canMount ? "overlayfs" : canShare ? "reflink" : "copy",
      ...(problem === undefined ? {} : { problem, hint: HINT })
    }))
  }

  /** Only a confined run sees an overlay. */
  readonly meansFor = Effect.fnUntraced(
    { self: this },
    function* (this: LayerChecks, root: string, isConfined: boolean): Effect.fn.Return<LayerMeans> {
      const { canMount, canShare } = yield* this.#machine
      if (isConfined && canMount && !hasForeignFiles(root) && (yield* this.#canMountOver(root)))
        return "overlayfs"
      return canShare && statSync(root).dev === statSync(this.#home).dev ? "reflink" : "copy"
    }
  )

  #canMountOver(root: string): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const { programs } = this
      const found = this.#workspaces.get(root)
      if (found !== undefined || programs === undefined) return Effect.succeed(found ?? false)
      return withTrial(this.#home, (folder) =>
        Effect.scoped(mountLayer(programs, { kind: "write", folder, root }))
      ).pipe(
        Effect.as(true),
        Effect.catch((cause) =>
          cause instanceof TrialImpossible
            ? Effect.fail(cause)
            : Effect.as(Effect.logWarning(COPIES, { cause, root }), false)
        ),
        Effect.tap((canMount) => Effect.sync(() => this.#workspaces.set(root, canMount))),
        // Tried again for the next layer.
        Effect.catch(({ message }) => Effect.as(Effect.logWarning(COPIES, { cause: message, root }), false))
      )
    })
  }
}
