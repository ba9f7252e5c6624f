/**
 * The link to the Hub: dials, proves the device, carries commands in and events out, and dials again when the link breaks.
 *
 * Owns the device file while the Edge runs. Runs do not depend on the link: without a Hub they continue, and their events are pushed when
 * there is one again. Stops dialling when only a person can help, and starts again when the device file changes.
 */
import { Conflict, type Overloaded } from "@corral/domain/errors/Failures"
import type { LinkReadiness } from "@corral/domain/http/Health"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Layer, Random } from "effect"
import { join } from "node:path"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { hubUrlOf, linkAddressOf } from "../config/HubAddress.ts"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { Store } from "../store/Store.ts"
import { DeviceFileWatch } from "./DeviceFileWatch.ts"
import type { DeviceFile } from "./DeviceKey.ts"
import { HubCommands } from "./HubCommands.ts"
import { forgetOthers } from "./HubRuns.ts"
import { rotateKey } from "./KeyRotation.ts"
import type { LinkEnd } from "./LinkEnd.ts"
import { type LinkOwner, makeLinkSession } from "./LinkSession.ts"
import { LinkStatus } from "./LinkStatus.ts"
import { defaultTimes, type LinkTimes } from "./LinkTimes.ts"

export class HubLink extends Context.Service<
  HubLink,
  {
    readonly readiness: () => LinkReadiness
    /** Gives the device a new key. Fails with `conflict` when there is no link, or when the Hub refuses. */
    readonly rotate: Effect.Effect<LinkReadiness, Conflict | Overloaded>
  }
>()("corral/edge/link/HubLink") {
  /** `times` for tests. */
  static readonly layer = (config: EdgeConfig, times: LinkTimes = defaultTimes) =>
    Layer.effect(HubLink, make(config, times)).pipe(Layer.provide(HubCommands.layer))
}

/** Device file of this home. */
export const deviceFileOf = ({ deviceFile, home }: Pick<EdgeConfig, "deviceFile" | "home">): string =>
  deviceFile ?? join(home, "device.json")

const make = Effect.fnUntraced(function* (config: EdgeConfig, times: LinkTimes) {
  const clock = yield* Clock.Clock
  const metrics = yield* CurrentMetrics
  const session = yield* makeLinkSession(times)
  const status = new LinkStatus(() => clock.currentTimeMillisUnsafe())
  const watch = new DeviceFileWatch(deviceFileOf(config), times.look)
  const link: Link = { addresses: config.hubAddresses, session, status, times, watch }
  metrics.sample(Effect.sync(() => [[edgeMetrics.linked, status.live === undefined ? 0 : 1]]))

  yield* superviseLink(link).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(
        Effect.logError("restarted the link to the Hub", cause),
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

  return HubLink.of({ readiness: () => status.readiness, rotate })
})

interface Link {
  /** Addresses of the Hub; `undefined`: the one in the device file. */
  readonly addresses: ReadonlyArray<string> | undefined
  readonly session: (address: string, owner: LinkOwner) => Effect.Effect<LinkEnd>
  readonly status: LinkStatus
  readonly times: LinkTimes
  readonly watch: DeviceFileWatch
}

/** Follows the device file: links as the device that it names, and starts over when it changes. */
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
    yield* Effect.ignore(forgetOthers(store, device.deviceId), { log: true })
    yield* Effect.raceFirst(stayLinked(link, device), watch.changed)
  }
})

/** Waits until a person has changed the device file. */
const refuseUntilChanged = Effect.fnUntraced(function* ({ status, watch }: Link, problem: string) {
  status.enter("refused", watch.device, problem)
  yield* Effect.logError(`the Edge is not linked to a Hub: ${problem}`)
  yield* watch.changed
})

/** One link, to its end. */
const connect = (
  { session, status, watch }: Link,
  found: DeviceFile,
  hub: string
): Effect.Effect<LinkEnd> => {
  const owner: LinkOwner = {
    device: () => watch.device ?? found,
    save: (next) => Effect.ignore(watch.save(next), { log: true }),
    onLive: (live) => {
      status.live = live
      status.enter("linked", watch.device)
    }
  }
  return session(linkAddressOf(hub), owner).pipe(
    Effect.ensuring(Effect.sync(() => (status.live = undefined)))
  )
}

/** Dials as one device until the file changes. */
const stayLinked = Effect.fnUntraced(function* (link: Link, found: DeviceFile) {
  const clock = yield* Clock.Clock
  const { addresses = [found.hub], status, times, watch } = link
  let dials = 0
  let refusals = 0
  /** Unix milliseconds since when there is no link; `undefined` while the link may just have been lost. */
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
    // Logged once while it lasts.
    if (wasLinked || (awaySince === undefined && refusals === 0))
      yield* Effect.logWarning(`the link to ${hub} is gone: ${end.message}`)
    // A challenge can expire once; a second refusal is final.
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
    // A short absence of the Hub ends in a short wait; a long one must not mean many dials.
    const limit = Math.min(times.maxDelay, Math.max(times.minDelay, (now - awaySince) / 4))
    yield* Effect.sleep((yield* Random.next) * limit)
  }
})
