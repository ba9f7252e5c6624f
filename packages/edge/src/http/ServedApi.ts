/**
 * The part of the Edge contract that this Edge serves. What is missing here is `not_found`.
 */
import {
  EdgeAgents,
  EdgeApi,
  EdgeDiffs,
  EdgeArtifacts,
  EdgeFiles,
  EdgeGrants,
  EdgeHealth,
  EdgePermissions,
  EdgePreviews,
  EdgeRuns,
  EdgeWorkspaces,
  EdgeWorktrees
} from "@corral/domain/EdgeApi"
import { HttpApi } from "effect/http-api"

export class ServedApi extends HttpApi.make("edge")
  .add(
    EdgeHealth,
    EdgeAgents,
    EdgeWorkspaces,
    EdgeFiles,
    EdgeRuns,
    EdgeDiffs,
    EdgeWorktrees,
    EdgeArtifacts,
    EdgePreviews,
    EdgePermissions,
    EdgeGrants
  )
  .annotateMerge(EdgeApi.annotations) {}
