/**
 * One connection of an Edge: implementation of its RPC calls. An Edge says hello, proves its device, and then may make any call.
 *
 * Guarantees: a call that does not come from the device's newest link changes nothing and ends the connection.
 * Does not own the socket; `LinkServer` does.
 */
import type { DeviceLink } from "../device/DeviceRow.ts"
import type { CommandId, CommandOutcome } from "@corral/domain/link/EdgeCommand"
import { HEARTBEAT_EVERY_SECONDS } from "@corral/domain/device/Device"
import {
  ACCESS_SECONDS,
  addedCalls,
  type ChangesAck,
  EdgeLink,
  type EventBatch,
  LINK_VERSION,
  type LinkCloseCode,
  linkCloseCodes,
  type LinkFailure,
  MAX_PUSHES_IN_FLIGHT,
  MAX_PUSH_EVENTS,
  type Offer,
  type PushAck,
  type PushedChanges,
  rotationText
} from "@corral/domain/link/EdgeLink"
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import type { AttachmentReads } from "../attachment/MessageAttachments.ts"
import type { RunLog } from "../run/RunLog.ts"
import type { ChangeSets } from "../change/ChangeSets.ts"
import type { Commands } from "../edges/Commands.ts"
import { CommandFeed } from "./CommandFeed.ts"
import type { PushQueue } from "./PushQueue.ts"
import { encodeOffer, type TakenLink } from "./LeaseTakeover.ts"
import { type KeyRotation, linkFenced, type Leases } from "./Leases.ts"
import { type Challenge, hasSigned, newChallenge, invalidDeviceProof, type Proofs } from "./Proofs.ts"

/** Services shared by all connections of a Hub. */
export interface LinkServices {
  readonly attachments: AttachmentReads["Service"]
  readonly changes: ChangeSets["Service"]
  readonly commands: Commands["Service"]
  readonly leases: Leases["Service"]
  readonly log: RunLog["Service"]
  readonly pushes: PushQueue
  readonly proofs: Proofs["Service"]
  readonly rotation: KeyRotation["Service"]
  /** Unix milliseconds. */
  readonly now: () => number
  readonly accessSeconds: number
  /** Runs after the first proof of a device on a connection. */
  readonly onProved: (connection: LinkConnection, link: TakenLink) => Effect.Effect<void>
  readonly onAnswered: (deviceId: DeviceId, id: CommandId) => Effect.Effect<void>
  /** Runs after the device has pushed events of another device's runs. */
  readonly onForeign: (
    deviceId: DeviceId,
    runIds: ReadonlyArray<RunId>
  ) => Effect.Effect<void, SqlError.SqlError>
}

export interface ConnectionPeer {
  /** The Hub's public URL as the Edge knows it. */
  readonly hub: string
  /** Names the connection. */
  readonly id: string
  /** Ends the socket after pending responses are sent. */
  readonly end: (code: LinkCloseCode, reason: string) => void
  /** Starts an effect of the connection. */
  readonly run: (effect: Effect.Effect<void>) => void
}

type CallFailure = { readonly code: LinkFailure["code"]; readonly message: string } | SqlError.SqlError

export class LinkConnection {
  link: DeviceLink | undefined
  /** Unix milliseconds; 0 before the first proof. */
  provedUntil = 0
  private readonly services: LinkServices
  private readonly peer: ConnectionPeer
  private feed: CommandFeed | undefined
  private challenge: Challenge | undefined
  private edge: { readonly deviceId: DeviceId; readonly instanceId: string } | undefined
  private inFlight = 0
  private pushesInFlight = 0
  private hellos = 0

  constructor(services: LinkServices, peer: ConnectionPeer) {
    this.services = services
    this.peer = peer
  }

  /** Claims commands again: the device may have new ones. */
  wake(): void {
    this.feed?.wake()
  }

  readonly handlers = EdgeLink.of({
    Hello: (hello) => this.respond(Effect.suspend(() => this.hello(hello))),
    Prove: (proof) => this.respond(this.prove(proof)),
    Rotate: ({ generation, publicKey, signature }) =>
      this.respond(
        Effect.flatMap(this.requireLink(generation), (link): Effect.Effect<void, CallFailure> => {
          const { deviceId } = link
          const text = rotationText({ hub: this.peer.hub, deviceId, publicKey, generation })
          return hasSigned(publicKey, text, signature)
            ? this.services.rotation.rotate(link, publicKey)
            : Effect.fail(validationFailure("The new key did not sign this rotation."))
        })
      ),
    Acks: ({ generation, runIds }) =>
      this.respond(
        Effect.flatMap(this.requireLink(generation), (link) =>
          this.services.leases.withNewest(link, this.services.log.acks(link.deviceId, runIds))
        )
      ),
    Heartbeat: ({ generation, offer }) => this.respond(this.heartbeat(generation, offer)),
    Commands: ({ generation }) => this.commands(generation),
    CommandDone: ({ commandId, generation, outcome }) =>
      this.respond(this.commandDone(generation, commandId, outcome)),
    ReadAttachment: ({ attachmentId, generation, offset, runId }) =>
      this.respond(
        Effect.flatMap(this.requireLink(generation), ({ deviceId }) =>
          Effect.map(this.services.attachments.read(deviceId, runId, attachmentId, offset), (bytes) => ({
            base64: Buffer.from(bytes).toString("base64")
          }))
        )
      ),
    // Queued before the next message is read, so that pushes are stored in the order of their arrival.
    PushEvents: ({ batches, generation }) => this.respond(this.push(generation, batches)),
    PushChanges: ({ generation, sets }) => this.respond(this.pushChanges(generation, sets))
  })

  private hello({ deviceId, instanceId, linkVersion }: Hello) {
    if (linkVersion !== LINK_VERSION)
      return Effect.fail(validationFailure(`This Hub supports version ${LINK_VERSION} of the link.`))
    if (!instanceShape.test(instanceId))
      return Effect.fail(validationFailure("Expected another instance id."))
    const edge = this.edge
    if (
      edge !== undefined &&
      this.link !== undefined &&
      (edge.deviceId !== deviceId || edge.instanceId !== instanceId)
    )
      return Effect.fail(invalidDeviceProof())
    if (this.link === undefined && ++this.hellos > MAX_HELLOS) {
      this.peer.end(linkCloseCodes.tooMuch, "too many challenges")
      return Effect.fail(overloaded)
    }
    this.edge = { deviceId, instanceId }
    const now = this.services.now()
    this.challenge = newChallenge(deviceId, now)
    return Effect.succeed({ challenge: this.challenge.text, hub: this.peer.hub, now })
  }

  private readonly prove = Effect.fnUntraced(
    function* (this: LinkConnection, { challenge, deviceId, offer, signature }: Prove) {
      const { hub, id: connectionId } = this.peer
      const [expected, edge] = [this.challenge, this.edge]
      this.challenge = undefined
      const device = yield* this.services.proofs.check({ challenge, deviceId, expected, hub, signature })
      if (edge === undefined) return yield* invalidDeviceProof()
      const encoded = yield* encodeOffer(offer)
      let { link } = this
      if (link === undefined) {
        const { instanceId } = edge
        const taken = yield* this.services.leases.acquire({
          connectionId,
          deviceId,
          instanceId,
          device,
          offer: encoded
        })
        link = { deviceId, generation: taken.generation }
        this.link = link
        this.extendProof()
        yield* this.services.onProved(this, taken)
      } else {
        yield* this.services.leases.offer(link, encoded)
        yield* this.services.leases.renew(link)
        this.extendProof()
      }
      return {
        generation: link.generation,
        heartbeatSeconds: HEARTBEAT_EVERY_SECONDS,
        accessSeconds: this.services.accessSeconds,
        calls: addedCalls
      }
    }.bind(this)
  )

  private extendProof(): void {
    this.provedUntil = this.services.now() + this.services.accessSeconds * 1_000
  }

  private readonly heartbeat = Effect.fnUntraced(
    function* (this: LinkConnection, generation: number, offer: Offer | undefined) {
      const link = yield* this.requireLink(generation)
      if (offer !== undefined) yield* this.services.leases.offer(link, yield* encodeOffer(offer))
      yield* this.services.leases.renew(link)
    }.bind(this)
  )

  private readonly commandDone = Effect.fnUntraced(
    function* (this: LinkConnection, generation: number, id: CommandId, outcome: CommandOutcome) {
      const link = yield* this.requireLink(generation)
      if (!(yield* this.services.commands.answer(link, id, outcome)))
        yield* this.services.leases.requireNewest(link)
      yield* this.services.onAnswered(link.deviceId, id)
    }.bind(this)
  )

  /** Stream of commands. Ends with the connection, or when the Edge opens another stream. */
  private commands(generation: number) {
    const opened = Effect.gen({ self: this }, function* () {
      const link = yield* this.requireLink(generation)
      const { commands } = this.services
      const previous = this.feed
      previous?.end()
      // Nothing has been sent before the first stream of a link.
      if (previous !== undefined) yield* commands.resend(link)
      const feed = yield* CommandFeed.make({
        hasCommands: commands.hasOpen(link.deviceId),
        claim: commands.claim(link),
        run: this.peer.run
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => feed.end()))
      this.feed = feed
      yield* commands.openStream({ link, isIdle: () => feed.isIdle, offer: (command) => feed.offer(command) })
      feed.wake()
      return feed.queue
    })
    return this.toLinkFailure(opened)
  }

  private push(
    generation: number,
    batches: ReadonlyArray<EventBatch>
  ): Effect.Effect<ReadonlyArray<PushAck>, CallFailure> {
    const { link } = this
    const failure = this.findLinkFailure(generation)
    if (failure !== undefined) return failure
    if (link === undefined) return Effect.fail(invalidDeviceProof())
    const events = batches.reduce((sum, batch) => sum + batch.events.length, 0)
    if (events > MAX_PUSH_EVENTS)
      return Effect.fail(validationFailure(`Expected at most ${MAX_PUSH_EVENTS} events in one push.`))
    if (this.pushesInFlight >= MAX_PUSHES_IN_FLIGHT) {
      this.peer.end(linkCloseCodes.tooMuch, "too many pushes in flight")
      return Effect.fail(overloaded)
    }
    this.pushesInFlight++
    return this.services.pushes.push(link, batches).pipe(
      Effect.tap((acks) => {
        const foreign = acks.flatMap(({ refused, runId }) => (refused === "permission_denied" ? [runId] : []))
        return foreign.length === 0 ? Effect.void : this.services.onForeign(link.deviceId, foreign)
      }),
      Effect.ensuring(Effect.sync(() => void this.pushesInFlight--))
    )
  }

  private readonly pushChanges = Effect.fnUntraced(
    function* (
      this: LinkConnection,
      generation: number,
      sets: ReadonlyArray<PushedChanges>
    ): Effect.fn.Return<ReadonlyArray<ChangesAck>, CallFailure> {
      const link = yield* this.requireLink(generation)
      const { changes, leases, onForeign } = this.services
      const acks = yield* leases.withNewest(link, changes.push(link.deviceId, sets))
      const foreign = acks.flatMap(({ runId }) => runId ?? [])
      if (foreign.length > 0) yield* onForeign(link.deviceId, foreign)
      return acks.map(({ id, refused }) => (refused === undefined ? { id } : { id, refused }))
    }.bind(this)
  )

  /** Failure of calls with that generation; `undefined` if they are allowed now. */
  private findLinkFailure(generation: number): Effect.Effect<never, CallFailure> | undefined {
    const { link } = this
    if (link === undefined || this.provedUntil <= this.services.now())
      return Effect.fail(invalidDeviceProof())
    return link.generation === generation ? undefined : Effect.fail(linkFenced())
  }

  private requireLink(generation: number): Effect.Effect<DeviceLink, CallFailure> {
    return Effect.suspend(() => {
      const { link } = this
      return (
        this.findLinkFailure(generation) ??
        (link === undefined ? Effect.fail(invalidDeviceProof()) : Effect.succeed(link))
      )
    })
  }

  /** Counts the call against the limit of concurrent calls. */
  private respond<A>(self: Effect.Effect<A, CallFailure>) {
    if (this.inFlight >= MAX_CALLS) {
      this.peer.end(linkCloseCodes.tooMuch, "too many calls at once")
      return Effect.fail(overloaded)
    }
    this.inFlight++
    return Effect.ensuring(
      this.toLinkFailure(self),
      Effect.sync(() => void this.inFlight--)
    )
  }

  /** Encodes a failure for the Edge. `unauthorized` and `conflict` also end the link. */
  private toLinkFailure<A, E extends CallFailure, R>(
    self: Effect.Effect<A, E, R>
  ): Effect.Effect<A, LinkFailure, R> {
    return self.pipe(
      Effect.catch((error: CallFailure): Effect.Effect<never, LinkFailure> => {
        if (error instanceof SqlError.SqlError)
          return Effect.andThen(Effect.logWarning("failed to serve link", error), Effect.fail(overloaded))
        const { code, message } = error
        if (code === "unauthorized") this.peer.end(linkCloseCodes.unproved, "no proof")
        if (code === "conflict") this.peer.end(linkCloseCodes.fenced, message)
        return Effect.fail({ code, message })
      })
    )
  }
}

export const linkDefaults = { accessSeconds: ACCESS_SECONDS }

interface Hello {
  readonly linkVersion: number
  readonly deviceId: DeviceId
  readonly instanceId: string
}
interface Prove {
  readonly deviceId: DeviceId
  readonly challenge: string
  readonly signature: string
  readonly offer: Offer
}

/** Concurrent calls of one link. */
const MAX_CALLS = 64
/** Challenges per socket before its first proof. */
const MAX_HELLOS = 4

const instanceShape = /^[\x21-\x7e]{1,128}$/

const validationFailure = (message: string): LinkFailure => ({ code: "schema_validation_failed", message })
const overloaded: LinkFailure = { code: "overloaded", message: "The Hub is busy. Try again shortly." }
