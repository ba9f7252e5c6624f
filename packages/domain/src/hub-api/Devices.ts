/**
 * Devices, and the devices that the caller may send tasks to (targets).
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  CreateJoinToken,
  Device,
  DeviceState,
  JoinToken,
  RegisterDevice,
  Target,
  UpdateDevice
} from "../device/Device.ts"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdResponse } from "../http/Created.ts"
import { idempotencyHeaders } from "../http/IdempotencyKey.ts"
import { DeviceId, ProjectId } from "../identity/Ids.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

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
