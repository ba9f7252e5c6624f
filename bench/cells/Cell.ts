/**
 * One cell under the pushes of its devices, event by event. A device has one push on its way; what it says meanwhile is in its next one. The cell has
 * one transaction on its way; what arrives meanwhile is in its next one (ADR 75).
 */
import { quantile } from "../Statistics.ts"
import { measured, transaction } from "./MeasuredCosts.ts"
import type { Random } from "./Random.ts"

export interface Load {
  /** Devices with a run. */
  readonly active: number
  /** Events of each in a second; `Infinity`: the next as soon as the last is acknowledged. */
  readonly perSecond: number
  readonly millis: number
  /** No transaction begins between these times, as during a failover. */
  readonly outage?: { readonly from: number; readonly until: number }
  /** Devices, some of them active, that lose their link at a time and connect again. */
  readonly cut?: { readonly at: number; readonly devices: number; readonly active: number }
}

export interface CellOutcome {
  readonly pushesPerSecond: number
  /** Milliseconds from a push to its acknowledgement. */
  readonly p50: number
  readonly p99: number
  /** Milliseconds from an event to its acknowledgement, of the event that waited longest. */
  readonly longest: number
  /** Milliseconds from the end of the outage or the cut until no event had waited for longer than a second; 0 if there was none. */
  readonly caughtUpAfter: number
  /** Devices without a link at the end. */
  readonly unlinked: number
}

interface Push {
  readonly device: number
  readonly events: number
  readonly oldest: number
  readonly sentAt: number
}

const BEHIND_MS = 1_000

class Cell {
  now = 0
  connecting = 0
  readonly acknowledged: Array<number> = []
  longest = 0
  lastBehind = 0
  private readonly load: Load
  private readonly random: Random
  private waiting: Array<Push> = []
  private batch: ReadonlyArray<Push> = []
  private batchEnd = Number.POSITIVE_INFINITY
  private nextEvent: number
  private linkedAt = 0
  private readonly events: Array<number>
  private readonly oldest: Array<number>
  private readonly isSending: Array<boolean>
  private readonly isUnlinked: Array<boolean>

  constructor(load: Load, random: Random) {
    this.load = load
    this.random = random
    const closed = load.perSecond === Number.POSITIVE_INFINITY
    this.events = Array.from({ length: load.active }, () => (closed ? 1 : 0))
    this.oldest = Array.from({ length: load.active }, () => 0)
    this.isSending = Array.from({ length: load.active }, () => false)
    this.isUnlinked = Array.from({ length: load.active }, () => false)
    this.nextEvent = closed ? Number.POSITIVE_INFINITY : this.pause()
    if (closed) for (let device = 0; device < load.active; device++) this.send(device)
  }

  run(): void {
    const { cut, millis, outage } = this.load
    let cutAt = cut?.at ?? Number.POSITIVE_INFINITY
    let resumeAt = outage?.until ?? Number.POSITIVE_INFINITY
    for (;;) {
      this.begin()
      const linkAt = this.linkAt()
      this.now = Math.min(this.nextEvent, this.batchEnd, linkAt, cutAt, resumeAt)
      if (this.now > millis) return
      if (this.now === cutAt) {
        cutAt = Number.POSITIVE_INFINITY
        this.cut()
      } else if (this.now === resumeAt) resumeAt = Number.POSITIVE_INFINITY
      else if (this.now === this.batchEnd) this.finish()
      else if (this.now === linkAt) this.link()
      else this.emit()
    }
  }

  /** When the next device is connected: later while the cell also stores. */
  private linkAt(): number {
    if (this.connecting === 0) return Number.POSITIVE_INFINITY
    return Math.max(this.now, this.linkedAt + measured.connect * (this.batch.length > 0 ? 2 : 1))
  }

  /** Active devices are spread evenly among those that connect. */
  private activeAmong(connecting: number): number {
    const { active = 0, devices = 1 } = this.load.cut ?? {}
    return Math.floor((connecting * active) / devices)
  }

  private link(): void {
    const before = this.activeAmong(this.connecting)
    this.linkedAt = this.now
    this.connecting--
    const device = this.activeAmong(this.connecting)
    if (device === before) return
    this.isUnlinked[device] = false
    this.send(device)
  }

  private cut(): void {
    this.connecting = this.load.cut?.devices ?? 0
    this.linkedAt = this.now
    for (let device = 0; device < this.activeAmong(this.connecting); device++) this.isUnlinked[device] = true
  }

  private pause(): number {
    return this.now + this.random.pause((this.load.active * this.load.perSecond) / 1_000)
  }

  private emit(): void {
    const device = this.random.below(this.load.active)
    if (this.events[device] === 0) this.oldest[device] = this.now
    this.events[device] = (this.events[device] ?? 0) + 1
    this.send(device)
    this.nextEvent = this.pause()
  }

  private send(device: number): void {
    const events = this.events[device] ?? 0
    if (events === 0 || this.isSending[device] || this.isUnlinked[device]) return
    this.isSending[device] = true
    this.events[device] = 0
    this.waiting.push({ device, events, oldest: this.oldest[device] ?? 0, sentAt: this.now })
  }

  private begin(): void {
    const { outage } = this.load
    if (this.batch.length > 0 || this.waiting.length === 0) return
    if (outage !== undefined && this.now >= outage.from && this.now < outage.until) return
    this.batch = this.waiting
    this.waiting = []
    const further = this.batch.reduce((sum, { events }) => sum + events - 1, 0)
    const { fixed, perFurtherEvent, perPush, spread } = transaction
    const share = this.connecting > 0 ? 2 : 1
    const millis = (fixed + perPush * this.batch.length + perFurtherEvent * further) * share
    this.batchEnd = this.now + millis * this.random.factor(spread)
  }

  private finish(): void {
    const batch = this.batch
    this.batch = []
    this.batchEnd = Number.POSITIVE_INFINITY
    for (const { device, oldest, sentAt } of batch) {
      this.acknowledged.push(this.now - sentAt)
      this.longest = Math.max(this.longest, this.now - oldest)
      if (this.now - oldest > BEHIND_MS) this.lastBehind = this.now
      this.isSending[device] = false
      if (this.nextEvent === Number.POSITIVE_INFINITY) {
        this.events[device] = 1
        this.oldest[device] = this.now
      }
      this.send(device)
    }
  }
}

export const simulateCell = (load: Load, random: Random): CellOutcome => {
  const cell = new Cell(load, random)
  cell.run()
  return {
    pushesPerSecond: (cell.acknowledged.length * 1_000) / load.millis,
    p50: quantile(cell.acknowledged, 0.5),
    p99: quantile(cell.acknowledged, 0.99),
    longest: cell.longest,
    caughtUpAfter: Math.max(0, cell.lastBehind - (load.outage?.until ?? load.cut?.at ?? 0)),
    unlinked: cell.connecting
  }
}
