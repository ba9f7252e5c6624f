/**
 * The link between an Edge and its Hub: one WebSocket that the Edge dials, carrying RPC.
 *
 * Order: `Hello` → sign the challenge → `Prove` → then `Commands` (a stream that stays open), `Heartbeat`, `PushEvents` and `CommandDone`, each
 * with the generation that `Prove` gave. A newer link of the same device has a higher generation and fences the older one: its calls
 * fail with `conflict`. Nothing is kept of a broken link: the Edge pushes again from the acknowledged seq, the Hub sends unanswered
 * commands again.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { Agent } from "./Agent.ts"
import { CommandId, CommandOutcome, EdgeCommand } from "./EdgeCommand.ts"
import { DeviceId, RunId } from "./Ids.ts"
import { Workspace } from "./Workspace.ts"

export const LINK_VERSION = 1
/** Largest batch of one push. */
export const MAX_PUSH_EVENTS = 500

/** `unauthorized`: unknown or revoked device, or a wrong signature. `conflict`: fenced by a newer link. */
export const LinkFailure = Schema.Struct({
  code: Schema.Literals(["unauthorized", "conflict", "schema_validation_failed", "overloaded"]),
  message: Schema.String
})
export type LinkFailure = typeof LinkFailure.Type

const generation = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))
const seq = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The last seq of a run that is durable at the Hub; 0 for none. */
export const Ack = Schema.Struct({ runId: RunId, seq })
export type Ack = typeof Ack.Type

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
  agents: Schema.Array(Agent)
})
export type Offer = typeof Offer.Type

/** The bytes that a device signs, as text: bound to this protocol, this Hub, this device and this challenge. */
export const challengeText = (proof: {
  readonly hub: string
  readonly deviceId: DeviceId
  readonly challenge: string
}): string => JSON.stringify(["corral-edge-link", LINK_VERSION, proof.hub, proof.deviceId, proof.challenge])

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
    success: Schema.Struct({ generation, heartbeatSeconds: Schema.Int }),
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
    success: Schema.Array(Ack),
    error: LinkFailure
  })
) {}
