/** Folders that runs may work in, as settings, configurations and workspace sources name them. */
import { GrantRule } from "@corral/domain/approval/Grant"
import { WorkspaceName } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import { isAbsolute } from "node:path"

/** Grants that are names: `full_access` adds a mode, `project_settings` changes the start of runtimes, `confined` asks less in confined runs. */
const NamedGrant = Schema.Literals(["full_access", "project_settings", "confined"])
export type NamedGrant = typeof NamedGrant.Type

/**
 * Isolation of runs that name none. `copy-unconfined`: layers, and where the Edge cannot enforce them, mere copies of the folder, which the
 * programs of a run can leave.
 */
const WorkspaceIsolation = Schema.Literals(["none", "worktree", "overlay", "copy-unconfined"])
export type WorkspaceIsolation = typeof WorkspaceIsolation.Type

/** A folder that runs may work in. `grants` widen what is allowed there, for every agent; nothing is granted by default. */
export interface WorkspaceEntry {
  readonly id: string
  readonly path: string
  readonly grants?: ReadonlyArray<NamedGrant | GrantRule> | undefined
  readonly isolation?: WorkspaceIsolation | undefined
}

export const WorkspaceEntries = Schema.Array(
  Schema.Struct({
    id: WorkspaceName,
    path: Schema.String.check(Schema.makeFilter((path) => isAbsolute(path))),
    grants: Schema.optional(Schema.Array(Schema.Union([NamedGrant, GrantRule]))),
    isolation: Schema.optional(WorkspaceIsolation)
  })
).check(Schema.makeFilter((entries) => new Set(entries.map(({ id }) => id)).size === entries.length))
