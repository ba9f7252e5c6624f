/**
 * The HTTP contract of a Hub, one group a file under `hub-api/`. The event stream `/client/events` stands beside it (`EventStream`).
 *
 * What a caller may not read and what does not exist get the same answer: `permission_denied`.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { HubApprovals } from "./hub-api/Approvals.ts"
import { HubAudit } from "./hub-api/AuditTrail.ts"
import { HubApiKeys, HubAuth, HubSignIn } from "./hub-api/Auth.ts"
import { HubChatBindings, HubIntegrations } from "./hub-api/Chat.ts"
import { HubDeviceRegistration, HubDevices } from "./hub-api/Devices.ts"
import { HubFiles } from "./hub-api/Files.ts"
import { HubNewsStream } from "./hub-api/News.ts"
import { HubProjects } from "./hub-api/Projects.ts"
import { HubPublic } from "./hub-api/Public.ts"
import { HubRuns } from "./hub-api/Runs.ts"
import { HubSessions } from "./hub-api/Sessions.ts"
import { HubTasks } from "./hub-api/Tasks.ts"

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
        "1013 when the reader stalls, 4401 when the sign-in ends, 4403 when the project may not be read any more, 4410 when a gap cannot be " +
        "filled. Every answer carries `X-Request-Id` and `X-Contract-Version`. Any " +
        "request may also be refused with 400 to 431, 500 (`internal`) or 503 (`overloaded`), always as an error object."
    })
  ) {}
