/**
 * Files of a workspace that the settings of its repository, and the user's own git settings, name as programs, as further settings, or as folders of
 * such. Git runs or obeys them later. They need not exist.
 *
 * Guarantees: no list of settings that run something. Every value counts that could name a file of the workspace, in a command or by itself, except
 * in sections that only hold data. Includes are followed on any condition.
 *
 * Does not: run git, or read a program to find what it runs.
 */
import { lstatSync, realpathSync } from "node:fs"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"
import { type GitSetting, gitSettings } from "../workspace/GitSettings.ts"
import { isWithin } from "../workspace/PathText.ts"
import { smallFile } from "../workspace/UntrustedFiles.ts"

const MAX_SETTINGS = 1_048_576
/** Files of settings that are read. */
const MAX_SOURCES = 30
/** Names that are protected. */
const MAX_FILES = 500
/** Words of one value, and parts of a path. */
const MAX_WORDS = 100

/** Sections whose values are names of people, branches and colors. */
const DATA = new Set([
  "user",
  "author",
  "committer",
  "branch",
  "color",
  "gc",
  "pack",
  "i18n",
  "url",
  "advice"
])
/** Keys whose value is a path, and may be a folder. */
const isPathKey = (key: string): boolean => /(?:path|dir|template)$/.test(key)

interface NamedFile {
  /** Absolute, in the workspace. */
  readonly path: string
  readonly kind: "file" | "folder" | "missing"
}

const kindOf = (path: string): NamedFile["kind"] | "other" => {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return "missing"
  if (stat.isDirectory()) return "folder"
  return stat.isFile() || stat.isSymbolicLink() ? "file" : "other"
}

/** Words of a command as shells might split it, quoted parts, and the value itself. */
const wordsOf = (value: string): ReadonlyArray<string> => {
  const quoted = [...value.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g)].flatMap(([, a, b]) => a ?? b ?? [])
  const plain = value.split(/[\s'"`;|&<>(){}$=,:!]+/)
  return [...new Set([value, ...quoted, ...plain])].filter((word) => word !== "").slice(0, MAX_WORDS)
}

/** Ends of a path that begins with a variable or a substitution: `$PWD/tools/x`. */
const endsOf = (word: string): ReadonlyArray<string> =>
  word
    .split("/")
    .slice(0, MAX_WORDS)
    .map((_, at, names) => names.slice(at + 1).join("/"))
    .filter((end) => end !== "")

class SettingsWalk {
  readonly #root: string
  readonly #home: string | undefined
  readonly #found = new Map<string, NamedFile>()
  readonly #sources = new Set<string>()

  constructor(root: string, home: string | undefined) {
    this.#root = root
    this.#home = home
  }

  /** Reads a file of settings, and those that it includes. */
  read(source: string): void {
    if (this.#sources.has(source) || this.#sources.size >= MAX_SOURCES) return
    this.#sources.add(source)
    for (const setting of gitSettings(smallFile(source, MAX_SETTINGS) ?? "")) {
      const { key, section, value } = setting
      if (value === undefined) continue
      if ((section === "include" || section === "includeif") && key === "path") {
        const path = this.#resolved(value, dirname(source))
        this.#add(path, true)
        this.read(path)
      } else if (!DATA.has(section)) this.#judge(setting, value)
    }
  }

  get files(): ReadonlyArray<NamedFile> {
    return [...this.#found.values()]
  }

  #judge({ key }: GitSetting, value: string): void {
    const isPath = isPathKey(key)
    if (isPath) this.#add(this.#resolved(value, this.#root), true)
    for (const word of wordsOf(value)) {
      const path = this.#resolved(word, this.#root)
      if (word.includes("/")) this.#add(path, isPath)
      else if (kindOf(path) === "file") this.#add(path, false)
      // What follows a variable may not exist yet.
      for (const [at, end] of endsOf(word).entries()) {
        const inside = join(this.#root, end)
        if (kindOf(inside) === "file" || (at === 0 && end.includes("/"))) this.#add(inside, false)
      }
    }
  }

  #resolved(path: string, folder: string): string {
    if (path.startsWith("~/") && this.#home !== undefined) return join(this.#home, path.slice(2))
    return isAbsolute(path) ? resolve(path) : resolve(folder, path)
  }

  #add(path: string, mayBeFolder: boolean): void {
    const isOfRepository = isWithin(join(this.#root, ".git"), path)
    if (path === this.#root || !isWithin(this.#root, path) || isOfRepository) return
    const kind = kindOf(path)
    if (kind === "other" || (kind === "folder" && !mayBeFolder) || this.#found.size >= MAX_FILES) return
    this.#found.set(path, { path, kind })
  }
}

/** The files, by their names. `root`: real path of the workspace. `home`: the user's home. */
export const configuredFiles = (root: string, home: string | undefined): ReadonlyArray<NamedFile> => {
  const walk = new SettingsWalk(root, home)
  const repository = join(root, ".git")
  if (kindOf(repository) !== "folder") return []
  for (const name of ["config", "config.worktree"]) walk.read(join(repository, name))
  if (home !== undefined) for (const name of [".gitconfig", ".config/git/config"]) walk.read(join(home, name))
  return walk.files
}

/** Those of the files that exist, by their real paths in the workspace. */
export const existingConfiguredFiles = (root: string, home: string | undefined): ReadonlyArray<string> => [
  ...new Set(
    configuredFiles(root, home).flatMap(({ kind, path }) => {
      if (kind === "missing") return []
      try {
        const real = realpathSync(path)
        return real !== root && isWithin(root, real) ? [real] : []
      } catch {
        return []
      }
    })
  )
]

/** The files relative to the workspace. */
export const configuredNames = (root: string, home: string | undefined): ReadonlyArray<string> =>
  configuredFiles(root, home).map(({ path }) => relative(root, path))
