/**
 * Files above a layer or a worktree, for a command whose writes are thrown away: a further overlay, or a copy.
 *
 * Guarantees: the layer, the worktree and the workspace stay as they are. What is written is removed with the scope, or by the next start.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { chmodSync, statSync } from "node:fs"
import { join } from "node:path"
import { removeFolder, removeTemporary } from "../process/TemporaryFolder.ts"
import { folderEntries } from "../workspace/UntrustedFiles.ts"
import { copyTree, type LayerChecks } from "./LayerMeans.ts"
import { type LayerFiles, type LayerMount, mounted, mountLayer } from "./LayerMounts.ts"
import { layerPlaces } from "./LayerRows.ts"

/** What is below. */
export interface FilesBelow {
  /** Real path of the workspace or the worktree, at which the command sees the files. */
  readonly root: string
  /** Folder of the layer; `undefined` for a worktree. */
  readonly layer: string | undefined
  /** Whether the layer is an overlay. */
  readonly isOverlay: boolean
  readonly repository: LayerFiles["repository"]
}

/** Files for the confinement of the command. Readable until the scope closes. Fails with a phrase. */
export type ThrownAwayFiles = Effect.Effect<LayerFiles, string, Scope.Scope>

const PREFIX = "above-"

/** Removes what an earlier Edge left. */
export const removeThrownAway = (home: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const around = join(home, "layers")
    const left = folderEntries(around).filter(({ name }) => name.startsWith(PREFIX))
    return Effect.forEach(left, ({ name }) => removeTemporary(join(around, name)), { discard: true })
  })

const attempt = (work: () => void): Effect.Effect<void, string> => Effect.try({ try: work, catch: String })

/** A folder for what is written, until the scope closes. */
const openFolder = (home: string): Effect.Effect<string, string, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const folder = join(home, "layers", `${PREFIX}${randomUUID()}`)
      return Effect.as(
        attempt(() => makeFolder(folder, 0o700)),
        folder
      )
    }),
    (folder) => Effect.ignore(removeFolder(folder), { log: true })
  )

/** Opens the files until the scope closes. */
export const openThrownAway = Effect.fn("ThrownAway.open")(function* (
  { checks, home }: { readonly checks: LayerChecks; readonly home: string },
  { isOverlay, layer, repository, root }: FilesBelow
): Effect.fn.Return<ThrownAwayFiles, string, Scope.Scope> {
  const { programs } = checks
  const folder = yield* openFolder(home)
  const { below, copy, lower, upper, work } = layerPlaces(folder)
  const canMount = isOverlay || (layer === undefined && (yield* checks.meansFor(root, true)) === "overlayfs")
  if (canMount && programs !== undefined) {
    yield* attempt(() => {
      for (const each of [upper, work, lower, below]) makeFolder(each, 0o700)
      chmodSync(upper, statSync(root).mode & 0o7777)
    })
    const mount: LayerMount =
      layer === undefined
        ? { kind: "write", folder, root }
        : { kind: "above", folder, root, below: layerPlaces(layer).upper }
    const around: LayerFiles["around"] = (command) => mounted(programs, mount, command)
    if (layer === undefined) return Effect.succeed({ look: root, source: root, repository, around })
    return Effect.map(mountLayer(programs, { kind: "read", folder: layer, root }), ({ at }) => ({
      look: at(root),
      source: root,
      repository,
      around
    }))
  }
  if (isOverlay) return yield* Effect.fail("this machine can no longer mount the layer")
  yield* attempt(() => makeFolder(copy, 0o700))
  yield* copyTree(
    layer === undefined ? root : layerPlaces(layer).copy,
    copy,
    repository === undefined ? [] : [".git"]
  )
  // Place of the repository.
  if (repository !== undefined) yield* attempt(() => makeFolder(join(copy, ".git"), 0o700))
  return Effect.succeed({ look: copy, source: copy, repository, around: undefined })
})
