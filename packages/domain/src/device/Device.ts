/**
 * Devices: machines with an Edge or a desktop client, identified by an Ed25519 key. A device that runs can be sent to is a target.
 */
import { Schema } from "effect"
import { Agent } from "../run/Agent.ts"
import { DeviceId, ProjectId, UserId } from "../identity/Ids.ts"
import { isStorableText } from "../text/Text.ts"
import { Workspace } from "./Workspace.ts"

/** Presence of a device: a lease that heartbeats renew and that expires without them. `revoked` is final. */
export const DeviceState = Schema.Literals(["online", "offline", "revoked"])
export type DeviceState = typeof DeviceState.Type

export const HEARTBEAT_EVERY_SECONDS = 15
export const OFFLINE_AFTER_SECONDS = 45

export const DeviceKind = Schema.Literals(["edge", "desktop"])
export type DeviceKind = typeof DeviceKind.Type

/** Ed25519 public key: 32 bytes as base64url. Only the canonical spelling is valid: the two unused bits of the last character are 0. */
export const PublicKey = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/u, {
    expected: "an Ed25519 public key as base64url"
  })
)

const name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100), isStorableText)

/** A device, as its owner and the members of its projects see it. Times are ISO 8601. */
export const Device = Schema.Struct({
  id: DeviceId,
  name: Schema.String,
  kind: DeviceKind,
  state: DeviceState,
  ownerId: UserId,
  /** Projects whose members may send tasks to the device. */
  sharedWith: Schema.Array(ProjectId),
  publicKey: PublicKey,
  version: Schema.optionalKey(Schema.String),
  lastSeenAt: Schema.optionalKey(Schema.String),
  createdAt: Schema.String
}).annotate({ identifier: "Device" })
export type Device = typeof Device.Type

/** Longest and default lifetime of a join token, in seconds. */
export const MAX_JOIN_SECONDS = 3_600

/** Body of POST /client/devices/join-tokens. */
export const CreateJoinToken = Schema.Struct({
  expiresInSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_JOIN_SECONDS }))
  )
}).annotate({ identifier: "CreateJoinToken" })
export type CreateJoinToken = typeof CreateJoinToken.Type

/** Token that registers one device for the user who created the token. Only this response contains it. */
export const JoinToken = Schema.Struct({ token: Schema.String, expiresAt: Schema.String }).annotate({
  identifier: "JoinToken"
})
export type JoinToken = typeof JoinToken.Type

/** Body of POST /client/devices/register. Requires a join token or a sign-in, whose user becomes the owner. */
export const RegisterDevice = Schema.Struct({
  name,
  kind: DeviceKind,
  publicKey: PublicKey,
  joinToken: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256)))
}).annotate({ identifier: "RegisterDevice" })
export type RegisterDevice = typeof RegisterDevice.Type

/** Body of PATCH /client/devices/{id}. Absent fields do not change. */
export const UpdateDevice = Schema.Struct({
  name: Schema.optionalKey(name),
  sharedWith: Schema.optionalKey(Schema.Array(ProjectId).check(Schema.isMaxLength(200))),
  state: Schema.optionalKey(Schema.Literal("revoked"))
}).annotate({ identifier: "UpdateDevice" })
export type UpdateDevice = typeof UpdateDevice.Type

/** A device that the caller may send tasks to, with the workspaces and agents that it last reported. */
export const Target = Schema.Struct({
  id: DeviceId,
  name: Schema.String,
  state: DeviceState,
  lastSeenAt: Schema.optionalKey(Schema.String),
  workspaces: Schema.Array(Workspace),
  agents: Schema.Array(Agent)
}).annotate({ identifier: "Target" })
export type Target = typeof Target.Type
