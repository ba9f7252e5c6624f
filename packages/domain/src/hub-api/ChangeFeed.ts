/**
 * Live change feed: hints about all resources that the caller may see.
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { ChangeHint } from "./ChangeHint.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

export class HubChangeFeed extends HttpApiGroup.make("news")
  .add(
    HttpApiEndpoint.get("follow", "/client/news", {
      success: HttpApiSchema.StreamSse({ data: ChangeHint })
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Stream (`text/event-stream`) of hints about devices, approvals, questions, change sets, tasks, runs and messages that the caller may see. Each " +
          "`data:` is a hint as JSON, without the content of the resource. The stream starts with the current state of devices, with pending " +
          "approvals and questions, and with open change sets, up to 1,000 each. Changes follow; of several waiting changes to one resource only the last is sent. A stream cannot be resumed: each " +
          "connection starts with the current state. The stream ends if the sign-in ends, if the reader stalls for 30 s, or if changes may " +
          "have been missed."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
