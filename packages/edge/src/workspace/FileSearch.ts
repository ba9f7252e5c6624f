/**
 * Search for files of a workspace by parts of their names.
 *
 * Guarantees: the names of a workspace are read once for the keys of one word: they are kept for some seconds. A search takes as many steps as
 * there are names, and lets other work continue in between.
 */
import type { FileEntry, FoundFiles } from "@corral/domain/device/Workspace"
import { Cache, Context, Effect, Layer } from "effect"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import {
  type FileNames,
  RANKS,
  type SearchedPath,
  byLength,
  isEntryOf,
  rankOf,
  readFileNames
} from "./FileNames.ts"

/** Workspaces whose names are kept at a time. */
const CACHED_WORKSPACES = 4
const CACHED_FOR = "10 seconds"
/** Names between two pauses. */
const STEP = 5_000

export class FileSearch extends Context.Service<
  FileSearch,
  {
    /** Best matches first. Without a query: the entries of the root. `root`: the real path of a workspace. */
    readonly find: (root: string, query: string, limit: number) => Effect.Effect<FoundFiles>
  }
>()("corral/edge/FileSearch") {
  static readonly layer = Layer.effect(
    FileSearch,
    Effect.gen(function* () {
      const { environment } = yield* EdgeConfig
      const program = findProgram("git", environment["PATH"])
      const names = yield* Cache.make({
        capacity: CACHED_WORKSPACES,
        timeToLive: CACHED_FOR,
        lookup: (root: string) => readFileNames(program, root)
      })
      return FileSearch.of({
        find: Effect.fn("FileSearch.find")(function* (root, query, limit) {
          return yield* matching(yield* Cache.get(names, root), query, limit)
        })
      })
    })
  )
}

/** `./src` and `src` are the same. */
const normalized = (query: string): string =>
  query
    .trim()
    .toLowerCase()
    .replace(/^(?:\.?\/)+/u, "")

/** One for the entries of a folder, then one for each rank. */
const GROUPS = RANKS + 1

const groupOf = (name: SearchedPath, part: string, folder: string | undefined): number | undefined => {
  if (folder !== undefined && isEntryOf(name, folder)) return 0
  const rank = part === "" ? undefined : rankOf(name, part)
  return rank === undefined ? undefined : rank + 1
}

const matching = Effect.fnUntraced(function* ({ isCut, names }: FileNames, query: string, limit: number) {
  const part = normalized(query)
  // Entries of a folder before what matches its name.
  const folder = part === "" || part.endsWith("/") ? part : undefined
  const groups = Array.from({ length: 2 * GROUPS }, (): Array<SearchedPath> => [])
  for (const [at, name] of names.entries()) {
    if (at % STEP === STEP - 1) yield* Effect.yieldNow
    const group = groupOf(name, part, folder)
    if (group !== undefined) groups[(name.isIgnored ? GROUPS : 0) + group]?.push(name)
  }
  const items: Array<FileEntry> = []
  for (const group of groups) {
    if (items.length === limit) break
    for (const { kind, nameAt, path } of group.toSorted(byLength).slice(0, limit - items.length))
      items.push({ path, name: path.slice(nameAt), kind })
  }
  const found: FoundFiles = isCut ? { items, truncated: true } : { items }
  return found
})
