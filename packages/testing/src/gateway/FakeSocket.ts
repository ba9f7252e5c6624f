/**
 * The long connection of a fake Feishu: an address for one use, pings that are answered with settings, events that one connection of all
 * gets, in as many pieces as one likes, and their acknowledgements.
 */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { type WebSocket, WebSocketServer } from "ws"
import { decodeFrame, encodeFrame } from "./FakeFrames.ts"

/** Seconds, as the platform gives them. */
export interface ClientConfig {
  readonly PingInterval: number
  readonly ReconnectCount: number
  readonly ReconnectInterval: number
  readonly ReconnectNonce: number
}

/** What a handler's acknowledgement says. */
export interface Acknowledged {
  readonly code: number
  readonly data: unknown
}

export class FakeSocket {
  config: ClientConfig = { PingInterval: 90, ReconnectCount: -1, ReconnectInterval: 0.05, ReconnectNonce: 0 }
  /** Pieces that an event comes in. */
  pieces = 1
  /** Whether pings are answered. */
  answersPings = true
  /** Connections that were ever made, and pings that came. */
  connectionCount = 0
  pings = 0
  private readonly server = new WebSocketServer({ noServer: true })
  private readonly open = new Set<WebSocket>()
  private readonly tickets = new Set<string>()
  private readonly waiting = new Map<string, (acknowledged: Acknowledged) => void>()
  private readonly changed: () => void
  private frames = 0

  constructor(changed: () => void) {
    this.changed = changed
  }

  get connected(): number {
    return this.open.size
  }

  /** Response with the address to connect to. */
  endpoint(origin: string): unknown {
    const ticket = `ticket${this.tickets.size + 1}`
    this.tickets.add(ticket)
    const address = `${origin.replace("http", "ws")}/ws?device_id=1&service_id=7&ticket=${ticket}`
    return { URL: address, ClientConfig: this.config }
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const ticket = new URL(request.url ?? "/", "http://fake").searchParams.get("ticket") ?? ""
    if (!this.tickets.has(ticket)) {
      socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n")
      return
    }
    this.tickets.delete(ticket)
    this.server.handleUpgrade(request, socket, head, (client) => {
      this.open.add(client)
      this.connectionCount += 1
      client.on("message", (data) => this.receive(client, data as Buffer))
      client.once("close", () => {
        this.open.delete(client)
        this.changed()
      })
      client.on("error", () => undefined)
      this.changed()
    })
  }

  /** Sends an event over any connection; rejects if there is none, or if no acknowledgement arrives in time. */
  send(event: unknown, patienceMs: number): Promise<Acknowledged> {
    const client = [...this.open][Math.floor(Math.random() * this.open.size)]
    if (client === undefined) return Promise.reject(new Error("no connection"))
    const id = `frame_${++this.frames}`
    const payload = Buffer.from(JSON.stringify(event))
    const size = Math.ceil(payload.length / this.pieces)
    const sum = Math.ceil(payload.length / size)
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.waiting.delete(id)
        reject(new Error("no acknowledgement"))
      }, patienceMs)
      this.waiting.set(id, (acknowledged) => {
        clearTimeout(late)
        resolve(acknowledged)
      })
      for (let seq = 0; seq < sum; seq++) {
        const headers = { type: "event", message_id: id, sum: String(sum), seq: String(seq), trace_id: id }
        const piece = payload.subarray(seq * size, (seq + 1) * size)
        client.send(encodeFrame({ service: 7, method: 1, headers, payload: piece }))
      }
    })
  }

  /** Breaks every connection, without a word. */
  drop(): void {
    for (const client of this.open) client.terminate()
  }

  close(): void {
    this.drop()
    this.server.close()
  }

  private receive(client: WebSocket, data: Buffer): void {
    const { headers, method, payload, service } = decodeFrame(data)
    if (method === 0 && headers["type"] === "ping") {
      this.pings += 1
      this.changed()
      if (!this.answersPings) return
      const settings = Buffer.from(JSON.stringify(this.config))
      client.send(encodeFrame({ service, method: 0, headers: { type: "pong" }, payload: settings }))
      return
    }
    const id = headers["message_id"] ?? ""
    const { code, data: answer } = JSON.parse(payload.toString()) as { code: number; data?: string }
    const decoded: unknown =
      answer === undefined ? undefined : JSON.parse(Buffer.from(answer, "base64").toString())
    this.waiting.get(id)?.({ code, data: decoded })
    this.waiting.delete(id)
  }
}
