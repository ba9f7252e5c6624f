/**
 * External adapters: packages and files that `edge.config.json` lists under `adapters`, loaded once at start.
 *
 * They are ES modules with the rights of the Edge. The start fails with one sentence if a listed adapter cannot be trusted, found or imported,
 * or has the wrong shape.
 */
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Data, Effect, Result } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { dirname, isAbsolute, join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { adapterOf } from "./AdapterShape.ts"
import { distrustReason } from "./TrustedFiles.ts"

export class AdapterRefused extends Data.TaggedError("AdapterRefused")<{ readonly message: string }> {}

interface Located {
  readonly file: string
  /** The folder of a package. */
  readonly root?: string | undefined
}

const IMPORT_PATIENCE = "10 seconds"

const isPath = (specifier: string): boolean => specifier.startsWith(".") || isAbsolute(specifier)

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

const entryOf = (root: string): string => {
  const { exports, main }: { readonly exports?: unknown; readonly main?: unknown } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )
  return resolve(root, exported(exports) ?? (typeof main === "string" ? main : "index.js"))
}

/** Packages are resolved as in Node, from the folder of the configuration upwards. */
const locate = (specifier: string, from: string): Located | undefined => {
  if (isPath(specifier)) {
    const path = resolve(from, specifier)
    if (existsSync(join(path, "package.json"))) return { root: path, file: entryOf(path) }
    return existsSync(path) ? { file: path } : undefined
  }
  for (let folder = from; ; folder = dirname(folder)) {
    const root = join(folder, "node_modules", specifier)
    if (existsSync(join(root, "package.json"))) return { root, file: entryOf(root) }
    if (folder === dirname(folder)) return undefined
  }
}

const saidBy = (cause: unknown): string =>
  String(cause instanceof Error ? cause.message : cause)
    .split("\n", 1)[0]
    ?.slice(0, 300) ?? ""

const loadOne = Effect.fnUntraced(function* (
  specifier: string,
  configFile: string
): Effect.fn.Return<AnyRuntimeAdapter, AdapterRefused> {
  const refused = (why: string) =>
    new AdapterRefused({ message: `The adapter ${specifier} in ${configFile} is not loaded: ${why}.` })
  const located = yield* Effect.try({
    try: () => {
      const found = locate(specifier, dirname(configFile))
      return found === undefined
        ? undefined
        : { ...found, distrusted: distrustReason(found.file, found.root) }
    },
    catch: (cause) => refused(`it cannot be read (${saidBy(cause)})`)
  })
  if (located === undefined) return yield* refused("it is not there")
  if (located.distrusted !== undefined) return yield* refused(located.distrusted)
  const module = yield* Effect.tryPromise({
    try: (): Promise<Readonly<Record<string, unknown>>> => import(pathToFileURL(located.file).href),
    catch: (cause) => refused(`importing it failed (${saidBy(cause)})`)
  }).pipe(
    Effect.timeoutOrElse({
      duration: IMPORT_PATIENCE,
      orElse: () => Effect.fail(refused(`importing it took longer than ${IMPORT_PATIENCE}`))
    })
  )
  return yield* Result.match(adapterOf(module), {
    onSuccess: (adapter) => Effect.succeed(adapter),
    onFailure: (why) => Effect.fail(refused(why))
  })
})

/** Built-in and listed adapters, by id. */
export const loadAdapters = Effect.fn("AdapterPackages.load")(function* (
  configFile: string | undefined,
  specifiers: ReadonlyArray<string>,
  adapters: ReadonlyMap<string, AnyRuntimeAdapter>
): Effect.fn.Return<ReadonlyMap<string, AnyRuntimeAdapter>, AdapterRefused> {
  if (configFile === undefined || specifiers.length === 0) return adapters
  const all = new Map(adapters)
  for (const specifier of specifiers) {
    const adapter = yield* loadOne(specifier, resolve(configFile))
    if (all.has(adapter.id)) {
      const message = `The adapter ${specifier} in ${configFile} is not loaded: its id ${adapter.id} is taken.`
      return yield* new AdapterRefused({ message })
    }
    all.set(adapter.id, adapter)
  }
  return all
})
