/**
 * External adapters: packages and files that `edge.config.json` lists under `adapters`, loaded once at start, each in its own thread.
 *
 * Guarantees: an adapter that cannot be trusted, found or loaded, or that does not fit, is left out with one sentence. The others are loaded.
 */
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Data, Effect, type Scope } from "effect"
import { dirname, resolve } from "node:path"
import { locateAdapter } from "./AdapterFiles.ts"
import { causeLine } from "./CauseLine.ts"
import { openThreadedAdapter, type ThreadedAdapterOptions } from "./ThreadedAdapter.ts"
import { distrustReason } from "./TrustedFiles.ts"

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
