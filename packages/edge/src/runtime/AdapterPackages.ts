/**
 * External adapters: packages and files that `edge.config.json` lists under `adapters`, loaded once at start, each in its own thread, after a check
 * of the ownership of their code.
 *
 * Guarantees: an adapter that cannot be trusted, found or loaded, or that does not fit, is left out with one sentence. The others are loaded. Every
 * file, of its package and of the packages that this one depends on, and every folder above belongs to the Edge's user or root, and others cannot
 * write to it. A parent folder with the sticky bit is allowed: others cannot replace its entries.
 */
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Data, Effect, type Scope } from "effect"
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs"
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path"
import { causeLine } from "./CauseLine.ts"
import { openThreadedAdapter, type ThreadedAdapterOptions } from "./ThreadedAdapter.ts"

// Packages that the module of an external adapter can import: the dependencies of its package, as Node finds them, and theirs.
//
// Does not: read modules. An import of a package that no manifest names is not found.

/** Maximum number of packages, more than an adapter needs. */
const MAX_PACKAGES = 1_000

const namesIn = (root: string): ReadonlyArray<string> => {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    return ["dependencies", "peerDependencies", "optionalDependencies"].flatMap((field) =>
      Object.keys(Object(Reflect.get(Object(manifest), field)))
    )
  } catch {
    // Node cannot import such a package either.
    return []
  }
}

/** The folder of a package as a module in another folder finds it. */
const folderOf = (name: string, from: string): string | undefined => {
  const place = join(from, "node_modules", name)
  if (existsSync(join(place, "package.json"))) return realpathSync(place)
  return from === dirname(from) ? undefined : folderOf(name, dirname(from))
}

/** Real paths of the folders, without the package itself. */
const dependencyFolders = (root: string): ReadonlyArray<string> => {
  const found = new Set([realpathSync(root)])
  for (const folder of found) {
    for (const name of namesIn(folder)) {
      const place = folderOf(name, folder)
      if (place !== undefined) found.add(place)
    }
    if (found.size > MAX_PACKAGES) break
  }
  return [...found].slice(1)
}

/** Maximum number of files, more than a package of code has. */
const MAX_FILES = 20_000
const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000

const unsafe = (path: string, stat: Stats, isAbove: boolean): string | undefined => {
  const ours = process.getuid === undefined || stat.uid === process.getuid() || stat.uid === 0
  if (!ours) return `${path} belongs to another user`
  // The permissions of a symbolic link have no effect.
  if (stat.isSymbolicLink() || (stat.mode & WRITABLE_BY_OTHERS) === 0) return undefined
  return isAbove && (stat.mode & STICKY) !== 0
    ? undefined
    : `other users can write ${path}; run chmod -R go-w ${path}`
}

const above = (path: string): ReadonlyArray<string> => {
  const folders: Array<string> = []
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    folders.push(folder)
    if (folder === dirname(folder)) return folders
  }
}

/** First reason why others can change this path or a folder above it. */
const reasonAround = (path: string): string | undefined => {
  const fileReason = unsafe(path, lstatSync(path), false)
  if (fileReason !== undefined) return fileReason
  for (const folder of above(path)) {
    const reason = unsafe(folder, lstatSync(folder), true)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** The first reason inside a folder. `deep` includes its subfolders. */
const reasonInside = (root: string, deep: boolean): string | undefined => {
  const waiting = [root]
  let files = 0
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (!deep && !/\.(?:[cm]?js|json)$/.test(entry.name)) continue
      if (++files > MAX_FILES) return `${root} has more than ${MAX_FILES} files`
      const stat = lstatSync(path)
      const reason = stat.isSymbolicLink() ? reasonAround(realpathSync(path)) : unsafe(path, stat, false)
      if (reason !== undefined) return reason
      if (deep && stat.isDirectory()) waiting.push(path)
    }
  }
  return undefined
}

/** The first reason in the packages that a package depends on. Folders in another one of them are examined with that one. */
const reasonInDependencies = (root: string): string | undefined => {
  const examined: Array<string> = [realpathSync(root)]
  for (const folder of dependencyFolders(root)) {
    if (examined.some((each) => folder.startsWith(`${each}${sep}`))) continue
    const reason = reasonAround(folder) ?? reasonInside(folder, true)
    if (reason !== undefined) return reason
    examined.push(folder)
  }
  return undefined
}

/** Reason why a file must not run, as words after "because"; `undefined` if it may. `root` is the folder of its package. */
export const distrustReason = (file: string, root?: string): string | undefined => {
  const real = realpathSync(file)
  if (!statSync(real).isFile()) return `${basename(file)} is not a file`
  const reason = reasonAround(file) ?? reasonAround(real)
  if (reason !== undefined) return reason
  return root === undefined
    ? reasonInside(dirname(real), false)
    : (reasonInside(realpathSync(root), true) ?? reasonInDependencies(root))
}

// Files of external adapters: packages are resolved as in Node, from the folder of the configuration upwards.

export interface AdapterFile {
  readonly file: string
  /** The folder of a package. */
  readonly root?: string | undefined
  readonly version?: string | undefined
}

interface PackageManifest {
  readonly exports?: unknown
  readonly main?: unknown
  readonly version?: unknown
}

/** Whether an entry of `adapters` is a path, and not the name of a package. */
export const isAdapterPath = (specifier: string): boolean =>
  specifier.startsWith(".") || isAbsolute(specifier)

/** The file that the conditions of `exports` select. */
const exported = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (key === "." || key === "import" || key === "node" || key === "default") {
      const found = exported(inner)
      if (found !== undefined) return found
    }
  }
  return undefined
}

const packageAt = (root: string): AdapterFile => {
  const { exports, main, version }: PackageManifest = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )
  const file = resolve(root, exported(exports) ?? (typeof main === "string" ? main : "index.js"))
  return { root, file, ...(typeof version === "string" ? { version } : {}) }
}

/** The module of an entry of `adapters`; `undefined` if there is none. Throws if a package cannot be read. */
export const locateAdapter = (specifier: string, from: string): AdapterFile | undefined => {
  if (isAdapterPath(specifier)) {
    const path = resolve(from, specifier)
    if (existsSync(join(path, "package.json"))) return packageAt(path)
    return existsSync(path) ? { file: path } : undefined
  }
  for (let folder = from; ; folder = dirname(folder)) {
    const root = join(folder, "node_modules", specifier)
    if (existsSync(join(root, "package.json"))) return packageAt(root)
    if (folder === dirname(folder)) return undefined
  }
}

/** `reason` is a clause. */
export class AdapterRefused extends Data.TaggedError("AdapterRefused")<{
  readonly specifier: string
  readonly reason: string
}> {
  override get message(): string {
    return `The adapter ${this.specifier} is not loaded: ${this.reason}.`
  }
}

export interface LoadedAdapters {
  /** Built-in and listed adapters, by id. */
  readonly adapters: ReadonlyMap<string, AnyRuntimeAdapter>
  /** A sentence about each listed adapter that is not loaded, or whose last run failed by its own fault. */
  readonly problems: () => ReadonlyArray<string>
}

/** Loads an entry of `adapters`, relative to a folder, until the scope closes. */
export const loadAdapter = Effect.fnUntraced(function* (
  specifier: string,
  folder: string,
  options: Omit<ThreadedAdapterOptions, "file">
): Effect.fn.Return<AnyRuntimeAdapter, AdapterRefused, Scope.Scope> {
  const refused = (reason: string) => new AdapterRefused({ specifier, reason })
  const located = yield* Effect.try({
    try: () => {
      const found = locateAdapter(specifier, folder)
      return found === undefined
        ? undefined
        : { ...found, distrusted: distrustReason(found.file, found.root) }
    },
    catch: (cause) => refused(`it cannot be read (${causeLine(cause)})`)
  })
  if (located === undefined) return yield* refused("it is not there")
  if (located.distrusted !== undefined) return yield* refused(located.distrusted)
  return yield* Effect.mapError(openThreadedAdapter({ ...options, file: located.file }), refused)
})

/** Built-in and listed adapters. `configFile` is the file with the list. */
export const loadAdapters = Effect.fn("AdapterPackages.load")(function* (
  configFile: string | undefined,
  specifiers: ReadonlyArray<string>,
  adapters: ReadonlyMap<string, AnyRuntimeAdapter>,
  environment: ThreadedAdapterOptions["environment"] = {}
): Effect.fn.Return<LoadedAdapters, never, Scope.Scope> {
  const faults = new Map<string, string>()
  const report: ThreadedAdapterOptions["report"] = (id, problem, where = "") => {
    const key = `${id} ${where}`
    if (problem === undefined) faults.delete(key)
    else faults.set(key, problem)
  }
  const folder = configFile === undefined ? "." : dirname(resolve(configFile))
  const opened = yield* Effect.forEach(
    specifiers,
    (specifier) =>
      Effect.match(loadAdapter(specifier, folder, { environment, report }), {
        onSuccess: (adapter) => ({ specifier, adapter }),
        onFailure: (refused) => refused
      }),
    { concurrency: "unbounded" }
  )
  const all = new Map(adapters)
  const refused: Array<AdapterRefused> = []
  for (const each of opened) {
    if (each instanceof AdapterRefused) refused.push(each)
    else if (all.has(each.adapter.id))
      refused.push(
        new AdapterRefused({ specifier: each.specifier, reason: `its id ${each.adapter.id} is taken` })
      )
    else all.set(each.adapter.id, each.adapter)
  }
  for (const { message } of refused) yield* Effect.logWarning("left out an adapter", { problem: message })
  return { adapters: all, problems: () => [...refused.map(({ message }) => message), ...faults.values()] }
})
