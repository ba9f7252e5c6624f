/**
 * A subscriber of `/v1/events` over a real socket: collects every envelope and lets a test wait for one.
 */
import type { Envelope } from "@corral/domain/run/RunEvent"
import { WebSocket } from "ws"
import { within } from "../time/Within.ts"

export interface EventQuery {
  readonly runId?: string
  readonly after?: number
  /** Stores neither frames nor payloads, for many readers of long logs. */
  readonly light?: boolean
}

export interface ClosedSocket {
  readonly code: number
  readonly reason: string
}

interface Waiter {
  readonly wanted: (event: Envelope) => boolean
  readonly resolve: (event: Envelope) => void
}

export class EventReader {
  readonly events: Array<Envelope> = []
  /** Received frames. */
  readonly frames: Array<string> = []
  private readonly socket: WebSocket
  private readonly closing: Promise<ClosedSocket>
  private waiters: ReadonlyArray<Waiter> = []

  static async open(
    url: string,
    token: string,
    { after, light = false, runId }: EventQuery
  ): Promise<EventReader> {
    const query = new URLSearchParams({
      ...(runId === undefined ? {} : { runId }),
      ...(after === undefined ? {} : { after: String(after) })
    })
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1/events?${query}`, {
      headers: { authorization: `Bearer ${token}` }
    })
    // Before it is open, because the first frames arrive with the handshake's response.
    const reader = new EventReader(socket, light)
    const open = new Promise<void>((resolve, reject) => {
      socket.once("open", resolve)
      socket.once("error", reject)
    })
    await within(open, 10_000, "the event stream")
    return reader
  }

  constructor(socket: WebSocket, light: boolean) {
    this.socket = socket
    socket.on("error", () => undefined)
    socket.on("message", (data: Buffer) => {
      const text = data.toString("utf8")
      // The Edge sends envelopes and nothing else; tests look closer.
      const event = JSON.parse(text) as Envelope
      if (!light) this.frames.push(text)
      this.take(light ? { ...event, payload: {} } : event)
    })
    this.closing = new Promise((resolve) => {
      socket.once("close", (code, reason) => resolve({ code, reason: reason.toString("utf8") }))
    })
  }

  /** The first matching event, including past ones. */
  event(wanted: string | ((event: Envelope) => boolean), millis = 15_000): Promise<Envelope> {
    const fits = typeof wanted === "string" ? (event: Envelope) => event.type === wanted : wanted
    const existing = this.events.find(fits)
    if (existing !== undefined) return Promise.resolve(existing)
    const arrival = new Promise<Envelope>((resolve) => {
      this.waiters = [...this.waiters, { wanted: fits, resolve }]
    })
    const seen = () => this.events.map((event) => event.type).slice(-8)
    return within(arrival, millis, `event ${String(wanted)}`).catch((cause: unknown) => {
      throw new Error(`${String(cause)}; last came ${seen().join(", ")}`)
    })
  }

  /** Waits for a message of the assistant with exactly this text. */
  message(text: string, millis?: number): Promise<Envelope> {
    return this.event(
      (event) => event.type === "run.message.completed" && event.payload["text"] === text,
      millis
    )
  }

  count(least: number, millis?: number): Promise<Envelope> {
    return this.event(() => this.events.length >= least, millis)
  }

  /** How the server closes the stream. */
  get ended(): Promise<ClosedSocket> {
    return within(this.closing, 30_000, "the stream's end")
  }

  /** Stops reading from the socket until `resume`. */
  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  /** Drops the connection without a close frame. */
  drop(): void {
    this.socket.terminate()
  }

  private take(event: Envelope): void {
    this.events.push(event)
    const waiting = this.waiters
    if (waiting.length === 0) return
    this.waiters = waiting.filter(({ wanted, resolve }) => {
      if (!wanted(event)) return true
      resolve(event)
      return false
    })
  }
}
