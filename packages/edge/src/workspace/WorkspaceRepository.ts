/**
 * Repository of a workspace, read without git: its location, from the folder's `.git`, and what the repository of a run takes from it: its format,
 * its settings, and the folders with its objects. Everything is untrusted: a workspace may contain anything under these names, also what an earlier
 * run has written. Also the folders without a repository in which runs work that may make one: files in the Edge's home, from before the start of
 * the run until its end has been reviewed.
 */
import { lstatSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"
import { makeFolder } from "@corral/service/MakeFolder"
import { type GitSetting, gitSettings } from "./GitSettings.ts"
import { smallFile, folderEntries } from "./UntrustedFiles.ts"

// Settings of a workspace's repository that the repository of a run receives: what remotes there are, how files are stored, and who the author
// is. Data and pure functions.
//
// Guarantees: an allowlist. No credential, and no program except LFS in its standard form, is copied.

/** Keys by section, in lower case. */
const COPIED: Readonly<Record<string, ReadonlyArray<string>>> = {
  user: ["name", "email"],
  author: ["name", "email"],
  committer: ["name", "email"],
  core: [
    "autocrlf",
    "eol",
    "safecrlf",
    "ignorecase",
    "precomposeunicode",
    "quotepath",
    "symlinks",
    "filemode"
  ],
  remote: ["url", "pushurl", "fetch", "push", "tagopt", "prune", "promisor", "partialclonefilter"],
  branch: ["remote", "merge", "rebase", "pushremote"],
  submodule: ["url", "active", "branch"],
  lfs: ["url", "pushurl", "fetchinclude", "fetchexclude", "locksverify", "access"],
  pull: ["rebase", "ff"],
  push: ["default", "autosetupremote", "followtags"],
  merge: ["conflictstyle", "ff"],
  fetch: ["prune"],
  rebase: ["autosquash", "autostash"],
  init: ["defaultbranch"]
}

/** The commands of LFS, as it installs them. */
const LFS: Readonly<Record<string, ReadonlyArray<string>>> = {
  clean: ["git-lfs clean -- %f"],
  smudge: ["git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"],
  process: ["git-lfs filter-process", "git-lfs filter-process --skip"],
  required: ["true"]
}

const URLS = new Set(["url", "pushurl"])

/** The URL without a password, and without the user's name if that may be a token. */
const withoutCredentials = (url: string): string =>
  url.replace(/^(https?:\/\/)[^/@]*@/i, "$1").replace(/^([a-z][a-z0-9+.-]*:\/\/[^/@:]*):[^/@]*@/i, "$1@")

/** A transport that starts a program. */
const namesProgram = (url: string): boolean => /^[a-z0-9+.-]*::/i.test(url)

const copied = (setting: GitSetting): ReadonlyArray<GitSetting> => {
  const { key, section, subsection, value } = setting
  if (section === "filter" && subsection === "lfs")
    return LFS[key]?.includes(value ?? "true") === true ? [setting] : []
  if (COPIED[section]?.includes(key) !== true) return []
  if (!URLS.has(key) || value === undefined) return [setting]
  return namesProgram(value) ? [] : [{ section, subsection, key, value: withoutCredentials(value) }]
}

/** The settings that are copied, in their order. */
const copiedSettings = (settings: ReadonlyArray<GitSetting>): ReadonlyArray<GitSetting> =>
  settings.flatMap(copied)

export type ObjectFormat = "sha1" | "sha256"

export interface WorkspaceRepository {
  readonly format: ObjectFormat
  /** Name of the remote that has the missing objects of a partial clone. */
  readonly partialRemote: string | undefined
  readonly settings: ReadonlyArray<GitSetting>
  /** Commits whose parents a shallow clone does not have, as git lists them. */
  readonly shallow: string | undefined
  readonly exclude: string | undefined
}

/** A folder with objects, as git names it, and its real path. */
export interface ObjectFolder {
  readonly path: string
  readonly real: string
}

const MAX_SETTINGS = 1_048_576
const MAX_SHALLOW = 16_777_216
const MAX_FOLDERS = 20
/** As deep as git follows alternates. */
const MAX_DEPTH = 5

const valueOf = (settings: ReadonlyArray<GitSetting>, section: string, key: string): string | undefined =>
  settings.findLast((setting) => setting.section === section && setting.key === key)?.value

/** Reads the repository at `folder`, a `.git`. */
export const readWorkspaceRepository = (folder: string): WorkspaceRepository => {
  const settings = gitSettings(smallFile(join(folder, "config"), MAX_SETTINGS) ?? "")
  return {
    format: valueOf(settings, "extensions", "objectformat")?.toLowerCase() === "sha256" ? "sha256" : "sha1",
    partialRemote:
      valueOf(settings, "extensions", "partialclone") ??
      settings.find(
        ({ key, section, value }) => section === "remote" && key === "promisor" && value === "true"
      )?.subsection,
    settings: copiedSettings(settings),
    shallow: smallFile(join(folder, "shallow"), MAX_SHALLOW),
    exclude: smallFile(join(folder, "info", "exclude"))
  }
}

/** The real path of a folder of objects: it is called so, and is part of a repository. */
const objectFolder = (path: string): string | undefined => {
  try {
    const real = realpathSync(path)
    const isFolder = (each: string) => lstatSync(each, { throwIfNoEntry: false })?.isDirectory() === true
    const around = dirname(real)
    const isPart =
      isFolder(join(around, "refs")) && lstatSync(join(around, "HEAD"), { throwIfNoEntry: false })
    return basename(real) === "objects" && isFolder(real) && isPart !== false && isPart !== undefined
      ? real
      : undefined
  } catch {
    return undefined
  }
}

/** Folders whose objects the repository at `folder` has: its own, and those that it borrows from. Others are left out. */
export const objectFoldersOf = (folder: string): ReadonlyArray<ObjectFolder> => {
  const found = new Map<string, ObjectFolder>()
  let level = [join(folder, "objects")]
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const next: Array<string> = []
    for (const path of level) {
      const real = objectFolder(path)
      if (real === undefined || found.has(path) || found.size >= MAX_FOLDERS) continue
      found.set(path, { path, real })
      const lines = (smallFile(join(real, "info", "alternates")) ?? "").split("\n")
      for (const line of lines)
        if (line !== "" && !line.startsWith("#"))
          next.push(isAbsolute(line) ? resolve(line) : resolve(path, line))
    }
    level = next
  }
  return [...found.values()]
}

/** Location of a repository. */
export interface GitFolder {
  /** Holds `objects`, `refs` and `config`. */
  readonly common: string
  /** Holds `HEAD` and `index`: of a worktree, the folder of that worktree. */
  readonly folder: string
  /** Whether it is a real folder of the workspace, and nothing in it that git writes to is a link to another place. */
  readonly inside: boolean
}

const firstLine = (path: string): string | undefined => smallFile(path)?.split("\n", 1)[0]?.trim()

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
const isNone = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) === undefined

/** Folders in which git moves refs of the Edge. It adds a line to a reflog that exists. */
const OF_REFS = ["refs", "logs/refs"].flatMap((folder) => [
  folder,
  ...["heads", "heads/corral", "corral", "corral/keep"].map((name) => `${folder}/${name}`)
])
/** Folders that the Edge's git writes to. */
const WRITTEN = ["objects/info", "objects/pack", "logs", ...OF_REFS, "worktrees"]

const areReal = (folder: string, names: ReadonlyArray<string>): boolean =>
  names.every((name) => isNone(join(folder, name)) || isFolder(join(folder, name)))

/** Whether no folder in which git moves refs is a link to another place. */
export const hasRealRefs = (folder: string): boolean =>
  isFolder(folder) && areReal(folder, ["logs", ...OF_REFS])

/** Whether everything that git writes to in the repository is in its folder. */
export const isWholeRepository = (folder: string): boolean =>
  isFolder(folder) &&
  isNone(join(folder, "commondir")) &&
  isFolder(join(folder, "objects")) &&
  areReal(folder, WRITTEN)

/** `undefined` if the folder is not the root of a repository. */
export const gitFolderOf = (root: string): GitFolder | undefined => {
  const at = join(root, ".git")
  if (isFolder(at)) return { common: at, folder: at, inside: isWholeRepository(at) }
  const named = /^gitdir: (.+)$/.exec(firstLine(at) ?? "")?.[1]
  if (named === undefined) return undefined
  const folder = resolve(root, named)
  const common = firstLine(join(folder, "commondir"))
  return { common: common === undefined ? folder : resolve(folder, common), folder, inside: false }
}

interface NewRepository {
  readonly runId: string
  /** Real path of the workspace. */
  readonly root: string
}

const END = ".new-repository"

const fileOf = (home: string, runId: string): string => join(home, "repositories", `${runId}${END}`)

/** Records the folder, before the run's program receives its prompt. */
export const startNewRepository = (home: string, { root, runId }: NewRepository): void => {
  const file = fileOf(home, runId)
  makeFolder(dirname(file))
  writeFileSync(file, root, { mode: 0o600 })
}

export const endNewRepository = (home: string, runId: string): void =>
  rmSync(fileOf(home, runId), { force: true })

export const newRepositories = (home: string): ReadonlyArray<NewRepository> =>
  folderEntries(join(home, "repositories")).flatMap(({ name }) => {
    const root = name.endsWith(END) ? smallFile(join(home, "repositories", name)) : undefined
    return root === undefined ? [] : [{ root, runId: basename(name, END) }]
  })

/** Whether the repository, a `.git`, borrows objects by a list that a run may have made. */
export const mayBorrowForRun = (home: string, repository: string): boolean =>
  newRepositories(home).some(({ root }) => join(root, ".git") === repository) &&
  (statSync(join(repository, "objects/info/alternates"), { throwIfNoEntry: false })?.size ?? 0) > 0
