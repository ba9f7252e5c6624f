/** A subscriber of `/client/events` over a real socket: collects every frame and lets a test wait for one. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import { WebSocket } from "ws"
import { within } from "../time/Until.ts"
import type { HubClient } from "./HubClient.ts"

export interface Closed {
  readonly code: number
  readonly reason: string
}

/** Response of a refused upgrade. */
export interface RefusedUpgrade {
  readonly status: number
  readonly requestId: string | undefined
  readonly body: { readonly code: string; readonly requestId: string }
}

const socketOf = ({ token, url }: HubClient, query: string, path = "/client/events"): WebSocket =>
  new WebSocket(`${url.replace("http", "ws")}${path}?${query}`, {
    headers: token === null ? {} : { authorization: `Bearer ${token}` }
  })

/** Subscribes and returns the refusal. */
export const refusedUpgrade = (client: HubClient, query: string, path?: string): Promise<RefusedUpgrade> => {
  const socket = socketOf(client, query, path)
  socket.on("error", () => undefined)
  const answer = new Promise<RefusedUpgrade>((resolve, reject) => {
    socket.once("open", () => reject(new Error("it was not refused")))
    socket.once("unexpected-response", (_, response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      response.once("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          requestId: response.headers["x-request-id"] as string | undefined,
          // The contract's error object; what is wrong with it shows in the comparison.
          body: JSON.parse(text) as RefusedUpgrade["body"]
        })
      )
    })
  })
  return within(answer, 10_000, "the refusal")
}

export class StreamReader {
  /** Received frames. */
  readonly frames: Array<string> = []
  private readonly socket: WebSocket
  private readonly closing: Promise<Closed>
  private waiting: ReadonlyArray<{ readonly count: number; readonly resolve: () => void }> = []

  static async open(client: HubClient, query: string): Promise<StreamReader> {
    const socket = socketOf(client, query)
    // Before it is open, because the first frames arrive with the handshake's response.
    const reader = new StreamReader(socket)
    const open = new Promise<void>((resolve, reject) => {
      socket.once("open", resolve)
      socket.once("error", reject)
    })
    await within(open, 10_000, "the event stream")
    return reader
  }

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on("error", () => undefined)
    socket.on("message", (data: Buffer) => {
      this.frames.push(data.toString("utf8"))
      const ready = this.waiting.filter(({ count }) => this.frames.length >= count)
      this.waiting = this.waiting.filter(({ count }) => this.frames.length < count)
      for (const { resolve } of ready) resolve()
    })
    this.closing = new Promise((resolve) => {
      socket.once("close", (code, reason) => resolve({ code, reason: reason.toString("utf8") }))
    })
  }

  /** The Hub sends envelopes and nothing else. */
  get events(): ReadonlyArray<Envelope> {
    return this.frames.map((frame) => JSON.parse(frame) as Envelope)
  }

  /** Waits for that number of frames. */
  count(count: number, millis = 15_000): Promise<void> {
    if (this.frames.length >= count) return Promise.resolve()
    const arrival = new Promise<void>((resolve) => (this.waiting = [...this.waiting, { count, resolve }]))
    return within(arrival, millis, `frame ${count} (${this.frames.length} came)`)
  }

  /** How the server closes the stream. */
  closed(millis = 15_000): Promise<Closed> {
    return within(this.closing, millis, "the stream's end")
  }

  /** Stops reading from the socket, and so also answering pings. */
  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  drop(): void {
    this.socket.terminate()
  }
}
