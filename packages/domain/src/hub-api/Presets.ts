/**
 * Profiles and runners of a device, as its Edge has them. The device's owner reads them, and changes them soon after a sign-in.
 *
 * The Edge decides: from a Hub it takes only profiles that narrow, unless its configuration file allows more.
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdResponse } from "../http/Created.ts"
import { idempotencyHeaders } from "../http/IdempotencyKey.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { AgentId, DeviceId } from "../identity/Ids.ts"
import { CreatePreset, Preset, UpdatePreset } from "../run/Preset.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: DeviceId, presetId: AgentId }

export class HubPresets extends HttpApiGroup.make("presets")
  .add(
    HttpApiEndpoint.get("list", "/client/devices/:id/presets", {
      params: { id: DeviceId },
      query: listQuery,
      success: page(Preset),
      error: responses(
        "permission_denied",
        "target_offline",
        "conflict",
        "overloaded",
        "schema_validation_failed"
      )
    })
      .annotate(RequiredAuthority, "device.own")
      .annotate(
        OpenApi.Description,
        "Reads the presets from the device. Of presets that do more than narrow an adapter, it shows the name only. Fails with `conflict` if its Edge " +
          "is too old."
      ),
    HttpApiEndpoint.post("create", "/client/devices/:id/presets", {
      params: { id: DeviceId },
      headers: idempotencyHeaders,
      payload: CreatePreset,
      success: Preset.pipe(createdResponse),
      error: responses(
        "permission_denied",
        "target_offline",
        "conflict",
        "overloaded",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    })
      .annotate(RequiredAuthority, "device.own")
      .annotate(
        OpenApi.Description,
        "Adds a profile to the device, for the next run. For its owner, in a browser with a sign-in of the last 15 minutes. Settings that start " +
          "programs, pass variables or allow actions are `permission_denied`, unless the device's configuration file has `remotePresets`."
      ),
    HttpApiEndpoint.patch("update", "/client/devices/:id/presets/:presetId", {
      params,
      payload: UpdatePreset,
      success: Preset,
      error: responses(
        "permission_denied",
        "not_found",
        "target_offline",
        "conflict",
        "overloaded",
        "schema_validation_failed"
      )
    })
      .annotate(RequiredAuthority, "device.own")
      .annotate(
        OpenApi.Description,
        "Changes settings; `null` removes one. The rules of its creation apply."
      ),
    HttpApiEndpoint.delete("remove", "/client/devices/:id/presets/:presetId", {
      params,
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied", "not_found", "target_offline", "conflict", "overloaded")
    })
      .annotate(RequiredAuthority, "device.own")
      .annotate(OpenApi.Description, "Removes the preset. The rules of its creation apply.")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
