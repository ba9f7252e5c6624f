/**
 * One connection of an Edge: what it is asked over RPC, in the order hello, proof, anything else. Its state ends with it.
 *
 * What does not come from the device's newest link changes nothing and ends the connection. It does not know the socket: `LinkServer` does.
 */
import type { DeviceLink } from "../edges/DeviceLink.ts"
import type { CommandId, CommandOutcome } from "@corral/domain/link/EdgeCommand"
import { HEARTBEAT_EVERY_SECONDS } from "@corral/domain/device/Device"
import {
  ACCESS_SECONDS,
  EdgeLink,
  type EventBatch,
  LINK_VERSION,
  type LinkCloseCode,
  linkCloseCodes,
  type LinkFailure,
  MAX_PUSH_EVENTS,
  type Offer,
  type PushAck,
  rotationText
} from "@corral/domain/link/EdgeLink"
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Cause, Effect, Latch, Stream } from "effect"
import { SqlError } from "effect/sql"
import type { RunLog } from "../run/RunLog.ts"
import type { Commands } from "../edges/Commands.ts"
import { PushQueue } from "./PushQueue.ts"
import type { KeyRotation } from "./KeyRotation.ts"
import { linkFenced, type Leases } from "./Leases.ts"
import { encodeOffer } from "./EncodedOffer.ts"
import { type Challenge, hasSigned, newChallenge, invalidDeviceProof, type Proofs } from "./Proofs.ts"

/** What every connection of a Hub shares. */
export interface LinkServices {
  readonly commands: Commands["Service"]
  readonly leases: Leases["Service"]
  readonly log: RunLog["Service"]
  readonly proofs: Proofs["Service"]
  readonly rotation: KeyRotation["Service"]
  /** Unix milliseconds. */
  readonly now: () => number
  readonly accessSeconds: number
  /** A device's first proof on this connection. */
  readonly onProved: (connection: LinkConnection, link: DeviceLink) => Effect.Effect<void>
  readonly onAnswered: (deviceId: DeviceId, id: CommandId) => Effect.Effect<void>
  /** The device has pushed events of runs that are not its own. */
  readonly onForeign: (
    deviceId: DeviceId,
    runIds: ReadonlyArray<RunId>
  ) => Effect.Effect<void, SqlError.SqlError>
}

export interface LinkPeer {
  /** The Hub's public URL, as it is told to the Edge. */
  readonly hub: string
  /** Names the connection. */
  readonly id: string
  /** Ends the socket, when what is being answered has been sent. */
  readonly end: (code: LinkCloseCode, reason: string) => void
  /** Starts an effect of the connection, which ends by itself. */
  readonly run: (effect: Effect.Effect<void>) => void
}

type Refused = { readonly code: LinkFailure["code"]; readonly message: string } | SqlError.SqlError

export class LinkConnection {
  link: DeviceLink | undefined
  /** Unix milliseconds; 0 before the first proof. */
  provedUntil = 0
  private readonly services: LinkServices
  private readonly peer: LinkPeer
  private readonly ingest: PushQueue<Refused>
  private readonly woken = Latch.makeUnsafe(true)
  private challenge: Challenge | undefined
  private who: { readonly deviceId: DeviceId; readonly instanceId: string } | undefined
  private streams = 0
  private inFlight = 0
  private hellos = 0

  constructor(services: LinkServices, peer: LinkPeer) {
    this.services = services
    this.peer = peer
    this.ingest = new PushQueue<Refused>((batches) => this.append(batches), peer.run)
  }

  /** There may be a command for the device. */
  wake(): void {
    this.woken.openUnsafe()
  }

  readonly handlers = EdgeLink.of({
    Hello: (hello) => this.answering(Effect.suspend(() => this.hello(hello))),
    Prove: (proof) => this.answering(this.prove(proof)),
    Rotate: ({ generation, publicKey, signature }) =>
      this.answering(
        Effect.flatMap(this.held(generation), (link): Effect.Effect<void, Refused> => {
          const { deviceId } = link
          const text = rotationText({ hub: this.peer.hub, deviceId, publicKey, generation })
          return hasSigned(publicKey, text, signature)
            ? this.services.rotation.rotate(link, publicKey)
            : Effect.fail(unfit("The new key has not signed this rotation."))
        })
      ),
    Acks: ({ generation, runIds }) =>
      this.answering(
        Effect.flatMap(this.held(generation), (link) =>
          this.services.leases.withNewest(link, this.services.log.acks(link.deviceId, runIds))
        )
      ),
    Heartbeat: ({ generation, offer }) => this.answering(this.heartbeat(generation, offer)),
    Commands: ({ generation }) => this.commands(generation),
    CommandDone: ({ commandId, generation, outcome }) =>
      this.answering(this.commandDone(generation, commandId, outcome)),
    // In line before anything else is read: pushes are taken in the order in which they came.
    PushEvents: ({ batches, generation }) => this.answering(this.push(generation, batches))
  })

  private hello({ deviceId, instanceId, linkVersion }: Hello) {
    if (linkVersion !== LINK_VERSION)
      return Effect.fail(unfit(`This Hub speaks version ${LINK_VERSION} of the link.`))
    if (!instanceShape.test(instanceId)) return Effect.fail(unfit("Expected another instance id."))
    const known = this.who
    if (
      known !== undefined &&
      this.link !== undefined &&
      (known.deviceId !== deviceId || known.instanceId !== instanceId)
    )
      return Effect.fail(invalidDeviceProof())
    if (this.link === undefined && ++this.hellos > MAX_HELLOS) {
      this.peer.end(linkCloseCodes.tooMuch, "too many challenges")
      return Effect.fail(overloaded)
    }
    this.who = { deviceId, instanceId }
    this.challenge = newChallenge(deviceId, this.services.now())
    return Effect.succeed({ challenge: this.challenge.text, hub: this.peer.hub })
  }

  private readonly prove = Effect.fnUntraced(
    function* (this: LinkConnection, { challenge, deviceId, offer, signature }: Prove) {
      const { hub, id: connectionId } = this.peer
      const [expected, who] = [this.challenge, this.who]
      this.challenge = undefined
      const publicKey = yield* this.services.proofs.check({ challenge, deviceId, expected, hub, signature })
      if (who === undefined) return yield* invalidDeviceProof()
      const offered = yield* encodeOffer(offer)
      let { link } = this
      if (link === undefined) {
        const { instanceId } = who
        link = yield* this.services.leases.acquire({
          connectionId,
          deviceId,
          instanceId,
          offer: offered,
          publicKey
        })
        this.link = link
        this.extend()
        yield* this.services.onProved(this, link)
      } else {
        yield* this.services.leases.offer(link, offered)
        yield* this.services.leases.renew(link)
        this.extend()
      }
      return {
        generation: link.generation,
        heartbeatSeconds: HEARTBEAT_EVERY_SECONDS,
        accessSeconds: this.services.accessSeconds
      }
    }.bind(this)
  )

  private extend(): void {
    this.provedUntil = this.services.now() + this.services.accessSeconds * 1_000
  }

  private readonly heartbeat = Effect.fnUntraced(
    function* (this: LinkConnection, generation: number, offer: Offer | undefined) {
      const link = yield* this.held(generation)
      if (offer !== undefined) yield* this.services.leases.offer(link, yield* encodeOffer(offer))
      yield* this.services.leases.renew(link)
    }.bind(this)
  )

  private readonly commandDone = Effect.fnUntraced(
    function* (this: LinkConnection, generation: number, id: CommandId, outcome: CommandOutcome) {
      const link = yield* this.held(generation)
      yield* this.services.leases.withNewest(link, this.services.commands.answer(link.deviceId, id, outcome))
      yield* this.services.onAnswered(link.deviceId, id)
    }.bind(this)
  )

  /** Commands as they come, until the connection or a later stream of it ends this one. */
  private commands(generation: number) {
    const opened = Effect.gen({ self: this }, function* () {
      const link = yield* this.held(generation)
      const mine = ++this.streams
      this.woken.openUnsafe()
      yield* this.services.commands.resend(link)
      return Stream.fromIterableEffectRepeat(Effect.suspend(() => this.next(link, mine)))
    })
    return Stream.unwrap(this.told(opened))
  }

  private readonly next = Effect.fnUntraced(
    function* (this: LinkConnection, link: DeviceLink, stream: number) {
      for (;;) {
        yield* this.woken.await
        if (stream !== this.streams) return yield* Cause.done()
        this.woken.closeUnsafe()
        const claimed = yield* this.services.commands
          .claim(link)
          .pipe(
            Effect.catch((error) =>
              Effect.as(Effect.delay(Effect.logWarning("commands wait", error), "1 second"), undefined)
            )
          )
        // There may be more than one claim takes, and what could not be claimed is still there.
        if (claimed === undefined || claimed.length > 0) this.woken.openUnsafe()
        if (claimed !== undefined && claimed.length > 0) return claimed
      }
    }.bind(this)
  )

  private push(
    generation: number,
    batches: ReadonlyArray<EventBatch>
  ): Effect.Effect<ReadonlyArray<PushAck>, Refused> {
    const lost = this.lossOf(generation)
    if (lost !== undefined) return lost
    const events = batches.reduce((sum, batch) => sum + batch.events.length, 0)
    if (events > MAX_PUSH_EVENTS)
      return Effect.fail(unfit(`Expected at most ${MAX_PUSH_EVENTS} events in one push.`))
    const taken = this.ingest.push(batches)
    if (taken !== undefined) return taken
    this.peer.end(linkCloseCodes.tooMuch, "more pushes than may wait")
    return Effect.fail(overloaded)
  }

  private append(batches: ReadonlyArray<EventBatch>) {
    const { link } = this
    if (link === undefined) return Effect.fail(invalidDeviceProof())
    const { leases, log, onForeign } = this.services
    return Effect.tap(log.append(link.deviceId, batches, leases.requireNewest(link)), (taken) => {
      const foreign = taken.flatMap(({ refusal, runId }) => (refusal === "unknown" ? [runId] : []))
      return foreign.length === 0 ? Effect.void : onForeign(link.deviceId, foreign)
    })
  }

  /** Why that generation may not act now. */
  private lossOf(generation: number): Effect.Effect<never, Refused> | undefined {
    const { link } = this
    if (link === undefined || this.provedUntil <= this.services.now())
      return Effect.fail(invalidDeviceProof())
    return link.generation === generation ? undefined : Effect.fail(linkFenced())
  }

  private held(generation: number): Effect.Effect<DeviceLink, Refused> {
    return Effect.suspend(() => {
      const { link } = this
      return (
        this.lossOf(generation) ??
        (link === undefined ? Effect.fail(invalidDeviceProof()) : Effect.succeed(link))
      )
    })
  }

  /** One call, of no more than a link has at once. */
  private answering<A>(self: Effect.Effect<A, Refused>) {
    if (this.inFlight >= MAX_CALLS) {
      this.peer.end(linkCloseCodes.tooMuch, "too many calls at once")
      return Effect.fail(overloaded)
    }
    this.inFlight++
    return Effect.ensuring(
      this.told(self),
      Effect.sync(() => void this.inFlight--)
    )
  }

  /** A failure as the Edge is told it; one of those that nothing follows ends the link. */
  private told<A, E extends Refused>(self: Effect.Effect<A, E>): Effect.Effect<A, LinkFailure> {
    return self.pipe(
      Effect.catch((error: Refused): Effect.Effect<never, LinkFailure> => {
        if (error instanceof SqlError.SqlError)
          return Effect.andThen(Effect.logWarning("a link is not served", error), Effect.fail(overloaded))
        const { code, message } = error
        if (code === "unauthorized") this.peer.end(linkCloseCodes.unproved, "no proof")
        if (code === "conflict") this.peer.end(linkCloseCodes.fenced, message)
        return Effect.fail({ code, message })
      })
    )
  }
}

export const linkDefaults = { accessSeconds: ACCESS_SECONDS }

type Hello = { readonly linkVersion: number; readonly deviceId: DeviceId; readonly instanceId: string }
type Prove = {
  readonly deviceId: DeviceId
  readonly challenge: string
  readonly signature: string
  readonly offer: Offer
}

/** Calls of one link that are being answered. */
const MAX_CALLS = 64
/** Challenges of a socket that has not proved anything. */
const MAX_HELLOS = 4

const instanceShape = /^[\x21-\x7e]{1,128}$/

const unfit = (message: string): LinkFailure => ({ code: "schema_validation_failed", message })
const overloaded: LinkFailure = { code: "overloaded", message: "The Hub is busy. Try again shortly." }
