/**
 * Client of the Agent Host Protocol over a real WebSocket: requests, actions, and everything that the host sends, in order.
 *
 * Guarantees: each envelope of a connection has a larger `serverSeq` than the one before.
 */
import { assert } from "@effect/vitest"
import { WebSocket } from "ws"
import { within } from "../time/Until.ts"

type Fields = Readonly<Record<string, unknown>>

/** An envelope as a client receives it. */
export interface ReceivedAction {
  readonly channel: string
  readonly action: Fields & { readonly type: string }
  readonly serverSeq: number
  readonly origin?: { readonly clientId: string; readonly clientSeq: number }
  readonly rejectionReason?: string
}

/** A notification other than `action`. */
export interface ReceivedNotification {
  readonly method: string
  readonly params: Fields
}

export interface HostError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Answer to a request. An error with the code 0: the connection was closed before. */
interface HostAnswer {
  readonly result?: Fields | null
  readonly error?: HostError
}

/** State of a channel, and the number after which its actions follow. */
export interface HostSnapshot {
  readonly resource: string
  readonly state: Fields
  readonly fromSeq: number
}

export interface AgentHostOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly clientId?: string
}

/** The host refused the upgrade. */
export interface RefusedUpgrade {
  readonly status: number
  readonly body: string
}

export const ROOT = "ahp-root://"

export class AgentHostClient {
  readonly clientId: string
  readonly actions: Array<ReceivedAction> = []
  readonly notifications: Array<ReceivedNotification> = []
  /** The largest `serverSeq` that was received. */
  lastSeq = 0
  /** Number of actions that had been received before the last answer. */
  actionsBefore = 0
  private readonly socket: WebSocket
  private readonly answers = new Map<number, (answer: HostAnswer) => void>()
  private readonly closing: Promise<{ readonly code: number; readonly reason: string }>
  private lastId = 0
  private clientSeq = 0
  private looks: ReadonlyArray<() => void> = []

  /** Connects. The status and body of an upgrade that is refused. */
  static async connect(
    url: string,
    { clientId = crypto.randomUUID(), headers = {} }: AgentHostOptions = {}
  ): Promise<AgentHostClient | RefusedUpgrade> {
    const socket = new WebSocket(url.replace(/^http/, "ws"), { headers })
    const client = new AgentHostClient(socket, clientId)
    const opened = new Promise<AgentHostClient | RefusedUpgrade>((resolve, reject) => {
      socket.once("open", () => resolve(client))
      socket.once("unexpected-response", (_, response) => {
        let body = ""
        response.setEncoding("utf8").on("data", (text: string) => (body += text))
        response.once("end", () => resolve({ status: response.statusCode ?? 0, body }))
      })
      socket.once("error", reject)
    })
    return within(opened, 10_000, "the agent host")
  }

  /** Connects and initializes, with a subscription of the root. */
  static async open(url: string, options: AgentHostOptions = {}): Promise<AgentHostClient> {
    const client = await AgentHostClient.connect(url, options)
    if (!(client instanceof AgentHostClient))
      throw new Error(`the upgrade was refused: ${client.status} ${client.body}`)
    await client.initialize()
    return client
  }

  private constructor(socket: WebSocket, clientId: string) {
    this.socket = socket
    this.clientId = clientId
    socket.on("error", () => undefined)
    socket.on("message", (data: Buffer) => this.take(JSON.parse(data.toString("utf8"))))
    this.closing = new Promise((resolve) => {
      socket.once("close", (code, reason) => {
        for (const answer of this.answers.values())
          answer({ error: { code: 0, message: "the connection was closed" } })
        resolve({ code, reason: reason.toString("utf8") })
      })
    })
  }

  initialize(more: Fields = {}): Promise<Fields> {
    return this.call("initialize", {
      protocolVersions: ["0.9.0"],
      clientId: this.clientId,
      clientInfo: { name: "test", version: "1" },
      initialSubscriptions: [ROOT],
      ...more
    })
  }

  /** Sends a request, and asserts that it succeeds. */
  async call(method: string, params: Fields = {}, channel: string = ROOT): Promise<Fields> {
    const { error, result } = await this.request(method, params, channel)
    assert.isUndefined(error, `${method}: ${JSON.stringify(error)}`)
    return result ?? {}
  }

  /** Sends a request, and asserts that it fails. */
  async refusal(method: string, params: Fields = {}, channel: string = ROOT): Promise<HostError> {
    const { error, result } = await this.request(method, params, channel)
    assert.isDefined(error, `${method}: ${JSON.stringify(result)}`)
    return error as HostError
  }

  request(method: string, params: Fields, channel: string): Promise<HostAnswer> {
    const id = ++this.lastId
    const answer = new Promise<HostAnswer>((resolve) => this.answers.set(id, resolve))
    this.send({ jsonrpc: "2.0", id, method, params: { channel, ...params } })
    return within(answer, 30_000, method)
  }

  notify(method: string, params: Fields): void {
    this.send({ jsonrpc: "2.0", method, params })
  }

  /** Sends an action. Returns its `clientSeq`. */
  dispatch(channel: string, action: ReceivedAction["action"], clientSeq = ++this.clientSeq): number {
    this.notify("dispatchAction", { channel, clientSeq, action })
    return clientSeq
  }

  /** Sends an action and waits for its echo. */
  async perform(channel: string, action: ReceivedAction["action"]): Promise<ReceivedAction> {
    const clientSeq = this.dispatch(channel, action)
    return this.action(
      ({ origin }) => origin?.clientId === this.clientId && origin.clientSeq === clientSeq,
      `the echo of ${action.type}`
    )
  }

  /** State of a channel that is subscribed to now. */
  async subscribe(channel: string): Promise<Fields> {
    return (await this.snapshot(channel)).state
  }

  /** The same with the number after which its actions follow. */
  async snapshot(channel: string): Promise<HostSnapshot> {
    const { snapshot } = await this.call("subscribe", {}, channel)
    return snapshot as HostSnapshot // as the protocol has it
  }

  /** The first matching action, including past ones. */
  action(
    wanted: string | ((action: ReceivedAction) => boolean),
    what: string = String(wanted)
  ): Promise<ReceivedAction> {
    const fits = typeof wanted === "string" ? ({ action }: ReceivedAction) => action.type === wanted : wanted
    return this.find(() => this.actions.find(fits), what)
  }

  notification(method: string, fits: (params: Fields) => boolean = () => true): Promise<Fields> {
    return this.find(
      () => this.notifications.find((each) => each.method === method && fits(each.params))?.params,
      method
    )
  }

  /** Sends a message that may be none of the protocol. */
  send(message: unknown): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message))
  }

  get isClosed(): boolean {
    return this.socket.readyState !== WebSocket.OPEN
  }

  get closed(): Promise<{ readonly code: number; readonly reason: string }> {
    return within(this.closing, 15_000, "the end of the connection")
  }

  /** Stops reading from the socket. */
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

  private find<A>(look: () => A | undefined, what: string): Promise<A> {
    const existing = look()
    if (existing !== undefined) return Promise.resolve(existing)
    const arrival = new Promise<A>((resolve) => {
      const again = () => {
        const found = look()
        if (found === undefined) return
        this.looks = this.looks.filter((each) => each !== again)
        resolve(found)
      }
      this.looks = [...this.looks, again]
    })
    const last = () => this.actions.map(({ action }) => action.type).slice(-8)
    return within(arrival, 20_000, what).catch((cause: unknown) => {
      throw new Error(`${String(cause)}; last came ${last().join(", ")}`)
    })
  }

  private take(message: unknown): void {
    const { error, id, method, params, result } = Object(message) as {
      readonly id?: number
      readonly method?: string
      readonly params?: Fields
      readonly result?: Fields
      readonly error?: HostError
    }
    if (method === undefined && id !== undefined) {
      const settle = this.answers.get(id)
      this.answers.delete(id)
      this.actionsBefore = this.actions.length
      settle?.({ ...(result === undefined ? {} : { result }), ...(error === undefined ? {} : { error }) })
    } else if (method === "action") this.takeAction(params as unknown as ReceivedAction) // as the protocol has it
    else if (method !== undefined) this.notifications.push({ method, params: params ?? {} })
    this.looks.forEach((look) => look())
  }

  private takeAction(envelope: ReceivedAction): void {
    assert.isAbove(envelope.serverSeq, this.lastSeq, "serverSeq only grows")
    this.lastSeq = envelope.serverSeq
    this.actions.push(envelope)
  }
}
