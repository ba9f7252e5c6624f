/**
 * Allowlist of the folders that runs may work in, by id. Paths are resolved at each lookup, so a link that was moved is followed.
 */
import { WorkspaceOutsideAllowlist } from "@corral/domain/errors/Failures"
import type { WorkspaceId } from "@corral/domain/identity/Ids"
import type { ProjectSettingsUse } from "@corral/domain/run/ProjectSettings"
import type { Isolation, RunMode } from "@corral/domain/run/Run"
import type { Workspace } from "@corral/domain/device/Workspace"
import { Context, Effect, Layer } from "effect"
import { existsSync, realpathSync, statSync } from "node:fs"
import { basename, join } from "node:path"
import type { WorkspaceEntry } from "../config/WorkspaceEntries.ts"
import { workspaceReader } from "./WorkspaceSource.ts"

/** An allowlisted folder that exists: its real path, and the modes that the policy allows in it. */
export interface OpenWorkspace {
  readonly path: string
  readonly modes: ReadonlyArray<RunMode>
  readonly projectSettings: ProjectSettingsUse
  /** Of runs that name none. */
  readonly isolation: Isolation | undefined
  /** Whether a layer may be a copy that the run can leave. */
  readonly allowsCopy: boolean
}

export class Workspaces extends Context.Service<
  Workspaces,
  {
    readonly count: () => number
    readonly list: Effect.Effect<ReadonlyArray<Workspace>>
    /** Fails if the id is not in the allowlist, or if its folder does not exist. */
    readonly open: (id: WorkspaceId) => Effect.Effect<OpenWorkspace, WorkspaceOutsideAllowlist>
  }
>()("corral/edge/Workspaces") {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.map(workspaceReader, (read) => {
      let logged: string | undefined
      const entries = Effect.suspend(() => {
        const { byId, problem } = read()
        const isNew = problem !== undefined && problem !== logged
        logged = problem
        return Effect.as(
          isNew ? Effect.logWarning("workspaces were left out", { problem }) : Effect.void,
          byId
        )
      })
      return Workspaces.of({
        count: () => read().byId.size,
        list: Effect.map(entries, (byId) => [...byId.values()].map(describe)),
        open: (id) =>
          Effect.flatMap(entries, (byId) => {
            const entry = byId.get(id)
            const path = entry === undefined ? undefined : realDirectory(entry.path)
            return entry === undefined || path === undefined
              ? Effect.fail(new WorkspaceOutsideAllowlist())
              : Effect.succeed({
                  path,
                  modes: modesOf(entry),
                  projectSettings:
                    entry.grants?.includes("project_settings") === true ? "enabled" : "ignored",
                  isolation: isolationOf(entry),
                  allowsCopy: entry.isolation === "copy-unconfined"
                })
          })
      })
    })
  )
}

const modesOf = (entry: WorkspaceEntry): ReadonlyArray<RunMode> =>
  entry.grants?.includes("full_access") === true
    ? ["read_only", "plan", "ask", "auto_edit", "full_access"]
    : ["read_only", "plan", "ask", "auto_edit"]

const isolationOf = ({ isolation }: WorkspaceEntry): Isolation | undefined =>
  isolation === "copy-unconfined" ? "overlay" : isolation

const realDirectory = (path: string): string | undefined => {
  try {
    const real = realpathSync(path)
    return statSync(real).isDirectory() ? real : undefined
  } catch {
    return undefined
  }
}

const describe = (entry: WorkspaceEntry): Workspace => {
  const path = realDirectory(entry.path)
  const isolation = isolationOf(entry)
  return {
    // The id was validated with the configuration.
    id: entry.id as WorkspaceId,
    name: basename(entry.path),
    modes: modesOf(entry),
    ...(isolation === undefined ? {} : { isolation }),
    git: path !== undefined && existsSync(join(path, ".git")),
    available: path !== undefined
  }
}
