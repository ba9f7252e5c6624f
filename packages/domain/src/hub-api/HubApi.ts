/**
 * HTTP contract of a Hub, with one module per group. The event stream `/client/events` is separate (`EventStream`).
 *
 * Missing and forbidden resources are indistinguishable: both are `permission_denied`.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { HubApprovals } from "./Approvals.ts"
import { HubAudit } from "./AuditTrail.ts"
import { HubApiKeys, HubAuth, HubSignIn } from "./Auth.ts"
import { HubChatBindings, HubIntegrations } from "./Chat.ts"
import { HubConversations } from "./Conversations.ts"
import { HubDeviceRegistration, HubDevices } from "./Devices.ts"
import { HubFiles } from "./Files.ts"
import { HubChanges } from "./Changes.ts"
import { HubChangeFeed } from "./ChangeFeed.ts"
import { HubInputs } from "./Inputs.ts"
import { HubPresets } from "./Presets.ts"
import { HubPreferences } from "./Preferences.ts"
import { HubProjects } from "./Projects.ts"
import { HubPublic } from "./Public.ts"
import { HubRuns } from "./Runs.ts"
import { HubSearch } from "./Search.ts"
import { HubSessions } from "./Sessions.ts"
import { HubTasks } from "./Tasks.ts"
import { HubUploads } from "./Uploads.ts"

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
    HubRuns,
    HubApprovals,
    HubInputs,
    HubChanges,
    HubChangeFeed,
    HubIntegrations,
    HubChatBindings,
    HubPreferences,
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
        "deleted. Every response has the headers `X-Request-Id` and `X-Contract-Version`. Any request can also fail with a status from 400 " +
        "to 431, 500 (`internal`) or 503 (`overloaded`). Every error is an error object."
    })
  ) {}

/** Group of endpoints of the Hub. */
export type HubGroup = typeof HubApi extends HttpApi.HttpApi<string, infer Groups> ? Groups : never
