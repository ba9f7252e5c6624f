/**
 * External adapters: packages and files that `edge.config.json` lists under `adapters`, loaded once at start, each in its own thread.
 *
 * Guarantees: an adapter that cannot be trusted, found or loaded, or that does not fit, is left out with one sentence. The others are loaded.
 */
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Data, Effect, type Scope } from "effect"
import { dirname, isAbsolute, join, resolve } from "node:path"
import { causeLine } from "./CauseLine.ts"
import { type ThreadedAdapterOptions, openThreadedAdapter } from "./ThreadedAdapter.ts"
import { distrustReason } from "./TrustedFiles.ts"
import { existsSync, readFileSync } from "node:fs"

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
