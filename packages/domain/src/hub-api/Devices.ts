/**
 * Devices and, as places where runs may go, targets.
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
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { idempotencyHeaders } from "../http/IdempotencyKey.ts"
import { DeviceId, ProjectId } from "../identity/Ids.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: DeviceId }
const denied = responses("permission_denied")
const list = responses("permission_denied", "schema_validation_failed")

/** Without a sign-in: the join token is the authority. With one, `Authorization` names the owner. */
export class HubDeviceRegistration extends HttpApiGroup.make("deviceRegistration")
  .add(
    HttpApiEndpoint.post("register", "/client/devices/register", {
      headers: idempotencyHeaders,
      payload: RegisterDevice,
      success: Device.pipe(HttpApiSchema.status(201)),
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
    }).annotate(RequiredAuthority, "session.open"),
    HttpApiEndpoint.post("createJoinToken", "/client/devices/join-tokens", {
      payload: CreateJoinToken,
      success: JoinToken.pipe(HttpApiSchema.status(201))
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "A token with which one device may be registered as the caller's; an hour when nothing is said, used once, shown once."
      ),
    HttpApiEndpoint.get("get", "/client/devices/:id", { params, success: Device, error: denied }).annotate(
      RequiredAuthority,
      "device.read"
    ),
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
      .annotate(OpenApi.Description, "What this caller may route to.")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
