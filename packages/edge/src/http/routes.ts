/**
 * All HTTP routes of the Edge, with their guard and their authentication.
 */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { SchemaErrors } from "@corral/domain/http/RequestContext"
import { guardedRoutes } from "@corral/service/http/RequestGuard"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { Layer } from "effect"
import { HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { agents } from "./Agents.ts"
import { authority } from "./Authority.ts"
import { diffs } from "./Diffs.ts"
import { artifacts } from "./Artifacts.ts"
import { edgeFiles } from "./Files.ts"
import { grants } from "./Grants.ts"
import { edgeHealth } from "./Health.ts"
import { edgeInputs } from "./Inputs.ts"
import { edgeLink } from "./Link.ts"
import { permissions } from "./Permissions.ts"
import { previews } from "./Previews.ts"
import { edgeRuns } from "./Runs.ts"
import { workspaces } from "./Workspaces.ts"
import { worktrees } from "./Worktrees.ts"

export const edgeApiRoutes = HttpApiBuilder.layer(EdgeApi).pipe(
  Layer.provide([
    edgeHealth,
    agents,
    workspaces,
    edgeFiles,
    edgeRuns,
    diffs,
    worktrees,
    artifacts,
    previews,
    permissions,
    edgeInputs,
    grants,
    edgeLink
  ]),
  Layer.provide([SchemaErrors.layer, requestIds, authority]),
  Layer.provide(guardedRoutes),
  Layer.provide(HttpServer.layerServices)
)
