/**
 * The HTTP contract of a Hub, one group a file under `hub-api/`. The event stream `/client/events` stands beside it (`EventStream`).
 *
 * What a caller may not read and what does not exist get the same answer: `permission_denied`.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { HubApprovals } from "./Approvals.ts"
import { HubAudit } from "./AuditTrail.ts"
import { HubApiKeys, HubAuth, HubSignIn } from "./Auth.ts"
import { HubChatBindings, HubIntegrations } from "./Chat.ts"
import { HubDeviceRegistration, HubDevices } from "./Devices.ts"
import { HubFiles } from "./Files.ts"
import { HubNewsStream } from "./News.ts"
import { HubProjects } from "./Projects.ts"
import { HubPublic } from "./Public.ts"
import { HubRuns } from "./Runs.ts"
import { HubSessions } from "./Sessions.ts"
import { HubTasks } from "./Tasks.ts"

export class HubApi extends HttpApi.make("hub")
  .add(
    HubPublic,
    HubSignIn,
    HubAuth,
    HubApiKeys,
    HubSessions,
    HubProjects,
    HubDeviceRegistration,
    HubDevices,
    HubFiles,
    HubTasks,
    HubRuns,
    HubApprovals,
    HubNewsStream,
    HubIntegrations,
    HubChatBindings,
    HubAudit
  )
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Corral Hub",
      version: "1",
      description:
        "People, projects, devices and the runs they share. Beside this API stands the WebSocket `/client/events?runId=&after=` (or " +
        "`sessionId=`): envelopes as JSON text, every stored event after `after`, then live; closed with 1000 after the run's last event, " +
        "1013 when the reader stalls, 4401 when the sign-in ends, 4403 when access to the project is lost, 4410 when a gap cannot be " +
        "filled. Every answer carries `X-Request-Id` and `X-Contract-Version`. Any " +
        "request may also be refused with 400 to 431, 500 (`internal`) or 503 (`overloaded`), always as an error object."
    })
  ) {}

/** One of the groups of endpoints. */
export type HubGroup = typeof HubApi extends HttpApi.HttpApi<string, infer Groups> ? Groups : never
