/**
 * What changes, live: hints of everything that the caller may see.
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { HubNews } from "./HubNews.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

export class HubNewsStream extends HttpApiGroup.make("news")
  .add(
    HttpApiEndpoint.get("follow", "/client/news", {
      success: HttpApiSchema.StreamSse({ data: HubNews })
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "`text/event-stream`: a hint as JSON in each `data:`, of devices, approvals, tasks and runs that the caller may see, without their " +
          "content. It begins with the present state of devices and with the approvals that are pending; then come changes, the last of " +
          "one thing only where several waited. The stream cannot be resumed from an id: each connection begins with the present state. " +
          "It ends when the sign-in ends, when its reader takes nothing for 30 s, and where changes may have been missed."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
