/**
 * Files of the repository of a run in a worktree. The run may do with it what it likes: it borrows the objects of the workspace's
 * repository, which the run cannot change, and has its own refs. Conversion of a worktree of an earlier version, which was a part of
 * the workspace's repository, to one with the repository of its run. Also refs and their objects, as git packs
 * them into one file.
 *
 * Guarantees: no git of the Edge opens it. What git obeys in it is the Edge's before and after each run. Nothing is written through a
 * link. The branch, the commit that is checked out and the index stay. A worktree that cannot be converted stays as it is.
 *
 * Does not: convert an unfinished rebase.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import {
  closeSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { dirname, join, relative, sep } from "node:path"
import { GitFailed } from "./Git.ts"
import { settingsText } from "./GitSettings.ts"
import { smallFile } from "./UntrustedFiles.ts"
import { objectFoldersOf, readWorkspaceRepository } from "./WorkspaceRepository.ts"

/** Object ids by full names of refs. */
export type RefTable = ReadonlyMap<string, string>

// Git refuses control characters, spaces and these signs in names.
const LINE = /^([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs\/[^\0- \x7f~^:?*[\\]+)$/
const PEELED_LINE = /^\^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

const NAME = /^refs(?:\/[^\0- \x7f~^:?*[\\/]+)+$/
const REFUSED = /\/\.|\.\.|@\{|\.lock(?:\/|$)|\.$/

/** Whether git takes the full name for that of a ref. A file may have any other name in the folder of refs. */
export const isRefName = (name: string): boolean => NAME.test(name) && !REFUSED.test(name)

/** The refs of a text with one `<id> <name>` on a line. Other lines are left out. */
export const refsOfText = (text: string): RefTable =>
  new Map(
    text.split("\n").flatMap((line) => {
      const [, id, name] = LINE.exec(line) ?? []
      return id === undefined || name === undefined ? [] : [[name, id] as const]
    })
  )

/**
 * Whether a `packed-refs` has the form that git writes: each name once, in the order that its header promises. Git does not find a ref in another
 * order, and stops at another line. `text`: one character per byte.
 */
export const isPlainPackedRefs = (text: string): boolean => {
  const lines = text.split("\n")
  if (lines.pop() !== "") return text === ""
  if (lines[0]?.startsWith("# pack-refs with:") === true) lines.shift()
  let last = ""
  let canPeel = false
  for (const line of lines) {
    const name = LINE.exec(line)?.[2]
    const isPeeled = name === undefined && canPeel && PEELED_LINE.test(line)
    if (!isPeeled && (name === undefined || name <= last)) return false
    canPeel = name !== undefined
    if (name !== undefined) last = name
  }
  return true
}

/** Content of `packed-refs`. Without a header, git sorts the names itself. */
export const packedRefs = (refs: RefTable): string =>
  [...refs].map(([name, id]) => `${id} ${name}\n`).join("")

/** The refs of a run whose workspace had `before` and has `now`: the run's changes stay, everything else is as in the workspace. */
const refsAfter = (current: RefTable, before: RefTable, now: RefTable): RefTable => {
  const changed = [...current].filter(([name, id]) => before.get(name) !== id)
  return new Map([...now, ...changed])
}

/** Files of a part that belong to its place. */
const OF_PLACE = new Set(["commondir", "gitdir", "config.worktree", "HEAD", "locked"])
const MAX_INDEX = 1_073_741_824

/** The part of the workspace's repository, if the worktree is one of an earlier version. */
export const earlierPart = (repository: string, runId: RunId, runRepository: string): string | undefined => {
  const part = join(repository, "worktrees", runId)
  return !isFolder(runRepository) && isFolder(dirname(part)) && isFolder(part) ? part : undefined
}

/** The branch or commit that an earlier worktree has checked out. Fails if it cannot be converted. */
export const headOfPart = (part: string): Effect.Effect<string, GitFailed> =>
  Effect.suspend(() => {
    if (["rebase-merge", "rebase-apply"].some((name) => isFolder(join(part, name))))
      return Effect.fail(new GitFailed({ message: "it has an unfinished rebase" }))
    const head = smallFile(join(part, "HEAD"))?.trim() ?? ""
    return /^(?:ref: refs\/heads\/[^\s~^:?*[\\]+|[0-9a-f]{40})$/.test(head)
      ? Effect.succeed(head)
      : Effect.fail(new GitFailed({ message: "it has no branch and no commit" }))
  })

/** Copies the state of a part into the run's repository. */
export const copyPart = (part: string, runRepository: string, head: string): void => {
  for (const name of readdirSync(part)) {
    const stat = lstatSync(join(part, name))
    if (OF_PLACE.has(name) || !stat.isFile() || stat.size > MAX_INDEX) continue
    copyFileSync(join(part, name), join(runRepository, name), constants.COPYFILE_FICLONE)
  }
  writeFileSync(join(runRepository, "HEAD"), `${head}\n`)
}

/** Removes the part, if there is one. */
export const removePart = (repository: string, runId: RunId): void => {
  const parent = join(repository, "worktrees")
  if (!isFolder(parent)) return
  rmSync(join(parent, runId), { recursive: true, force: true })
  try {
    rmdirSync(parent)
  } catch {
    // There are other worktrees.
  }
}

export interface RunRepositoryPlace {
  /** The run's repository. */
  readonly folder: string
  /** The run's checkout, which names the repository. A run in a layer has the repository at the place of the workspace's. */
  readonly checkout: string | undefined
  /** Where the run sees a folder of objects of the workspace, if not at its path. */
  readonly borrowed?: ((real: string) => string) | undefined
  /** The workspace's `.git`. */
  readonly repository: string
}

const MAX_REFS = 67_108_864
/** Folders that exist in the repository. */
const FOLDERS = ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"]
/** Files that would lead git to other settings. */
const MISLEADING = ["commondir", "gitdir", "config.worktree"]

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Makes the folder `path` in `top`. What has the name of a folder on the way and is none is removed. */
const makeRealFolder = (top: string, path: string): void => {
  let at = top
  for (const name of relative(top, path).split(sep).filter(Boolean)) {
    at = join(at, name)
    if (isFolder(at)) continue
    rmSync(at, { recursive: true, force: true })
    mkdirSync(at, { mode: 0o700 })
  }
}

/** The file that `replaceFile` writes before it has its name. A killed Edge leaves it. */
export const unnamedFileOf = (top: string): string => `${top}.new`

/** Replaces a file in the folder `top`, which a run may have written. Call it when no process of that run is alive. */
const replaceFile = (top: string, path: string, content: string): void => {
  makeRealFolder(top, dirname(path))
  const temporary = unnamedFileOf(top)
  rmSync(temporary, { recursive: true, force: true })
  writeFileSync(temporary, content, { mode: 0o600, flag: "wx" })
  if (isFolder(path)) rmSync(path, { recursive: true })
  renameSync(temporary, path)
}

/** Creates the repository with a branch at a commit, which is checked out. */
export const createRunRepository = (
  place: RunRepositoryPlace,
  branch: string,
  base: string,
  refs: RefTable
): void => {
  const { folder } = place
  makeFolder(dirname(folder))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  restoreRunRepository(place)
  const { exclude } = readWorkspaceRepository(place.repository)
  replaceFile(folder, join(folder, "info/exclude"), exclude ?? "")
  replaceFile(folder, join(folder, "packed-refs"), packedRefs(new Map([...refs, [branch, base]])))
  replaceFile(folder, join(folder, "HEAD"), `ref: ${branch}\n`)
}

/** Puts back what git obeys. Call it when no process of the run is alive. */
export const restoreRunRepository = ({
  borrowed = (real) => real,
  checkout,
  folder,
  repository
}: RunRepositoryPlace): void => {
  const { format, partialRemote, settings, shallow } = readWorkspaceRepository(repository)
  const setting = (section: string, key: string, value: string) => ({
    section,
    subsection: undefined,
    key,
    value
  })
  const isExtended = format !== "sha1" || partialRemote !== undefined
  const config = settingsText([
    setting("core", "repositoryformatversion", isExtended ? "1" : "0"),
    setting("core", "bare", "false"),
    setting("core", "logallrefupdates", "true"),
    ...(format === "sha1" ? [] : [setting("extensions", "objectformat", format)]),
    ...(partialRemote === undefined ? [] : [setting("extensions", "partialclone", partialRemote)]),
    ...settings
  ])
  for (const name of FOLDERS) makeRealFolder(folder, join(folder, name))
  for (const name of MISLEADING) rmSync(join(folder, name), { recursive: true, force: true })
  rmSync(join(folder, "hooks"), { recursive: true, force: true })
  mkdirSync(join(folder, "hooks"), { mode: 0o755 })
  replaceFile(folder, join(folder, "config"), config)
  const alternates = objectFoldersOf(repository).map(({ real }) => `${borrowed(real)}\n`)
  replaceFile(folder, join(folder, "objects/info/alternates"), alternates.join(""))
  if (shallow !== undefined && lstatSync(join(folder, "shallow"), { throwIfNoEntry: false }) === undefined)
    replaceFile(folder, join(folder, "shallow"), shallow)
  if (checkout !== undefined && isFolder(checkout))
    replaceFile(checkout, join(checkout, ".git"), `gitdir: ${folder}\n`)
}

/**
 * Gives the repository the refs of the workspace. A ref that the run has changed since `before` stays as it is. Does nothing while a git of
 * the run writes its refs.
 */
export const copyRefs = ({ folder }: RunRepositoryPlace, before: RefTable, now: RefTable): void => {
  const path = join(folder, "packed-refs")
  const lock = `${path}.lock`
  let descriptor: number
  try {
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
    descriptor = openSync(lock, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  } catch {
    return
  }
  try {
    const current = refsOfText(smallFile(path, MAX_REFS) ?? "")
    writeFileSync(descriptor, packedRefs(refsAfter(current, before, now)))
    if (isFolder(path)) rmSync(path, { recursive: true })
    renameSync(lock, path)
  } catch (cause) {
    rmSync(lock, { force: true })
    throw cause
  } finally {
    closeSync(descriptor)
  }
}
