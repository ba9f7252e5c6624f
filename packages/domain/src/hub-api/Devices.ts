/**
 * Devices, the devices that the caller may send tasks to (targets), and profiles and runners of a device, as its Edge has them.
 *
 * A device's owner reads its presets, and changes them soon after a sign-in. The Edge decides: from a Hub it takes only profiles that narrow,
 * unless its configuration file allows more.
 */
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import {
  CreateJoinToken,
  Device,
  DeviceState,
  JoinToken,
  RegisterDevice,
  Target,
  UpdateDevice
} from "../device/Device.ts"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { createdResponse, idempotencyHeaders } from "../http/Writes.ts"
import { AgentId, DeviceId, ProjectId } from "../identity/Ids.ts"
import { CreatePreset, Preset, UpdatePreset } from "../run/Preset.ts"
import { SessionAuthority } from "./SessionAuthority.ts"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const params = { id: DeviceId }
const denied = responses("permission_denied")
const list = responses("permission_denied", "schema_validation_failed")

/** Registration of a device. Requires a join token, or a sign-in, whose user becomes the owner. */
export class HubDeviceRegistration extends HttpApiGroup.make("deviceRegistration")
  .add(
    HttpApiEndpoint.post("register", "/client/devices/register", {
      headers: idempotencyHeaders,
      payload: RegisterDevice,
      success: Device.pipe(createdResponse),
      error: responses(
        "unauthorized",
        "permission_denied",
        "conflict",
        "rate_limited",
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    }).annotate(RequiredAuthority, "device.join")
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

export class HubDevices extends HttpApiGroup.make("devices")
  .add(
    HttpApiEndpoint.get("list", "/client/devices", {
      query: { ...listQuery, state: Schema.optionalKey(DeviceState) },
      success: page(Device),
      error: list
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("createJoinToken", "/client/devices/join-tokens", {
      payload: CreateJoinToken,
      success: JoinToken.pipe(createdResponse)
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "Creates a token that registers one device for the caller. Valid once, for one hour by default. Only this response contains it."
      ),
    HttpApiEndpoint.get("get", "/client/devices/:id", { params, success: Device, error: denied })
      .annotate(RequiredAuthority, "device.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.patch("update", "/client/devices/:id", {
      params,
      payload: UpdateDevice,
      success: Device,
      error: responses("permission_denied", "conflict")
    }).annotate(RequiredAuthority, "device.own"),
    HttpApiEndpoint.delete("remove", "/client/devices/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: denied
    }).annotate(RequiredAuthority, "device.own"),
    HttpApiEndpoint.get("targets", "/client/targets", {
      query: { ...listQuery, projectId: Schema.optionalKey(ProjectId) },
      success: page(Target),
      error: list
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(OpenApi.Description, "Devices that the caller may send tasks to.")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}

const presetParams = { id: DeviceId, presetId: AgentId }

/** Profiles and runners of a device, as its Edge has them. */
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
      params: presetParams,
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
      params: presetParams,
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied", "not_found", "target_offline", "conflict", "overloaded")
    })
      .annotate(RequiredAuthority, "device.own")
      .annotate(OpenApi.Description, "Removes the preset. The rules of its creation apply.")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
