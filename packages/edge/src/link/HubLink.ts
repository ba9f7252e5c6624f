/**
 * Link to the Hub: connects, proves the device, receives commands, pushes events, and connects again after a failure. Also the device file of this Edge with the rotation of its key, and the
 * link's state for the readiness check.
 *
 * Guarantees: runs do not depend on the link. Without a Hub they continue, and their events are pushed later. If only a user can resolve a refusal, it stops connecting until the device file
 * changes. While the Edge runs, only this service writes the device file. The next key of a rotation is durable before the Hub receives it; after a crash or a broken link, the next link finds out
 * which of the two keys the Hub accepts.
 */
import { Conflict, Overloaded } from "@corral/domain/errors/Failures"
import type { LinkReadiness } from "@corral/domain/http/Health"
import { rotationText } from "@corral/domain/link/EdgeLink"
import { ClockOffset } from "@corral/service/clock/ClockOffset"
import { CurrentMetrics, type Reading } from "@corral/service/telemetry/Metrics"
import { Cause, Clock, Context, Effect, Layer, Option, Random } from "effect"
import { join } from "node:path"
import { EdgeConfig, hubUrlOf, linkAddressOf } from "../config/EdgeConfig.ts"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { Store } from "../store/Store.ts"
import {
  type DeviceFile,
  type DeviceFileUnusable,
  newPrivateKey,
  publicKeyOf,
  readDevice,
  signText,
  stampOf,
  writeDevice
} from "./DeviceKey.ts"
import { CurrentLink, HubAttachments } from "./HubAttachments.ts"
import { HubCommands } from "./HubCommands.ts"
import { endPushesOfOtherDevices } from "./HubRuns.ts"
import { defaultTimes, failureOf, type LinkEnd, type LinkTimes } from "./LinkSocket.ts"
import { type LinkOwner, type LiveLink, makeLinkSession } from "./LinkSession.ts"

const connectionLost = new Overloaded({ message: "The link broke: the next one finds out which key counts." })

const orOverloaded = Effect.mapError(({ message }: DeviceFileUnusable) => new Overloaded({ message }))

/** `save` writes the file durably. */
const rotateKey = Effect.fn("HubLink.rotate")(function* (
  device: DeviceFile,
  { calls, generation }: LiveLink,
  save: (device: DeviceFile) => Effect.Effect<void, DeviceFileUnusable>
): Effect.fn.Return<void, Conflict | Overloaded> {
  const { deviceId, hub } = device
  const privateKey = newPrivateKey()
  const publicKey = publicKeyOf(privateKey)
  yield* orOverloaded(save({ ...device, next: { privateKey } }))
  const signature = signText(privateKey, rotationText({ hub, deviceId, publicKey, generation }))
  yield* calls.Rotate({ generation, publicKey, signature }).pipe(
    Effect.mapError((error) => {
      const failure = failureOf(error)
      return failure === undefined
        ? connectionLost
        : new Conflict({ message: `The Hub refuses the new key: ${failure.message}` })
    }),
    // Calls over a closing link are interrupted.
    Effect.catchCause((cause) =>
      Effect.fail(Option.getOrElse(Cause.findErrorOption(cause), (): Conflict | Overloaded => connectionLost))
    )
  )
  const { next: _, ...rest } = device
  yield* orOverloaded(save({ ...rest, privateKey }))
  yield* Effect.logInfo("rotated the device key")
}, Effect.uninterruptible)

// State of the link to the Hub, as the readiness check reports it.

class LinkStatus {
  readiness: LinkReadiness = { state: "none" }
  /** The clock of the Hub, as each proof learns it. */
  readonly hubClock = new ClockOffset()
  #live: LiveLink | undefined
  private readonly now: () => number
  private readonly onLive: (live: LiveLink | undefined) => void

  constructor(now: () => number, onLive: (live: LiveLink | undefined) => void) {
    this.now = now
    this.onLive = onLive
  }

  get live(): LiveLink | undefined {
    return this.#live
  }

  set live(live: LiveLink | undefined) {
    this.#live = live
    this.onLive(live)
  }

  /** This machine's clock minus the Hub's, in milliseconds; `undefined` without a Hub that has said its time. */
  skewMs(): number | undefined {
    const hubTime = this.hubClock.at(performance.now())
    return hubTime === undefined || this.readiness.state === "none" ? undefined : this.now() - hubTime
  }

  enter(state: LinkReadiness["state"], device: DeviceFile | undefined, problem?: string): void {
    const { readiness } = this
    const since =
      state === readiness.state && readiness.since !== undefined
        ? readiness.since
        : new Date(this.now()).toISOString()
    this.readiness = {
      state,
      since,
      ...(device === undefined ? {} : { hub: device.hub, deviceId: device.deviceId }),
      ...(problem === undefined ? {} : { problem })
    }
  }
}

// Device file of a running Edge: its content, and changes by other programs.

class DeviceFileWatch {
  readonly file: string
  /** Device of the last successful `load` or `save`. */
  device: DeviceFile | undefined
  private readonly lookMs: number
  /** Stamp of the file at the last `load` or `save`. */
  private stamp = ""
  private isWriting = false

  constructor(file: string, lookMs: number) {
    this.file = file
    this.lookMs = lookMs
  }

  readonly load: Effect.Effect<DeviceFile | undefined, DeviceFileUnusable> = Effect.suspend(() => {
    this.stamp = stampOf(this.file)
    this.device = undefined
    return Effect.tap(readDevice(this.file), (device) => Effect.sync(() => (this.device = device)))
  })

  save(device: DeviceFile): Effect.Effect<void, DeviceFileUnusable> {
    return Effect.suspend(() => {
      this.isWriting = true
      return Effect.map(writeDevice(this.file, device), () => {
        this.device = device
        this.stamp = stampOf(this.file)
      })
    }).pipe(Effect.ensuring(Effect.sync(() => (this.isWriting = false))))
  }

  /** Succeeds when another program has written the file. */
  readonly changed: Effect.Effect<void> = Effect.suspend(() =>
    this.isWriting || stampOf(this.file) === this.stamp
      ? Effect.andThen(Effect.sleep(this.lookMs), this.changed)
      : Effect.void
  )
}

export class HubLink extends Context.Service<
  HubLink,
  {
    readonly readiness: () => LinkReadiness
    /** This machine's clock minus the Hub's, in milliseconds; `undefined` while it is not known. */
    readonly skewMs: () => number | undefined
    /** Replaces the device's key. Fails with `conflict` without a link, or if the Hub refuses. */
    readonly rotate: Effect.Effect<LinkReadiness, Conflict | Overloaded>
  }
>()("corral/edge/link/HubLink") {
  static readonly layerWith = (times: LinkTimes) =>
    Layer.effect(
      HubLink,
      Effect.suspend(() => make(times))
    ).pipe(
      Layer.provide(HubCommands.layer.pipe(Layer.provide(HubAttachments.layer))),
      Layer.provide(CurrentLink.layer)
    )
  static readonly layer = HubLink.layerWith(defaultTimes)
}

/** Device file of this home. */
const deviceFileOf = ({ deviceFile, home }: Pick<EdgeConfig, "deviceFile" | "home">): string =>
  deviceFile ?? join(home, "device.json")

const make = Effect.fnUntraced(function* (times: LinkTimes) {
  const config = yield* EdgeConfig
  const clock = yield* Clock.Clock
  const current = yield* CurrentLink
  const metrics = yield* CurrentMetrics
  const session = yield* makeLinkSession(times)
  const status = new LinkStatus(() => clock.currentTimeMillisUnsafe(), current.set)
  const watch = new DeviceFileWatch(deviceFileOf(config), times.look)
  const link: Link = { addresses: config.hubAddresses, session, status, times, watch }
  metrics.sample(
    Effect.sync(() => {
      const skewMs = status.skewMs()
      const linked: Reading = [edgeMetrics.linked, status.live === undefined ? 0 : 1]
      return skewMs === undefined ? [linked] : [linked, [edgeMetrics.clockSkew, skewMs / 1_000]]
    })
  )

  yield* superviseLink(link).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(
        Effect.logError("restarted the Hub link", cause),
        Effect.raceFirst(Effect.sleep(times.maxDelay), watch.changed)
      )
    ),
    Effect.forever,
    Effect.forkScoped
  )
  // When the Edge stops, the Hub receives the last events of its runs before the link closes.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => status.live?.idle ?? Effect.void).pipe(Effect.timeoutOption(times.goodbye))
  )

  const rotate = Effect.gen(function* () {
    const { live } = status
    const { device } = watch
    if (live === undefined || device === undefined)
      return yield* new Conflict({ message: "The Edge is not linked to a Hub." })
    yield* rotateKey(device, live, (next) => watch.save(next))
    return status.readiness
  })

  return HubLink.of({ readiness: () => status.readiness, rotate, skewMs: () => status.skewMs() })
})

interface Link {
  /** Addresses of the Hub; `undefined`: the one in the device file. */
  readonly addresses: ReadonlyArray<string> | undefined
  readonly session: (address: string, owner: LinkOwner) => Effect.Effect<LinkEnd>
  readonly status: LinkStatus
  readonly times: LinkTimes
  readonly watch: DeviceFileWatch
}

/** Follows the device file: connects as its device, and starts again when it changes. */
const superviseLink = Effect.fnUntraced(function* (link: Link) {
  const store = yield* Store
  const { status, watch } = link
  for (;;) {
    const read = yield* Effect.result(watch.load)
    if (read._tag === "Failure") {
      yield* refuseUntilChanged(link, read.failure.message)
      continue
    }
    const device = read.success
    if (device === undefined) {
      status.enter("none", undefined)
      yield* watch.changed
      continue
    }
    const hub = hubUrlOf(device.hub)
    if ("problem" in hub) {
      yield* refuseUntilChanged(link, `${watch.file}: ${hub.problem}`)
      continue
    }
    status.enter("connecting", device)
    yield* Effect.ignore(endPushesOfOtherDevices(store, device.deviceId), { log: true })
    yield* Effect.raceFirst(stayLinked(link, device), watch.changed)
  }
})

/** Waits until a user changes the device file. */
const refuseUntilChanged = Effect.fnUntraced(function* ({ status, watch }: Link, problem: string) {
  status.enter("refused", watch.device, problem)
  yield* Effect.logError("failed to link to a Hub", { reason: problem })
  yield* watch.changed
})

/** Runs one link until it ends. */
const connect = (
  { session, status, watch }: Link,
  found: DeviceFile,
  hub: string
): Effect.Effect<LinkEnd> => {
  const owner: LinkOwner = {
    device: () => watch.device ?? found,
    save: (next) => Effect.ignore(watch.save(next), { log: true }),
    onHubTime: (sample) => status.hubClock.note(sample),
    onLive: (live) => {
      status.live = live
      status.enter("linked", watch.device)
    }
  }
  return session(linkAddressOf(hub), owner).pipe(
    Effect.ensuring(Effect.sync(() => (status.live = undefined)))
  )
}

/** Connects as one device until the file changes. */
const stayLinked = Effect.fnUntraced(function* (link: Link, found: DeviceFile) {
  const clock = yield* Clock.Clock
  const { addresses = [found.hub], status, times, watch } = link
  let dials = 0
  let refusals = 0
  /** Unix milliseconds since the link was lost; `undefined` while it may be connected. */
  let awaySince: number | undefined
  for (;;) {
    const hub = addresses[dials % addresses.length] ?? found.hub
    const end = yield* connect(link, found, hub)
    const now = clock.currentTimeMillisUnsafe()
    if (end.useful) {
      refusals = 0
      awaySince = undefined
    }
    const wasLinked = status.readiness.state === "linked"
    status.enter("connecting", watch.device, end.message)
    // Logged once per outage.
    if (wasLinked || (awaySince === undefined && refusals === 0))
      yield* Effect.logWarning("lost the Hub link", { hub, reason: end.message })
    // A challenge can expire once. A second refusal is final.
    if (end.why === "unauthorized" && ++refusals > 1) return yield* refuseUntilChanged(link, end.message)
    if (end.why === "fenced") {
      yield* Effect.logWarning(
        "another Edge uses this device's key: if that is not meant, revoke the device and join again"
      )
      yield* Effect.sleep(times.fenced * (1 + (yield* Random.next) / 3))
      continue
    }
    dials++
    if (end.why === "stopped" && end.useful) continue
    awaySince ??= now
    // Short waits after a short outage of the Hub, and few attempts during a long one.
    const limit = Math.min(times.maxDelay, Math.max(times.minDelay, (now - awaySince) / 4))
    yield* Effect.sleep((yield* Random.next) * limit)
  }
})
