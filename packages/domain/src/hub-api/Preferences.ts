/** Preferences of the signed-in user. */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { Preferences, UpdatePreferences } from "../preference/Preferences.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

/** API keys and chat accounts cannot call these endpoints. */
export class HubPreferences extends HttpApiGroup.make("preferences")
  .add(
    HttpApiEndpoint.get("get", "/client/preferences", { success: Preferences })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "Preferences of the caller."),
    HttpApiEndpoint.patch("update", "/client/preferences", {
      payload: UpdatePreferences,
      success: Preferences,
      error: responses("conflict", "payload_too_large", "schema_validation_failed")
    })
      .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "Replaces the fields of the body; `null` removes a field. Returns the document. `conflict` if `version` is not that of the document, with " +
          "the document in `details.preferences`. `payload_too_large` if the document would have more than 16 KiB."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
