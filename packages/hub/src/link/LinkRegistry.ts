/**
 * The open links of this Hub: their sockets, their connections and the devices that they belong to.
 *
 * Guarantees: one connection per device. A connection that takes over a device ends the earlier one, and a socket that does not prove a
 * device in time is ended.
 */
import { type LinkCloseCode, linkCloseCodes, PROVE_WITHIN_SECONDS } from "@corral/domain/link/EdgeLink"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { LinkOptions } from "../config/LinkOptions.ts"
import type { LinkConnection } from "./LinkConnection.ts"
import type { LinkSocket } from "./LinkSocket.ts"

/** Sockets without a proof, per Hub. */
const MAX_UNPROVED = 256

export class LinkRegistry {
  private readonly unprovedMs: number
  /** In the order of their arrival. */
  private readonly open = new Set<LinkSocket>()
  private readonly unproved = new Set<LinkSocket>()
  private readonly sockets = new Map<LinkConnection, LinkSocket>()
  private readonly byDevice = new Map<DeviceId, LinkConnection>()
  private onEmpty: (() => void) | undefined

  constructor({ unprovedMs = PROVE_WITHIN_SECONDS * 1_000 }: LinkOptions) {
    this.unprovedMs = unprovedMs
  }

  /** Devices whose link this Hub has. */
  get deviceCount(): number {
    return this.byDevice.size
  }

  find(deviceId: DeviceId): LinkConnection | undefined {
    return this.byDevice.get(deviceId)
  }

  /** Every connection with a verified device. */
  list(): ReadonlyArray<LinkConnection> {
    return [...this.byDevice.values()]
  }

  add(connection: LinkConnection, socket: LinkSocket): void {
    this.open.add(socket)
    this.unproved.add(socket)
    this.sockets.set(connection, socket)
    // A flood displaces itself: an honest Edge proves its device before its socket is the oldest.
    const [oldest] = this.unproved
    if (this.unproved.size > MAX_UNPROVED && oldest !== undefined) {
      this.unproved.delete(oldest)
      oldest.terminate()
    }
  }

  remove(connection: LinkConnection, socket: LinkSocket): void {
    this.open.delete(socket)
    this.unproved.delete(socket)
    this.sockets.delete(connection)
    const deviceId = connection.link?.deviceId
    if (deviceId !== undefined && this.byDevice.get(deviceId) === connection) this.byDevice.delete(deviceId)
    if (this.open.size === 0) this.onEmpty?.()
  }

  /** Gives the device to the connection. Returns `false` if its socket is closed already. */
  markProved(connection: LinkConnection, deviceId: DeviceId): boolean {
    const socket = this.sockets.get(connection)
    if (socket === undefined) return false
    this.unproved.delete(socket)
    socket.markProved()
    const earlier = this.byDevice.get(deviceId)
    this.byDevice.set(deviceId, connection)
    if (earlier !== undefined) this.end(earlier, linkCloseCodes.fenced, TAKEN_OVER_REASON)
    return true
  }

  end(connection: LinkConnection, code: LinkCloseCode, reason: string): void {
    this.sockets.get(connection)?.end(code, reason)
  }

  /** Once a second: pings, and ends sockets and proofs whose time is over. `now` in Unix milliseconds. */
  tick(now: number): void {
    for (const socket of this.open) socket.tick(now)
    for (const socket of this.unproved) {
      if (now - socket.openedAt < this.unprovedMs) break
      socket.end(linkCloseCodes.unproved, "no proof")
    }
    for (const connection of this.byDevice.values())
      if (connection.provedUntil <= now)
        this.end(connection, linkCloseCodes.unproved, "the proof has expired")
  }

  /** Ends every link. Succeeds when all sockets are closed; after a second they are terminated. */
  readonly closeAll: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.open.size === 0) return resume(Effect.void)
    this.onEmpty = () => resume(Effect.void)
    for (const socket of this.open) socket.end(linkCloseCodes.restart, "the Hub is stopping")
  }).pipe(
    Effect.timeoutOption("1 second"),
    Effect.andThen(Effect.sync(() => this.open.forEach((socket) => socket.terminate())))
  )
}

/** Reason of a close with the code `fenced`. */
export const TAKEN_OVER_REASON = "a newer link has taken over"
