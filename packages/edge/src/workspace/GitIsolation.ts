/**
 * Confinement for a git that reads the repository of a run. The confinement of runs provides it; without one, git runs as an ordinary process.
 *
 * Guarantees: an isolated git sees the system's programs and the folders that it is called with, and has no network.
 */
import { Context } from "effect"
import type { IsolatedCommand } from "./Git.ts"
import type { ObjectFolder } from "./WorkspaceRepository.ts"

/** Folders that an isolated git sees. */
export interface IsolatedFolders {
  /** The run's repository. */
  readonly repository: string
  readonly objects: ReadonlyArray<ObjectFolder>
}

export type GitIsolation = (command: IsolatedCommand, folders: IsolatedFolders) => IsolatedCommand

export const GitIsolation = Context.Reference<GitIsolation>("corral/edge/GitIsolation", {
  defaultValue: () => (command) => command
})
