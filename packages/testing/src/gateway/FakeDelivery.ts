/**
 * Delivery of events by the fake Feishu: over a long connection if there is one, otherwise encrypted and signed to the webhook. An event that is
 * not accepted is sent again with the same id after 15 s, 5 min, 1 h and 6 h times `factor`. A click is sent once.
 *
 * A long connection has an address for one use, pings that are answered with settings, events that one connection of all gets, in as many pieces as
 * one likes, and their acknowledgements.
 */
import { encryptedPush, goTime, seconds } from "./FakeFeishu.ts"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { type WebSocket, WebSocketServer } from "ws"

// The frames of Feishu's long connection, by hand: protobuf, as far as the connection uses it.

interface Frame {
  readonly service: number
  /** 0 control, 1 data. */
  readonly method: number
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Buffer
}

const varint = (value: number): Buffer => {
  const bytes: Array<number> = []
  let rest = value
  while (rest > 127) {
    bytes.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...bytes, rest])
}

const number = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)])
const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([varint(field * 8 + 2), varint(value.length), value])

const encodeFrame = ({ headers, method, payload, service }: Frame): Buffer =>
  Buffer.concat([
    number(1, 0),
    number(2, 0),
    number(3, service),
    number(4, method),
    ...Object.entries(headers).map(([key, value]) =>
      bytes(5, Buffer.concat([bytes(1, Buffer.from(key)), bytes(2, Buffer.from(value))]))
    ),
    bytes(8, payload)
  ])

/** The fields of a message: numbers, and bytes as they are. */
const fieldsOf = (buffer: Buffer): ReadonlyArray<readonly [field: number, value: number | Buffer]> => {
  const fields: Array<readonly [number, number | Buffer]> = []
  let at = 0
  const next = (): number => {
    let value = 0
    let factor = 1
    for (;;) {
      const byte = buffer.readUInt8(at++)
      value += (byte % 128) * factor
      if (byte < 128) return value
      factor *= 128
    }
  }
  while (at < buffer.length) {
    const key = next()
    if (key % 8 === 0) fields.push([key >> 3, next()])
    else if (key % 8 === 2) {
      const length = next()
      fields.push([key >> 3, buffer.subarray(at, at + length)])
      at += length
    } else throw new Error(`a frame with a field of wire type ${key % 8}`)
  }
  return fields
}

const textOf = (value: number | Buffer | undefined): string =>
  Buffer.isBuffer(value) ? value.toString() : ""

const decodeFrame = (buffer: Buffer): Frame => {
  const fields = fieldsOf(buffer)
  const one = (field: number) => fields.find(([each]) => each === field)?.[1]
  const headers = fields.flatMap(([field, value]) => {
    if (field !== 5 || !Buffer.isBuffer(value)) return []
    const pair = new Map(fieldsOf(value))
    return [[textOf(pair.get(1)), textOf(pair.get(2))] as const]
  })
  const payload = one(8)
  return {
    service: Number(one(3)),
    method: Number(one(4)),
    headers: Object.fromEntries(headers),
    payload: Buffer.isBuffer(payload) ? payload : Buffer.alloc(0)
  }
}

/** Seconds, as the platform gives them. */
interface ClientConfig {
  readonly PingInterval: number
  readonly ReconnectCount: number
  readonly ReconnectInterval: number
  readonly ReconnectNonce: number
}

/** What a handler's acknowledgement says. */
interface Acknowledged {
  readonly code: number
  readonly data: unknown
}

/** The long connection of a fake Feishu. */
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

interface Delivery {
  readonly eventId: string
  readonly over: "webhook" | "connection"
  /** 200 and 500 over a connection; undefined where nothing was answered in time. */
  readonly status: number | undefined
  readonly body: unknown
  readonly millis: number
}

interface Event {
  readonly header: { readonly event_id: string }
}

const LADDER_MS = [15_000, 300_000, 3_600_000, 21_600_000]

export class FakeDelivery {
  readonly all: Array<Delivery> = []
  /** Where the Gateway listens. */
  gateway: string | undefined
  /** As long as the platform waits for an answer. */
  patienceMs = 3_000
  private readonly factor: number
  private readonly socket: FakeSocket
  private readonly now: () => number
  private readonly changed: () => void
  private readonly timers = new Set<NodeJS.Timeout>()

  constructor(factor: number, socket: FakeSocket, now: () => number, changed: () => void) {
    this.factor = factor
    this.socket = socket
    this.now = now
    this.changed = changed
  }

  /** Until it is taken; false where it was not, in the end. */
  async event(event: Event, kind: "events" | "card-actions" = "events"): Promise<boolean> {
    for (const wait of [0, ...LADDER_MS]) {
      if (wait > 0) await this.pause(wait * this.factor)
      if ((await this.once(event, kind)).status === 200) return true
    }
    return false
  }

  /** One try. */
  async once(event: Event, kind: "events" | "card-actions"): Promise<Delivery> {
    const started = performance.now()
    const over = this.socket.connected > 0 ? "connection" : "webhook"
    const { body, status } = await (over === "connection"
      ? this.overConnection(event)
      : this.overWebhook(event, kind))
    const millis = performance.now() - started
    const delivery = { eventId: event.header.event_id, over, status, body, millis } as const
    this.all.push(delivery)
    this.changed()
    return delivery
  }

  close(): void {
    for (const timer of this.timers) clearTimeout(timer)
  }

  private async overConnection(event: Event) {
    try {
      const { code, data } = await this.socket.send(event, this.patienceMs)
      return { status: code, body: data }
    } catch {
      return { status: undefined, body: undefined }
    }
  }

  private async overWebhook(event: Event, kind: "events" | "card-actions") {
    const now = this.now()
    const { body, headers } = encryptedPush(event, now, kind === "events" ? seconds(now) : goTime(now))
    try {
      if (this.gateway === undefined) throw new Error("no Gateway")
      const response = await fetch(`${this.gateway}/integrations/feishu/${kind}`, {
        method: "POST",
        headers,
        body: new Uint8Array(body),
        signal: AbortSignal.timeout(this.patienceMs)
      })
      return { status: response.status, body: (await response.json()) as unknown }
    } catch {
      return { status: undefined, body: undefined }
    }
  }

  private pause(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.timers.delete(timer)
        resolve()
      }, millis)
      this.timers.add(timer)
    })
  }
}
