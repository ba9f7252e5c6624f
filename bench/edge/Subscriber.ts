/**
 * A reader of `/v1/events` that costs little: it takes WebSocket frames off the socket itself and checks every seq, so that a hundred of
 * them on one core do not become what is measured.
 */
import { randomBytes } from "node:crypto"
import { connect, type Socket } from "node:net"
import type { BenchTarget } from "../Target.ts"

/** Where it subscribes. */
export type StreamSource = Pick<BenchTarget, "side" | "url" | "token">

export interface SubscriberOptions {
  /** `/v1/events` where nothing is said. */
  readonly path?: string
  /** Without it: all runs, whose seqs are not checked. */
  readonly runId?: string
  /** Keep how long each streamed delta was under way. */
  readonly latencies?: boolean
  /** Called with the run and the type of each envelope. */
  readonly onEvent?: (runId: string, type: string) => void
}

const CLOSE = 0x88
const PING = 0x89
const DELTA = "run.message.delta"
const empty: Buffer = Buffer.alloc(0)

/** The answer to a ping. A mask of zeros leaves the payload as it is. */
const pongOf = (payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x8a, 0x80 | payload.length, 0, 0, 0, 0]), payload])

export class Subscriber {
  /** Events that never came, and events that came again or late. */
  missing = 0
  repeated = 0
  deltas = 0
  /** `performance.now()` when the newest delta came. */
  lastDeltaAt = 0
  /** Milliseconds from the program's write to here, one a streamed delta. */
  readonly latencies: Array<number> = []
  /** Resolves with the close code, fails when the connection breaks. */
  readonly closed: Promise<number>
  private readonly socket: Socket
  private readonly options: SubscriberOptions
  private rest = empty
  private open = false
  private lastSeq = 0
  private opened: () => void = () => undefined
  private close: (code: number) => void = () => undefined
  private awaited: { readonly deltas: number; readonly resolve: () => void } | undefined

  private constructor(target: StreamSource, options: SubscriberOptions) {
    this.options = options
    const { port, hostname, host } = new URL(target.url)
    this.socket = connect(Number(port), hostname)
    this.closed = new Promise((resolve, reject) => {
      this.close = resolve
      this.socket.on("error", reject)
      this.socket.on("close", () => reject(new Error(`the ${target.side} broke a stream off`)))
    })
    // Awaited at the end. A reader that is dropped earlier is not an error.
    this.closed.catch(() => undefined)
    this.socket.on("data", (chunk) => this.take(chunk))
    const query = options.runId === undefined ? "" : `?runId=${options.runId}&after=0`
    this.socket.write(
      `GET ${options.path ?? "/v1/events"}${query} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${target.token}\r\nConnection: Upgrade\r\n` +
        `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n\r\n`
    )
  }

  /** Resolves when the server has accepted the subscription. */
  static async open(target: StreamSource, options: SubscriberOptions): Promise<Subscriber> {
    const subscriber = new Subscriber(target, options)
    const opened = new Promise<void>((resolve) => {
      subscriber.opened = resolve
    })
    await Promise.race([opened, subscriber.closed])
    return subscriber
  }

  get faults(): number {
    return this.missing + this.repeated
  }

  /** Resolves when that many deltas have come; fails when the stream ends before. */
  async until(deltas: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.awaited = { deltas, resolve }
    })
    this.notifyChange()
    await Promise.race([reached, this.closed])
    if (this.deltas < deltas) throw new Error(`the stream ended after ${this.deltas} of ${deltas} deltas`)
  }

  drop(): void {
    this.socket.destroy()
  }

  private take(chunk: Buffer): void {
    const arrived = this.options.latencies === true ? process.hrtime.bigint() : 0n
    const data = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    let at = 0
    if (!this.open) {
      const end = data.indexOf("\r\n\r\n")
      if (end === -1) return this.keep(data, 0)
      const status = data.toString("latin1", 0, 12)
      if (status !== "HTTP/1.1 101") this.socket.destroy(new Error(`the stream was refused: ${status}`))
      this.open = true
      this.opened()
      at = end + 4
    }
    const before = this.deltas
    while (at + 2 <= data.length) {
      const short = data.readUInt8(at + 1)
      const header = short < 126 ? 2 : short === 126 ? 4 : 10
      if (at + header > data.length) break
      const length =
        short < 126 ? short : short === 126 ? data.readUInt16BE(at + 2) : data.readUInt32BE(at + 6)
      if (at + header + length > data.length) break
      const kind = data.readUInt8(at)
      if (kind === 0x81) this.event(data, at + header, at + header + length, arrived)
      else if (kind === CLOSE) {
        this.close(length < 2 ? 1005 : data.readUInt16BE(at + header))
        this.socket.end()
      } else if (kind === PING) this.socket.write(pongOf(data.subarray(at + header, at + header + length)))
      at += header + length
    }
    this.keep(data, at)
    if (this.deltas > before) {
      this.lastDeltaAt = performance.now()
      this.notifyChange()
    }
  }

  private keep(data: Buffer, from: number): void {
    this.rest = from === data.length ? empty : data.subarray(from)
  }

  private notifyChange(): void {
    if (this.awaited !== undefined && this.deltas >= this.awaited.deltas) this.awaited.resolve()
  }

  /** Reads `{"id":"…","seq":N,"type":"…","runId":"…"`: the envelope's head, in the order both servers write it. */
  private event(data: Buffer, from: number, to: number, arrived: bigint): void {
    const idEnd = data.indexOf(34, from + 7)
    const seqEnd = data.indexOf(44, idEnd + 8)
    const typeEnd = data.indexOf(34, seqEnd + 9)
    const type = data.toString("latin1", seqEnd + 9, typeEnd)
    if (this.options.runId !== undefined) this.count(Number(data.toString("latin1", idEnd + 8, seqEnd)))
    if (type === DELTA) {
      this.deltas++
      if (arrived !== 0n) this.time(data.toString("latin1", typeEnd, to), arrived)
    }
    this.options.onEvent?.(data.toString("latin1", typeEnd + 11, data.indexOf(34, typeEnd + 11)), type)
  }

  private count(seq: number): void {
    if (seq <= this.lastSeq) this.repeated++
    else {
      this.missing += seq - this.lastSeq - 1
      this.lastSeq = seq
    }
  }

  private time(envelope: string, arrived: bigint): void {
    const sent = /"text":"(\d{6,}) /.exec(envelope)?.[1]
    if (sent !== undefined) this.latencies.push(Number(arrived - BigInt(sent)) / 1e6)
  }
}
