/**
 * Client that follows one run at the Hub: it reconnects after every break, from the last event that it has, and counts what it received.
 */
import { WebSocket } from "ws"
import { within } from "@corral/testing/time/Until"

const AGAIN_AFTER_MS = 50
/** Where nothing comes for so long it looks whether its connection is still one. */
const SILENT_AFTER_MS = 3_000

export class RunFollower {
  /** The last seq in order. */
  last = 0
  /** What came twice, early or late. */
  readonly misplaced: Array<number> = []
  readonly types: Array<string> = []
  connections = 0
  private readonly address: string
  private readonly token: string
  private readonly over = Promise.withResolvers<void>()
  private socket: WebSocket | undefined
  private stopped = false

  constructor(url: string, token: string, runId: string) {
    this.address = `${url.replace("http", "ws")}/client/events?runId=${runId}`
    this.token = token
    this.connect()
  }

  /** The run's last event has come, and the Hub has said that it is the last. */
  ended(millis: number): Promise<void> {
    return within(this.over.promise, millis, `the run's end (${this.last} events came)`)
  }

  stop(): void {
    this.stopped = true
    this.socket?.terminate()
  }

  private connect(): void {
    if (this.stopped) return
    const socket = new WebSocket(`${this.address}&after=${this.last}`, {
      headers: { authorization: `Bearer ${this.token}` },
      handshakeTimeout: 2_000
    })
    this.socket = socket
    const silence = setTimeout(() => socket.terminate(), SILENT_AFTER_MS)
    socket.on("open", () => this.connections++)
    socket.on("message", (data: Buffer) => {
      silence.refresh()
      this.take(data.toString("utf8"))
    })
    socket.on("error", () => undefined)
    socket.once("close", (code) => {
      clearTimeout(silence)
      if (code === 1000) this.over.resolve()
      else setTimeout(() => this.connect(), AGAIN_AFTER_MS)
    })
  }

  private take(frame: string): void {
    const { seq, type } = JSON.parse(frame) as { readonly seq: number; readonly type: string }
    if (seq === this.last + 1) {
      this.last = seq
      this.types.push(type)
    } else this.misplaced.push(seq)
  }
}
