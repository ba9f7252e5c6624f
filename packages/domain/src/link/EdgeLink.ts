/**
 * The link between an Edge and its Hub: one WebSocket that the Edge dials, carrying RPC as JSON frames.
 *
 * Order: `Hello` → sign the challenge → `Prove` → then `Commands` (a stream that stays open), `Heartbeat`, `PushEvents` and `CommandDone`, each
 * with the generation that `Prove` gave. What a proof gives lasts `ACCESS_SECONDS`: before that is over the Edge proves itself again on the
 * same socket and keeps its generation. A newer link of the same device has a higher generation and fences the older one: its calls
 * fail with `conflict`. Nothing is kept of a broken link: the Edge pushes again from the acknowledged seq, the Hub sends unanswered
 * commands again.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { Agent } from "../run/Agent.ts"
import { CommandId, CommandOutcome, EdgeCommand } from "./EdgeCommand.ts"
import { PublicKey } from "../device/Device.ts"
import { DeviceId, RunId } from "../identity/Ids.ts"
import { Workspace } from "../device/Workspace.ts"

export const LINK_VERSION = 1
/** Where a Hub takes links, as a path of its URL. */
export const LINK_PATH = "/edge/link"
/** How long a proof is worth something. */
export const ACCESS_SECONDS = 900
/** Limits of one push. A single event may exceed the limit of characters. */
export const MAX_PUSH_EVENTS = 500
export const MAX_PUSH_CHARACTERS = 1_048_576
/** Pushes of one link that wait for their acknowledgement. */
export const MAX_PUSHES_IN_FLIGHT = 4
/** The largest frame in either direction, in bytes; a larger answer to a command is refused as `payload_too_large`. */
export const MAX_FRAME_BYTES = 8 * 1_048_576
/** How long a challenge may be answered, and how long a socket may be there without a proof. */
export const PROVE_WITHIN_SECONDS = 30

/** Why a Hub closes a link. */
export const linkCloseCodes = {
  /** More was sent than the link takes at once. */
  tooMuch: 1008,
  /** The Hub stops: dial again at once. */
  restart: 1012,
  /** There was no proof in time, or what it gave is over, or the device was revoked. */
  unproved: 4401,
  /** A newer link of the device has taken over. */
  fenced: 4409
} as const
export type LinkCloseCode = (typeof linkCloseCodes)[keyof typeof linkCloseCodes]

/** `unauthorized`: unknown or revoked device, or a wrong signature. `conflict`: fenced by a newer link. */
export const LinkFailure = Schema.Struct({
  code: Schema.Literals(["unauthorized", "conflict", "schema_validation_failed", "overloaded"]),
  message: Schema.String
})
export type LinkFailure = typeof LinkFailure.Type

const generation = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))
/** Seconds that an Edge waits because a Hub says so: never without a pause, and never for more than a day. */
const pause = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))
const seq = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The last seq of a run that is durable at the Hub; 0 for none. */
export const Ack = Schema.Struct({ runId: RunId, seq })
export type Ack = typeof Ack.Type

/**
 * The same after a push. `refused`: `permission_denied` where the run is not this device's, `conflict` where events before these are
 * missing, `schema_validation_failed` where they are no events or cannot follow. What stood before it was taken.
 */
export const PushAck = Schema.Struct({
  ...Ack.fields,
  refused: Schema.optionalKey(Schema.Literals(["permission_denied", "conflict", "schema_validation_failed"]))
})
export type PushAck = typeof PushAck.Type

/** Events of one run in order and without gaps, each the JSON text that the Edge has stored. */
export const EventBatch = Schema.Struct({
  runId: RunId,
  firstSeq: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  events: Schema.Array(Schema.String)
})
export type EventBatch = typeof EventBatch.Type

/** What an Edge offers now; sent whole when it has changed. */
export const Offer = Schema.Struct({
  version: Schema.String,
  workspaces: Schema.Array(Workspace),
  agents: Schema.Array(Agent),
  /** Names of the commands that it takes, which are all that it may be sent. Absent: those of before they were told. */
  commands: Schema.optionalKey(Schema.Array(Schema.String))
})
export type Offer = typeof Offer.Type

/** The bytes that a device signs, as text: bound to this protocol, this Hub, this device and this challenge. */
export const challengeText = (proof: {
  readonly hub: string
  readonly deviceId: DeviceId
  readonly challenge: string
}): string => JSON.stringify(["corral-edge-link", LINK_VERSION, proof.hub, proof.deviceId, proof.challenge])

/** What the next key of a device signs: that it is meant to follow, here and now. */
export const rotationText = (proof: {
  readonly hub: string
  readonly deviceId: DeviceId
  readonly publicKey: string
  readonly generation: number
}): string =>
  JSON.stringify([
    "corral-edge-key",
    LINK_VERSION,
    proof.hub,
    proof.deviceId,
    proof.publicKey,
    proof.generation
  ])

export class EdgeLink extends RpcGroup.make(
  Rpc.make("Hello", {
    payload: { linkVersion: Schema.Int, deviceId: DeviceId, instanceId: Schema.String },
    /** `hub` is the Hub's public URL; the challenge is used once, on this socket, within 30 s. */
    success: Schema.Struct({ challenge: Schema.String, hub: Schema.String }),
    error: LinkFailure
  }),
  Rpc.make("Prove", {
    /** Ed25519 over `challengeText`, as base64url. */
    payload: { deviceId: DeviceId, challenge: Schema.String, signature: Schema.String, offer: Offer },
    success: Schema.Struct({ generation, heartbeatSeconds: pause, accessSeconds: pause }),
    error: LinkFailure
  }),
  Rpc.make("Rotate", {
    /** From now on the device is known by this key alone. The new key's signature over `rotationText`, as base64url. */
    payload: { generation, publicKey: PublicKey, signature: Schema.String },
    error: LinkFailure
  }),
  Rpc.make("Acks", {
    /** Where to go on after a break: asked for the runs that the Edge still has. */
    payload: { generation, runIds: Schema.Array(RunId) },
    success: Schema.Array(Ack),
    error: LinkFailure
  }),
  Rpc.make("Heartbeat", {
    payload: { generation, offer: Schema.optionalKey(Offer) },
    error: LinkFailure
  }),
  Rpc.make("Commands", {
    payload: { generation },
    success: EdgeCommand,
    error: LinkFailure,
    stream: true
  }),
  Rpc.make("CommandDone", {
    payload: { generation, commandId: CommandId, outcome: CommandOutcome },
    error: LinkFailure
  }),
  Rpc.make("PushEvents", {
    payload: { generation, batches: Schema.Array(EventBatch) },
    success: Schema.Array(PushAck),
    error: LinkFailure
  })
) {}
