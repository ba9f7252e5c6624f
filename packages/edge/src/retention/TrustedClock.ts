/**
 * Whether the clock of the machine may decide what is old. A clock that is wrong at one start would delete a history for good.
 *
 * Guarantees: one reading decides nothing. The clock is trusted after two readings an hour apart by a clock that only runs forward, or if it agrees
 * with the reading of an earlier start: the time between the two is at most that since the boot, and a day.
 * Does not: know the right time. A clock that stays wrong for an hour is trusted.
 */
import { Context, Option, Schema } from "effect"
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { uptime } from "node:os"
import { join } from "node:path"

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** A reading of both clocks. */
export interface ClockPair {
  /** Unix time in milliseconds. An operator or a server of the time may change it. */
  readonly wall: number
  /** Milliseconds since the boot. */
  readonly sinceBoot: number
  /** The boot; `undefined` where the system does not name it. */
  readonly boot: string | undefined
}

const Stored = Schema.Struct({
  wall: Schema.Number,
  sinceBoot: Schema.Number,
  boot: Schema.optional(Schema.String)
})
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Stored))

/** The boot and the time since it. */
export const BootClock = Context.Reference<() => Omit<ClockPair, "wall">>("corral/edge/BootClock", {
  defaultValue: () => () => ({ sinceBoot: uptime() * 1_000, boot: bootId })
})

const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    return undefined
  }
}

const bootId = readText("/proc/sys/kernel/random/boot_id")

/** Whether the time between two readings can have passed. After another boot, no more is known than that the machine was off in between. */
export const agrees = (earlier: ClockPair, later: ClockPair): boolean => {
  const elapsed = later.wall - earlier.wall
  if (earlier.boot === undefined || earlier.boot !== later.boot)
    return elapsed > -DAY_MS && elapsed < later.sinceBoot + DAY_MS
  const passed = later.sinceBoot - earlier.sinceBoot
  return passed >= 0 && Math.abs(elapsed - passed) < DAY_MS
}

/** Reads the clocks of this process, which started with `first`. `stored`: the last reading of an earlier process. */
export class TrustedClock {
  readonly #file: string
  readonly #first: ClockPair
  readonly #stored: ClockPair | undefined

  /** Reads what the last start has stored in the home, and stores the reading of this one. */
  constructor(home: string, first: ClockPair) {
    this.#file = join(home, "clock.json")
    this.#first = first
    const stored = Option.getOrUndefined(decode(readText(this.#file) ?? ""))
    this.#stored = stored === undefined ? undefined : { ...stored, boot: stored.boot }
    this.#store(first)
  }

  /** Whether the clock may decide now. Stores the reading for the next start. */
  isTrusted(now: ClockPair): boolean {
    this.#store(now)
    const isProven = now.sinceBoot - this.#first.sinceBoot >= HOUR_MS && agrees(this.#first, now)
    return isProven || (this.#stored !== undefined && agrees(this.#stored, now))
  }

  /** Without a stored reading, the next start waits for an hour. */
  #store(reading: ClockPair): void {
    try {
      writeFileSync(`${this.#file}.new`, `${JSON.stringify(reading)}\n`, { mode: 0o600 })
      renameSync(`${this.#file}.new`, this.#file)
    } catch {
      return
    }
  }
}
