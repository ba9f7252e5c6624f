/**
 * The link to the Hub, kept up: dials, proves which device this is, carries commands in and events out, and dials again when it breaks.
 *
 * Owns the device file while the Edge runs, and when to dial. Runs do not depend on it: without a Hub they go on, and their events are
 * pushed when there is one again. It stops dialling where only a person can help, and goes on when the device file changes.
 */
import { Conflict, type Overloaded } from "@corral/domain/errors/Failures"
import type { LinkReadiness } from "@corral/domain/http/Health"
import { Clock, Context, Effect, Layer, Random } from "effect"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { join } from "node:path"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { type DeviceFile, readDevice, stampOf, writeDevice } from "./DeviceKey.ts"
import { hubUrlOf, linkAddressOf } from "../config/HubAddress.ts"
import { HubCommands } from "./HubCommands.ts"
import { forgetOthers } from "./HubRuns.ts"
import { rotateKey } from "./KeyRotation.ts"
import type { LinkEnd } from "./LinkEnd.ts"
import { defaultTimes, type LinkTimes } from "./LinkTimes.ts"
import { type Identity, type LiveLink, makeSession } from "./LinkSession.ts"
import { Store } from "../store/Store.ts"

export class HubLink extends Context.Service<
  HubLink,
  {
    readonly readiness: () => LinkReadiness
    /** Gives the device a new key. `conflict` where there is no link, or the Hub refuses. */
    readonly rotate: Effect.Effect<LinkReadiness, Conflict | Overloaded>
  }
>()("corral/edge/link/HubLink") {
  /** `times` for tests. */
  static readonly layer = (config: EdgeConfig, times: LinkTimes = defaultTimes) =>
    Layer.effect(HubLink, make(config, times)).pipe(Layer.provide(HubCommands.layer))
}

/** Where this home keeps which device it is. */
export const deviceFileOf = ({ deviceFile, home }: Pick<EdgeConfig, "deviceFile" | "home">): string =>
  deviceFile ?? join(home, "device.json")

const make = Effect.fnUntraced(function* (config: EdgeConfig, times: LinkTimes) {
  const clock = yield* Clock.Clock
  const store = yield* Store
  const session = yield* makeSession(times)
  const file = deviceFileOf(config)
  let device: DeviceFile | undefined
  let live: LiveLink | undefined
  /** The device file as it was last read or written here. */
  let seen = ""
  let writing = false
  let readiness: LinkReadiness = { state: "none" }
  const metrics = yield* CurrentMetrics
  metrics.sample(Effect.sync(() => [[edgeMetrics.linked, live === undefined ? 0 : 1]]))

  const enter = (state: LinkReadiness["state"], problem?: string): void => {
    const since =
      state === readiness.state && readiness.since !== undefined
        ? readiness.since
        : new Date(clock.currentTimeMillisUnsafe()).toISOString()
    readiness = {
      state,
      since,
      ...(device === undefined ? {} : { hub: device.hub, deviceId: device.deviceId }),
      ...(problem === undefined ? {} : { problem })
    }
  }

  const save = (changed: DeviceFile) =>
    Effect.suspend(() => {
      writing = true
      return Effect.map(writeDevice(file, changed), () => {
        device = changed
        seen = stampOf(file)
      })
    }).pipe(Effect.ensuring(Effect.sync(() => (writing = false))))

  /** Succeeds when somebody else has written the file. */
  const changed: Effect.Effect<void> = Effect.suspend(() =>
    writing || stampOf(file) === seen ? Effect.andThen(Effect.sleep(times.look), changed) : Effect.void
  )

  /** One link, to its end. */
  const connect = (found: DeviceFile, hub: string): Effect.Effect<LinkEnd> => {
    const identity: Identity = {
      device: () => device ?? found,
      save: (next) => Effect.ignore(save(next), { log: true }),
      onLive: (link) => {
        live = link
        enter("linked")
      }
    }
    return session(linkAddressOf(hub), identity).pipe(Effect.ensuring(Effect.sync(() => (live = undefined))))
  }

  const wait = (millis: number) => Effect.raceFirst(Effect.sleep(millis), changed)

  /** Until a person has changed the file. */
  const refuse = Effect.fnUntraced(function* (problem: string) {
    enter("refused", problem)
    yield* Effect.logError(`the Edge is not linked to a Hub: ${problem}`)
    yield* changed
  })

  /** Dials as one device until the file changes. */
  const stayLinked = Effect.fnUntraced(function* (found: DeviceFile) {
    const hubs = config.hubAddresses === undefined ? [found.hub] : config.hubAddresses
    let at = 0
    let refusals = 0
    /** Unix milliseconds since when there is no link; `undefined` while that is not known to be bad. */
    let awaySince: number | undefined
    for (;;) {
      const hub = hubs[at % hubs.length] ?? found.hub
      const end = yield* connect(found, hub)
      const now = clock.currentTimeMillisUnsafe()
      if (end.useful) {
        refusals = 0
        awaySince = undefined
      }
      const wasLinked = readiness.state === "linked"
      enter("connecting", end.message)
      // What goes on for long is said once.
      if (wasLinked || (awaySince === undefined && refusals === 0))
        yield* Effect.logWarning(`the link to ${hub} is gone: ${end.message}`)
      if (end.why === "unauthorized") {
        // A challenge may have grown old once; not twice.
        if (++refusals > 1) return yield* refuse(end.message)
      }
      if (end.why === "fenced") {
        yield* Effect.logWarning(
          "another Edge uses this device's key: if that is not meant, revoke the device and join again"
        )
        yield* Effect.sleep(times.fenced * (1 + (yield* Random.next) / 3))
        continue
      }
      at++
      if (end.why === "stopped" && end.useful) continue
      awaySince ??= now
      // A Hub that was away for a moment is found in a moment; one that is away for long is not asked for often.
      const limit = Math.min(times.maxDelay, Math.max(times.minDelay, (now - awaySince) / 4))
      yield* Effect.sleep((yield* Random.next) * limit)
    }
  })

  const supervise = Effect.gen(function* () {
    for (;;) {
      seen = yield* Effect.sync(() => stampOf(file))
      const read = yield* Effect.result(readDevice(file))
      device = read._tag === "Success" ? read.success : undefined
      if (read._tag === "Failure") {
        yield* refuse(read.failure.message)
        continue
      }
      if (device === undefined) {
        enter("none")
        yield* changed
        continue
      }
      const hub = hubUrlOf(device.hub)
      if ("problem" in hub) {
        yield* refuse(`${file}: ${hub.problem}`)
        continue
      }
      enter("connecting")
      yield* Effect.ignore(forgetOthers(store, device.deviceId), { log: true })
      yield* Effect.raceFirst(stayLinked(device), changed)
    }
  })
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.catchCause(supervise, (cause) =>
        Effect.andThen(Effect.logError("the link to the Hub is started anew", cause), wait(times.maxDelay))
      )
    )
  )
  // What runs said last, when the Edge stops, is with the Hub before the link goes.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => live?.idle ?? Effect.void).pipe(Effect.timeoutOption(times.goodbye))
  )

  const rotate = Effect.gen(function* () {
    if (live === undefined || device === undefined)
      return yield* new Conflict({ message: "The Edge is not linked to a Hub." })
    yield* rotateKey(device, live, save)
    return readiness
  })

  return HubLink.of({ readiness: () => readiness, rotate })
})
