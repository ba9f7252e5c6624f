/** `/client/targets/{id}/workspaces/{workspace}`: folders and files of workspaces that are linked to a project, read from the Edge. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { WorkspaceOutsideAllowlist } from "@corral/domain/errors/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { DeviceId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { FileEntry } from "@corral/domain/device/Workspace"
import { pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { WorkspaceLinks } from "../project/WorkspaceLinks.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { type HubRequest, pageAfter, requireRoute, withErrorObjects } from "./Handlers.ts"

/** Reads that the Edge answers. */
export const fileHandlers = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const links = yield* WorkspaceLinks
  const router = yield* EdgeRouter
  const targets = yield* Targets

  /** For a member of the project, on a target that they may use for it, in a workspace that is linked to it. */
  const admitted = Effect.fnUntraced(function* (projectId: ProjectId, { id: targetId, workspace }: Place) {
    const proof = yield* authority.inProject("task.create", projectId, targetId)
    yield* Effect.void.pipe(requireRoute(targets, { targetId, projectId }))
    if (!(yield* links.has(proof, targetId, workspace))) return yield* new WorkspaceOutsideAllowlist()
  })

  return {
    folder: Effect.fnUntraced(function* ({
      params,
      query: { cursor, limit, path = "", projectId }
    }: HubRequest<"files", "folder">) {
      const { id: targetId, workspace } = params
      yield* admitted(projectId, params)
      const entries = yield* router.listFiles(targetId, { workspace, path })
      const filter = `files ${JSON.stringify([targetId, workspace, projectId, path])}`
      const { userId } = yield* CurrentPrincipal
      return yield* pageOf({ filter, principal: userId, cursor, limit }, byName, (after, limit) =>
        Effect.succeed(pageAfter(entries, byName, after, limit))
      )
    }, withErrorObjects),

    find: Effect.fnUntraced(function* ({
      params,
      query: { limit, projectId, q = "" }
    }: HubRequest<"files", "find">) {
      const { id, workspace } = params
      yield* admitted(projectId, params)
      return yield* router.findFiles(id, { workspace, query: q, limit })
    }, withErrorObjects),

    file: Effect.fnUntraced(function* ({ params, query: { path, projectId } }: HubRequest<"files", "file">) {
      const { id, workspace } = params
      yield* admitted(projectId, params)
      return yield* router.readFile(id, { workspace, path })
    }, withErrorObjects)
  }
})

export const fileEndpoints = HttpApiBuilder.group(
  HubApi,
  "files",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll(yield* fileHandlers)
  })
)

interface Place {
  readonly id: DeviceId
  readonly workspace: WorkspaceId
}

const byName = ({ name }: FileEntry): string => name
