/**
 * A device: a machine with an Edge or a desktop client, known by its Ed25519 key. Seen as a place where runs may go, it is a target.
 */
import { Schema } from "effect"
import { Agent } from "../run/Agent.ts"
import { DeviceId, ProjectId, UserId } from "../identity/Ids.ts"
import { storable } from "../text/Text.ts"
import { Workspace } from "./Workspace.ts"

/** Presence is a lease: renewed by heartbeats, lost when they stop. A revoked device never comes back. */
export const DeviceState = Schema.Literals(["online", "offline", "revoked"])
export type DeviceState = typeof DeviceState.Type

export const HEARTBEAT_EVERY_SECONDS = 15
export const OFFLINE_AFTER_SECONDS = 45

export const DeviceKind = Schema.Literals(["edge", "desktop"])
export type DeviceKind = typeof DeviceKind.Type

/** 32 bytes as base64url, in its one spelling: the last character has two bits to spare. */
export const PublicKey = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/u, {
    expected: "an Ed25519 public key as base64url"
  })
)

const name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100), storable)

export const Device = Schema.Struct({
  id: DeviceId,
  name: Schema.String,
  kind: DeviceKind,
  state: DeviceState,
  ownerId: UserId,
  /** Projects whose members may route to it. */
  sharedWith: Schema.Array(ProjectId),
  publicKey: PublicKey,
  version: Schema.optionalKey(Schema.String),
  lastSeenAt: Schema.optionalKey(Schema.String),
  createdAt: Schema.String
}).annotate({ identifier: "Device" })
export type Device = typeof Device.Type

/** Seconds for which a join token may be used, and when nothing is said. */
export const MAX_JOIN_SECONDS = 3_600

/** POST /client/devices/join-tokens. */
export const CreateJoinToken = Schema.Struct({
  expiresInSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_JOIN_SECONDS }))
  )
}).annotate({ identifier: "CreateJoinToken" })
export type CreateJoinToken = typeof CreateJoinToken.Type

/** Registers one device as its maker's. The token is shown this once. */
export const JoinToken = Schema.Struct({ token: Schema.String, expiresAt: Schema.String }).annotate({
  identifier: "JoinToken"
})
export type JoinToken = typeof JoinToken.Type

/** POST /client/devices/register. With a join token no sign-in is needed; without one the signed-in person becomes the owner. */
export const RegisterDevice = Schema.Struct({
  name,
  kind: DeviceKind,
  publicKey: PublicKey,
  joinToken: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256)))
}).annotate({ identifier: "RegisterDevice" })
export type RegisterDevice = typeof RegisterDevice.Type

export const UpdateDevice = Schema.Struct({
  name: Schema.optionalKey(name),
  sharedWith: Schema.optionalKey(Schema.Array(ProjectId).check(Schema.isMaxLength(200))),
  state: Schema.optionalKey(Schema.Literal("revoked"))
}).annotate({ identifier: "UpdateDevice" })
export type UpdateDevice = typeof UpdateDevice.Type

/** A device that the caller may route to, with what it reported last. */
export const Target = Schema.Struct({
  id: DeviceId,
  name: Schema.String,
  state: DeviceState,
  lastSeenAt: Schema.optionalKey(Schema.String),
  workspaces: Schema.Array(Workspace),
  agents: Schema.Array(Agent)
}).annotate({ identifier: "Target" })
export type Target = typeof Target.Type
