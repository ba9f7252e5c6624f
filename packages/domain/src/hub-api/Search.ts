/** Search over all projects that the caller may read. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ProjectId } from "../identity/Ids.ts"
import { SearchQuery, SearchResult } from "../search/SearchResult.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

export class HubSearch extends HttpApiGroup.make("search")
  .add(
    HttpApiEndpoint.get("find", "/client/search", {
      query: { ...listQuery, q: SearchQuery, projectId: Schema.optionalKey(ProjectId) },
      success: page(SearchResult),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Titles of sessions, messages, prompts, final texts and changed file names that the caller may read, newest first. Every word of `q` " +
          "occurs in a found text, anywhere and in any case. New texts are found within seconds; the files of a run after its end."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
