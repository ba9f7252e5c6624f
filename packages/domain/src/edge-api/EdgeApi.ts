/**
 * HTTP contract of an Edge, with one module per resource. The groups about the Edge as a whole are here: its health, and its link to its Hub. The
 * event stream `/v1/events` is separate (`EventStream`).
 *
 * Handlers fail with error objects, which `withErrorObject` creates from failures. An invalid request is refused with all of its issues.
 */
import { responses } from "../errors/ErrorTable.ts"
import { EdgeNotReady, EdgeReadiness, LinkReadiness, Liveness } from "../http/Health.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { EdgeAgents, EdgePresets } from "./Agents.ts"
import { EdgeArtifacts } from "./Artifacts.ts"
import { EdgeChanges } from "./Changes.ts"
import { EdgeDiffs, EdgeLayers, EdgeWorktrees } from "./Worktrees.ts"
import { EdgeInputs } from "./Inputs.ts"
import { EdgeGrants, EdgePermissions } from "./Permissions.ts"
import { EdgePreviews } from "./Previews.ts"
import { EdgeRuns } from "./Runs.ts"
import { EdgeFiles, EdgeWorkspaces } from "./Workspaces.ts"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

/** Readiness and liveness. */
export class EdgeHealth extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/health", { success: EdgeReadiness, error: EdgeNotReady }),
    HttpApiEndpoint.get("v1Health", "/v1/health", { success: EdgeReadiness, error: EdgeNotReady }),
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness })
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

/** The link of this Edge to its Hub. */
export class EdgeHubLink extends HttpApiGroup.make("link")
  .add(
    HttpApiEndpoint.post("rotate", "/v1/link/rotate", {
      success: LinkReadiness,
      error: responses("conflict", "overloaded")
    }).annotate(
      OpenApi.Description,
      "Replaces the key of this device at its Hub. The old key is no longer valid. `conflict` if the Edge is not linked to a Hub."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

export class EdgeApi extends HttpApi.make("edge")
  .add(
    EdgeHealth,
    EdgeAgents,
    EdgePresets,
    EdgeWorkspaces,
    EdgeFiles,
    EdgeRuns,
    EdgeDiffs,
    EdgeChanges,
    EdgeWorktrees,
    EdgeLayers,
    EdgeArtifacts,
    EdgePreviews,
    EdgePermissions,
    EdgeInputs,
    EdgeGrants,
    EdgeHubLink
  )
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Corral Edge",
      version: "1",
      description:
        "Runs agents on this machine. The WebSocket `/v1/events?runId=&token=&after=` is not part of this document. It sends events as JSON " +
        "text: stored events after `after`, then live ones. Close codes: 1000 after the last event of the run, 1013 if the reader stalls, " +
        "4410 if events after `after` were deleted. Every response has the headers `X-Request-Id` and `X-Contract-Version`. Any request " +
        "can also fail with a status from 400 to 431, 500 (`internal`) or 503 (`overloaded`). Every error is an error object."
    })
  ) {}
