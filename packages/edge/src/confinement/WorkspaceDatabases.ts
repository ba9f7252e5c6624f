/**
 * Databases of runtimes for the confined runs of one workspace, in the Edge's home. The user's own database of all workspaces is not used.
 *
 * Guarantees: those that no run used for the days of the retention are removed, except those of runs of this Edge.
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { existsSync, lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { removeTemporary } from "../process/TemporaryFolder.ts"

const DAY_MS = 86_400_000

/** The newest change of a folder or an entry in it. Runs have made the entries: no link is followed. */
const usedAt = (folder: string): number =>
  Math.max(
    lstatSync(folder).mtimeMs,
    ...readdirSync(folder).map(
      (name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
    )
  )

export class WorkspaceDatabases {
  readonly #around: string
  /** Those that runs of this Edge have used. */
  readonly #used = new Set<string>()

  constructor(edgeHome: string) {
    this.#around = join(edgeHome, "databases")
  }

  /** Folder of a workspace, and of the folder that its runs work in, for the runtime whose state is in a folder of the user. */
  folderOf(workspace: string, root: string, stateRoot: string): string {
    const name = createHash("sha256").update(`${workspace}\0${root}\0${stateRoot}`).digest("hex")
    const folder = join(this.#around, name.slice(0, 32))
    this.#used.add(folder)
    return folder
  }

  /** Removes those that no run used for the days. `days` of 0: none. */
  sweep(days: number, now: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (days === 0 || !existsSync(this.#around)) return Effect.void
      const old = readdirSync(this.#around)
        .map((name) => join(this.#around, name))
        .filter((folder) => !this.#used.has(folder) && usedAt(folder) < now - days * DAY_MS)
      return Effect.forEach(old, removeTemporary, { discard: true })
    }).pipe(Effect.catchCause((cause) => Effect.logWarning("failed to remove old databases", cause)))
  }
}
