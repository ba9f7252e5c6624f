/**
 * Lasting caches of workspaces, in the Edge's home: one folder for each workspace and each worktree.
 *
 * Guarantees: only the user may read them. Each hour, those that no run used for the days of the retention are removed, then the oldest until
 * all are within their limit. The caches of a live run are not removed.
 *
 * Does not: limit a run while it writes.
 */
import type { WorkspaceId } from "@corral/domain/identity/Ids"
import type { RunMode } from "@corral/domain/run/Run"
import { makeFolder } from "@corral/service/MakeFolder"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, renameSync, statSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { removeTemporary } from "../process/TemporaryFolder.ts"
import { type MountedCache, cachesOf, canWrite } from "./ConfinedRoot.ts"
import { lstat, readdir } from "node:fs/promises"

// Space that a folder takes on the disk. Links are not followed.

/** Bound of the work on a folder that a run filled. */
const MAX_ENTRIES = 1_000_000
/** An entry of a folder takes space, too. */
const ENTRY_BYTES = 512
const BLOCK_BYTES = 512

/** In bytes; `Infinity` for a folder with more than a million entries. What cannot be read does not count. */
const folderSize = async (folder: string): Promise<number> => {
  const folders = [folder]
  let size = 0
  let entries = 0
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    const found = await readdir(at, { withFileTypes: true }).catch(() => [])
    entries += found.length
    if (entries > MAX_ENTRIES) return Number.POSITIVE_INFINITY
    for (const entry of found) {
      const path = join(at, entry.name)
      const stat = await lstat(path).catch(() => undefined)
      size += ENTRY_BYTES + (stat?.blocks ?? 0) * BLOCK_BYTES
      if (entry.isDirectory()) folders.push(path)
    }
  }
  return size
}

export interface CacheUser {
  /** Without a workspace, the caches are deleted with the run. */
  readonly workspace: WorkspaceId | undefined
  /** Real path of the folder that the run works in: a worktree has its own caches. */
  readonly root: string
  readonly mode: RunMode
  readonly home: string
}

export class WorkspaceCaches extends Context.Service<
  WorkspaceCaches,
  {
    /** The caches of a run, which stay until the scope closes. Fails with the system's message. */
    readonly open: (user: CacheUser) => Effect.Effect<ReadonlyArray<MountedCache>, string, Scope.Scope>
    /** Removes old caches, and the oldest if all are too large. */
    readonly sweep: Effect.Effect<void>
  }
>()("corral/edge/WorkspaceCaches") {
  static readonly layer = Layer.effect(
    WorkspaceCaches,
    Effect.map(EdgeConfig, (config) => make(config))
  )
}

const DAY_MS = 86_400_000
const MIB = 1_048_576
/** Folders that are being removed. A run that starts meanwhile gets a new one. */
const REMOVED = "removed-"

/** Folder of the caches of a workspace. */
export const cacheFolderOf = (edgeHome: string, workspace: WorkspaceId, root: string): string =>
  join(edgeHome, "caches", createHash("sha256").update(`${workspace}\0${root}`).digest("hex").slice(0, 32))

interface StoredCaches {
  readonly path: string
  /** Unix milliseconds. */
  readonly usedAt: number
}

const storedIn = (around: string): ReadonlyArray<StoredCaches> =>
  existsSync(around)
    ? readdirSync(around).map((name) => {
        const path = join(around, name)
        return { path, usedAt: statSync(path).mtimeMs }
      })
    : []

const make = ({ cacheMaxMiB, home: edgeHome, retention: { days } }: EdgeConfig) => {
  const around = join(edgeHome, "caches")
  /** Number of live runs by folder. */
  const users = new Map<string, number>()
  const sizes = new Map<string, { readonly usedAt: number; readonly size: number }>()
  let removals = 0

  const markUse = Effect.fnUntraced(function* (folder: string, change: 1 | -1) {
    const seconds = (yield* Clock.currentTimeMillis) / 1_000
    const count = (users.get(folder) ?? 0) + change
    if (count === 0) users.delete(folder)
    else users.set(folder, count)
    yield* Effect.ignore(Effect.try(() => utimesSync(folder, seconds, seconds)))
  })

  const open = Effect.fn("WorkspaceCaches.open")(function* ({ home, mode, root, workspace }: CacheUser) {
    const folder = workspace === undefined ? undefined : cacheFolderOf(edgeHome, workspace, root)
    const caches = cachesOf(canWrite(mode), folder, (name) => existsSync(join(home, name)))
    if (folder === undefined) return caches
    yield* Effect.try({
      try: () => caches.forEach(({ source }) => source !== undefined && makeFolder(source)),
      catch: String
    })
    yield* Effect.acquireRelease(markUse(folder, 1), () => markUse(folder, -1))
    return caches
  })

  const remove = Effect.fnUntraced(function* ({ path }: StoredCaches) {
    const removed = join(around, `${REMOVED}${process.pid}-${removals++}`)
    renameSync(path, removed)
    sizes.delete(path)
    yield* removeTemporary(removed)
  })

  const sizeOf = Effect.fnUntraced(function* ({ path, usedAt }: StoredCaches) {
    const measured = sizes.get(path)
    if (measured?.usedAt === usedAt && !users.has(path)) return measured.size
    const size = yield* Effect.promise(() => folderSize(path))
    sizes.set(path, { usedAt, size })
    return size
  })

  const sweep = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const { path } of storedIn(around)) {
      if (path.includes(`/${REMOVED}`)) yield* removeTemporary(path)
    }
    for (const caches of storedIn(around)) {
      const isOld = days > 0 && caches.usedAt < now - days * DAY_MS
      if (isOld && !users.has(caches.path)) yield* remove(caches)
    }
    if (cacheMaxMiB === 0) return
    const measured: Array<StoredCaches & { readonly size: number }> = []
    for (const caches of storedIn(around)) measured.push({ ...caches, size: yield* sizeOf(caches) })
    let total = measured.reduce((sum, { size }) => sum + size, 0)
    for (const caches of measured.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (total <= cacheMaxMiB * MIB) return
      if (users.has(caches.path)) continue
      yield* remove(caches)
      total -= caches.size
    }
  })
  return WorkspaceCaches.of({
    open,
    sweep: Effect.catchCause(sweep, (cause) => Effect.logWarning("failed to remove old caches", cause))
  })
}
