/**
 * HTTP contract of an Edge, with one module per group. The event stream `/v1/events` is separate (`EventStream`).
 *
 * Handlers fail with error objects, which `withErrorObject` creates from failures. An invalid request is refused with all of its issues.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { EdgeAgents } from "./Agents.ts"
import { EdgeArtifacts } from "./Artifacts.ts"
import { EdgeChanges } from "./Changes.ts"
import { EdgeDiffs } from "./Diffs.ts"
import { EdgeFiles } from "./Files.ts"
import { EdgeGrants } from "./Grants.ts"
import { EdgeHealth } from "./Health.ts"
import { EdgeHubLink } from "./HubLink.ts"
import { EdgeInputs } from "./Inputs.ts"
import { EdgePermissions } from "./Permissions.ts"
import { EdgePresets } from "./Presets.ts"
import { EdgePreviews } from "./Previews.ts"
import { EdgeRuns } from "./Runs.ts"
import { EdgeWorkspaces } from "./Workspaces.ts"
import { EdgeLayers } from "./Layers.ts"
import { EdgeWorktrees } from "./Worktrees.ts"

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
