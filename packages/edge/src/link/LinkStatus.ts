/** State of the link to the Hub, as the readiness check reports it. */
import type { LinkReadiness } from "@corral/domain/http/Health"
import { ClockOffset } from "@corral/service/clock/ClockOffset"
import type { DeviceFile } from "./DeviceKey.ts"
import type { LiveLink } from "./LinkSession.ts"

export class LinkStatus {
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
