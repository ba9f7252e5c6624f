/** `GET /v1/workspaces`, and their files: `GET /v1/workspaces/{id}/files`, `/find` and `/file`. */
import { FileSearch } from "../workspace/FileSearch.ts"
import { listFolder, previewFile } from "../workspace/WorkspaceFiles.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import type { FileEntry } from "@corral/domain/device/Workspace"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { CurrentRequestId, withErrorObject } from "@corral/domain/http/RequestContext"
import { pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

export const workspaces = HttpApiBuilder.group(
  EdgeApi,
  "workspaces",
  Effect.fnUntraced(function* (handlers) {
    const allowed = yield* Workspaces
    return handlers.handleAll({
      list: () =>
        Effect.gen(function* () {
          return { items: yield* allowed.list, nextCursor: null, requestId: yield* CurrentRequestId }
        })
    })
  })
)

const byName = ({ name }: FileEntry): string => name

/** `GET /v1/workspaces/{id}/files`, `GET /v1/workspaces/{id}/find`, `GET /v1/workspaces/{id}/file`. */
export const edgeFiles = HttpApiBuilder.group(
  EdgeApi,
  "files",
  Effect.fnUntraced(function* (handlers) {
    const search = yield* FileSearch
    const workspaces = yield* Workspaces
    return handlers.handleAll({
      files: Effect.fnUntraced(function* ({ params, query: { cursor, limit, path = "" } }) {
        const root = yield* workspaces.open(params.id)
        const list = { principal: LOCAL_PRINCIPAL, filter: `files ${params.id} ${path}`, cursor, limit }
        const read = (after: string | undefined, limit: number) => listFolder(root.path, path, after, limit)
        return yield* pageOf(list, byName, read)
      }, withErrorObject),

      find: Effect.fnUntraced(function* ({ params, query: { limit, q = "" } }) {
        const root = yield* workspaces.open(params.id)
        return yield* search.find(root.path, q, limit)
      }, withErrorObject),

      file: Effect.fnUntraced(function* ({ params, query }) {
        const root = yield* workspaces.open(params.id)
        return yield* previewFile(root.path, query.path)
      }, withErrorObject)
    })
  })
)
