/**
 * Repository of the runs of a layer: as for a worktree, the runs may do with it what they like, and no git of the Edge opens it. It is mounted at
 * the place of the workspace's repository, whose objects it borrows from another path.
 *
 * Guarantees: what the runs commit gets the ref `refs/corral/<run>` of the workspace's repository, and is merged nowhere.
 */
import type { WorktreeCommit } from "@corral/domain/run/Worktree"
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { join } from "node:path"
import { git, type GitFailed, type GitIsolation } from "../workspace/Git.ts"
import {
  gitFolderOf,
  type ObjectFolder,
  objectFoldersOf,
  readWorkspaceRepository,
  mayBorrowForRun
} from "../workspace/WorkspaceRepository.ts"
import { WorktreeCheckout } from "../workspace/WorktreeCheckout.ts"
import { runRepositoryOf, storeOf } from "../workspace/WorktreeRows.ts"
import type { LayerRow } from "./LayerRows.ts"

/** What a run sees of its repository. */
export interface LayerRepositoryFiles {
  /** The run's repository. */
  readonly folder: string
  /** Folders of objects of the workspace, and where the run sees them. */
  readonly objects: ReadonlyArray<ObjectFolder>
}

export interface LayerRepositoryOptions {
  readonly row: LayerRow
  /** Commit at which the repository started. */
  readonly commit: string
  /** Folder of the layer. */
  readonly folder: string
  /** Absolute path of git. */
  readonly program: string
  readonly isolation: GitIsolation
  readonly mark: Readonly<Record<string, string>>
}

const MAX_COMMITS = 100
const QUESTION_MS = 60_000

/** The commit of the workspace; `undefined` if it has no repository that runs could borrow from. */
export const layerCommit = (home: string, root: string, program: string): Effect.Effect<string | undefined> =>
  Effect.suspend(() => {
    const found = gitFolderOf(root)
    if (found?.inside !== true || mayBorrowForRun(home, found.common)) return Effect.undefined
    const args = ["rev-parse", "--verify", "-q", "HEAD^{commit}"]
    const env = { GIT_DIR: found.common }
    return git({ program, cwd: found.common, args, env, timeoutMs: QUESTION_MS }).pipe(
      Effect.map(({ bytes }) => {
        const id = bytes.toString("latin1").trim()
        return /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(id) ? id : undefined
      }),
      Effect.orElseSucceed(() => undefined)
    )
  })

export class LayerRepository {
  readonly #checkout: WorktreeCheckout
  readonly #folder: string
  readonly #repository: string

  constructor({ commit, folder, isolation, mark, program, row }: LayerRepositoryOptions) {
    const repository = join(row.root, ".git")
    const store = storeOf(folder)
    this.#folder = folder
    this.#repository = repository
    this.#checkout = new WorktreeCheckout(row.owner, commit, {
      program,
      repository,
      folder,
      runRepository: runRepositoryOf(folder),
      store,
      objects: join(store, "objects"),
      facts: readWorkspaceRepository(repository),
      isolation,
      borrowed: this.#borrowed,
      mark
    })
  }

  get files(): LayerRepositoryFiles {
    const objects = objectFoldersOf(this.#repository).map(({ real }) => ({
      path: this.#borrowed(real),
      real
    }))
    return { folder: runRepositoryOf(this.#folder), objects }
  }

  get created(): Effect.Effect<void, GitFailed> {
    return this.#checkout.createInLayer()
  }

  get opened(): Effect.Effect<void, GitFailed> {
    return this.#checkout.opened
  }

  get refreshed(): Effect.Effect<void, GitFailed> {
    return this.#checkout.refreshed
  }

  get handedOver(): Effect.Effect<string, GitFailed> {
    return this.#checkout.handedOver
  }

  get settled(): Effect.Effect<void, GitFailed> {
    return this.#checkout.settled
  }

  get removed(): Effect.Effect<void, GitFailed> {
    return this.#checkout.removedFromLayer
  }

  /** Commits since the start of the layer, newest first. */
  get commits(): Effect.Effect<ReadonlyArray<WorktreeCommit>, GitFailed> {
    return this.#checkout.commits(MAX_COMMITS)
  }

  /** The workspace's own path of objects is that of the run's repository. */
  readonly #borrowed = (real: string): string =>
    `${this.#folder}.objects-${createHash("sha256").update(real).digest("hex").slice(0, 8)}`
}
