/**
 * Delivery of events by the fake Feishu: over a long connection if there is one, otherwise encrypted and signed to the webhook. An event that
 * is not accepted is sent again with the same id after 15 s, 5 min, 1 h and 6 h times `factor`. A click is sent once.
 */
import { goTime, encryptedPush, seconds } from "./FakeFeishu.ts"
import type { FakeSocket } from "./FakeSocket.ts"

export interface Delivery {
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
