/**
 * Link between an Edge and its Hub: one WebSocket that the Edge opens, with RPC as JSON frames.
 *
 * Order: `Hello` → sign the challenge → `Prove` → then `Commands` (a stream that stays open), `Heartbeat`, `PushEvents`, `PushChanges` and
 * `CommandDone`, each with the generation from `Prove`. A proof is valid for `ACCESS_SECONDS`. The Edge proves itself again on the same socket before it
 * expires, and keeps its generation. A newer link of the same device has a higher generation and fences the older one: calls of the older
 * link fail with `conflict`. A broken link leaves no state: the Edge pushes again from the acknowledged `seq`, and the Hub sends unanswered
 * commands again.
 *
 * A Hub of an earlier version takes only the counts of an agent that it supports. That an agent counts cost is a separate field, which such a Hub ignores.
 */
import { Schema, SchemaTransformation } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { Agent } from "../run/Agent.ts"
import { ByteOffset, CommandId, CommandOutcome, EdgeCommand } from "./EdgeCommand.ts"
import { PublicKey } from "../device/Device.ts"
import { AttachmentId, ChangeSetId, DeviceId, RunId } from "../identity/Ids.ts"
import { Workspace } from "../device/Workspace.ts"

const SentAgent = Schema.Struct({ ...Agent.fields, countsCost: Schema.optionalKey(Schema.Literal(true)) })
type SentAgent = typeof SentAgent.Type

export const OfferedAgent: Schema.Codec<Agent, typeof SentAgent.Encoded> = SentAgent.pipe(
  Schema.decodeTo(
    Schema.toType(Agent),
    SchemaTransformation.transform({
      decode: ({ countsCost, ...agent }: SentAgent): Agent =>
        countsCost === true ? { ...agent, counts: [...(agent.counts ?? []), "cost"] } : agent,
      encode: (agent: Agent): SentAgent =>
        agent.counts?.includes("cost") === true
          ? { ...agent, counts: agent.counts.filter((counted) => counted !== "cost"), countsCost: true }
          : agent
    })
  )
)

/** Version of the protocol. */
export const LINK_VERSION = 1
/** Path of the link in the URL of a Hub. */
export const LINK_PATH = "/edge/link"
/** Seconds that a proof is valid. */
export const ACCESS_SECONDS = 900
/** Largest number of events in one push. */
export const MAX_PUSH_EVENTS = 500
/** Largest number of characters in one push. A single event may exceed it. */
export const MAX_PUSH_CHARACTERS = 1_048_576
/** Largest number of pushes of one link that wait for their acknowledgement. */
export const MAX_PUSHES_IN_FLIGHT = 4
/** Largest frame in either direction, in bytes. A command with a larger result fails with `payload_too_large`. */
export const MAX_FRAME_BYTES = 8 * 1_048_576
/** Seconds that a challenge is valid, and that a socket may stay open without a proof. */
export const PROVE_WITHIN_SECONDS = 30

/** Close codes of a link. */
export const linkCloseCodes = {
  /** The Edge exceeded a limit of the link. */
  tooMuch: 1008,
  /** The Hub is stopping. The Edge reconnects immediately. */
  restart: 1012,
  /** The proof is missing or has expired, or the device was revoked. */
  unproved: 4401,
  /** A newer link of the device replaced this one. */
  fenced: 4409
} as const
export type LinkCloseCode = (typeof linkCloseCodes)[keyof typeof linkCloseCodes]

/**
 * Failure of a call. `unauthorized`: unknown or revoked device, or an invalid signature. `conflict`: fenced by a newer link. `not_found`: the
 * run has no such attachment.
 */
export const LinkFailure = Schema.Struct({
  code: Schema.Literals(["unauthorized", "conflict", "schema_validation_failed", "overloaded", "not_found"]),
  message: Schema.String
})
export type LinkFailure = typeof LinkFailure.Type

const generation = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))
/** Interval in seconds that a Hub sets for an Edge: at least one second, at most a day. */
const pause = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))
const seq = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Acknowledgement: the last `seq` of a run that is durable at the Hub; 0 for none. */
export const Ack = Schema.Struct({ runId: RunId, seq })
export type Ack = typeof Ack.Type

/**
 * Acknowledgement of a push. `refused`: `permission_denied` if the run belongs to another device, `conflict` if earlier events are missing,
 * `schema_validation_failed` if an event is invalid or cannot follow. Events up to `seq` are stored even then.
 */
export const PushAck = Schema.Struct({
  ...Ack.fields,
  refused: Schema.optionalKey(Schema.Literals(["permission_denied", "conflict", "schema_validation_failed"]))
})
export type PushAck = typeof PushAck.Type

/** Consecutive events of one run, each as the JSON text that the Edge has stored. */
export const EventBatch = Schema.Struct({
  runId: RunId,
  firstSeq: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  events: Schema.Array(Schema.String)
})
export type EventBatch = typeof EventBatch.Type

/** Largest number of change sets in one push. */
export const MAX_PUSH_CHANGE_SETS = 50
/** A change set as it is now, as JSON text of a `ChangeSet`. Replaces what the Hub has; decisions are added by their ids. */
export const PushedChanges = Schema.Struct({ id: ChangeSetId, set: Schema.String })
export type PushedChanges = typeof PushedChanges.Type

/**
 * `refused`: `permission_denied` if the run or the set is not this device's, `schema_validation_failed` if the text is not the change set. The Edge does
 * not push the set again until it changes.
 */
export const ChangesAck = Schema.Struct({
  id: ChangeSetId,
  refused: Schema.optionalKey(Schema.Literals(["permission_denied", "schema_validation_failed"]))
})
export type ChangesAck = typeof ChangesAck.Type

/** Calls that were added after the first version of the link. A Hub names those that it accepts. */
export const addedCalls = ["PushChanges"] as const

/** Workspaces, agents and commands that an Edge offers now. Sent completely after a change. */
export const Offer = Schema.Struct({
  version: Schema.String,
  workspaces: Schema.Array(Workspace),
  agents: Schema.Array(OfferedAgent),
  /** Names of the commands and features that the Edge accepts. The Hub sends no others. Early versions of the Edge do not send the names. */
  commands: Schema.optionalKey(Schema.Array(Schema.String))
})
export type Offer = typeof Offer.Type

/** Text that a device signs to prove itself: bound to the protocol, the Hub, the device and the challenge. */
export const challengeText = (proof: {
  readonly hub: string
  readonly deviceId: DeviceId
  readonly challenge: string
}): string => JSON.stringify(["corral-edge-link", LINK_VERSION, proof.hub, proof.deviceId, proof.challenge])

/** Text that the new key of a device signs for a rotation: bound to the protocol, the Hub, the device, the key and the generation. */
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

/** Calls of the link. */
export class EdgeLink extends RpcGroup.make(
  Rpc.make("Hello", {
    payload: { linkVersion: Schema.Int, deviceId: DeviceId, instanceId: Schema.String },
    /**
     * `hub` is the public URL of the Hub, `now` its time in Unix milliseconds; earlier Hubs do not send it. The challenge is valid once, on this
     * socket, for 30 s.
     */
    success: Schema.Struct({
      challenge: Schema.String,
      hub: Schema.String,
      now: Schema.optionalKey(Schema.Finite)
    }),
    error: LinkFailure
  }),
  Rpc.make("Prove", {
    /** `signature`: Ed25519 signature of `challengeText`, as base64url. */
    payload: { deviceId: DeviceId, challenge: Schema.String, signature: Schema.String, offer: Offer },
    success: Schema.Struct({
      generation,
      heartbeatSeconds: pause,
      accessSeconds: pause,
      /** Those of `addedCalls` that the Hub accepts. Earlier Hubs do not send the names. */
      calls: Schema.optionalKey(Schema.Array(Schema.String))
    }),
    error: LinkFailure
  }),
  Rpc.make("Rotate", {
    /** Replaces the key of the device. `signature`: signature of `rotationText` by the new key, as base64url. */
    payload: { generation, publicKey: PublicKey, signature: Schema.String },
    error: LinkFailure
  }),
  Rpc.make("Acks", {
    /** Acknowledgements of the runs that the Edge still has, to continue after a disconnect. */
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
  Rpc.make("ReadAttachment", {
    /** Bytes of a file that a command of the run names, from `offset`. Empty at the end. */
    payload: { generation, runId: RunId, attachmentId: AttachmentId, offset: ByteOffset },
    success: Schema.Struct({ base64: Schema.String }),
    error: LinkFailure
  }),
  Rpc.make("PushEvents", {
    payload: { generation, batches: Schema.Array(EventBatch) },
    success: Schema.Array(PushAck),
    error: LinkFailure
  }),
  Rpc.make("PushChanges", {
    /** The sets are durable when the call succeeds. A repeated push has no further effect. */
    payload: {
      generation,
      sets: Schema.Array(PushedChanges).check(Schema.isMaxLength(MAX_PUSH_CHANGE_SETS))
    },
    success: Schema.Array(ChangesAck),
    error: LinkFailure
  })
) {}
