/**
 * HTTP contract of a Hub, with one module per resource. The public endpoints are here: readiness, liveness, the status of each layer, and counts.
 * The event stream `/client/events` is separate (`EventStream`), and so is `/client/ahp`, where editors speak the Agent Host Protocol.
 *
 * Missing and forbidden resources are indistinguishable: both are `permission_denied`.
 */
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import {
  Liveness,
  PublicHealth,
  PublicNotReady,
  PublicStats,
  PublicStatus,
  PublicStatusNotReady
} from "../http/Health.ts"
import { RequestIds } from "../http/RequestContext.ts"
import { HubApprovals } from "./Approvals.ts"
import { HubAudit } from "./AuditTrail.ts"
import { HubApiKeys, HubAuth, HubSignIn } from "./Auth.ts"
import { HubChangeFeed } from "./ChangeHint.ts"
import { HubChatBindings, HubIntegrations } from "./Chat.ts"
import { HubConversations, HubSessions } from "./Sessions.ts"
import { HubDeviceRegistration, HubDevices, HubPresets } from "./Devices.ts"
import { HubFiles } from "./Files.ts"
import { HubChanges } from "./Changes.ts"
import { HubInputs } from "./Inputs.ts"
import { HubPreferences } from "./Preferences.ts"
import { HubProjects } from "./Projects.ts"
import { HubRuns } from "./Runs.ts"
import { HubSearch } from "./Search.ts"
import { HubTaskGroups } from "./TaskGroups.ts"
import { HubTasks } from "./Tasks.ts"
import { HubUploads } from "./Uploads.ts"
import { HubUsage } from "./Usage.ts"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

/** Public endpoints of a Hub: readiness, liveness, the status of each layer, and counts. */
export class HubPublic extends HttpApiGroup.make("public")
  .add(
    HttpApiEndpoint.get("health", "/health", { success: PublicHealth, error: PublicNotReady }).annotate(
      RequiredAuthority,
      "public.read"
    ),
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness }).annotate(
      RequiredAuthority,
      "public.read"
    ),
    HttpApiEndpoint.get("publicHealth", "/api/public/health", {
      success: PublicStatus,
      error: PublicStatusNotReady
    }).annotate(RequiredAuthority, "public.read"),
    HttpApiEndpoint.get("publicStats", "/api/public/stats", { success: PublicStats }).annotate(
      RequiredAuthority,
      "public.read"
    )
  )
  .middleware(RequestIds) {}

export class HubApi extends HttpApi.make("hub")
  .add(
    HubPublic,
    HubSignIn,
    HubAuth,
    HubApiKeys,
    HubSessions,
    HubConversations,
    HubUploads,
    HubSearch,
    HubProjects,
    HubDeviceRegistration,
    HubDevices,
    HubPresets,
    HubFiles,
    HubTasks,
    HubTaskGroups,
    HubRuns,
    HubApprovals,
    HubInputs,
    HubChanges,
    HubChangeFeed,
    HubIntegrations,
    HubChatBindings,
    HubPreferences,
    HubUsage,
    HubAudit
  )
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Corral Hub",
      version: "1",
      description:
        "Users, projects, devices and the runs they share. The WebSocket `/client/events?runId=&after=` (or `sessionId=`) is not part of this " +
        "document. It sends events as JSON text: stored events after `after`, then live ones. Close codes: 1000 after the last event of the " +
        "run, 1013 if the reader stalls, 4401 if the sign-in ends, 4403 if access to the project is lost, 4410 if events after `after` were " +
        "deleted. The WebSocket `/client/ahp?projectId=&targetId=&workspace=&folder=` is not part of it either: editors speak the Agent Host " +
        "Protocol there, with a bearer token only. Every response has the headers `X-Request-Id` and `X-Contract-Version`. Any request can also fail with a status from 400 " +
        "to 431, 500 (`internal`) or 503 (`overloaded`). Every error is an error object."
    })
  ) {}

/** Group of endpoints of the Hub. */
export type HubGroup = typeof HubApi extends HttpApi.HttpApi<string, infer Groups> ? Groups : never
