/**
 * A simulated device and its link, for loads of many links: it proves itself to a Hub and offers nothing. The link costs little, because the frames
 * are written by hand. Sends heartbeats and pushes, and takes commands.
 *
 * Does not: connect again, repeat a push, or answer commands.
 */
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { challengeText, LINK_PATH, LINK_VERSION } from "@corral/domain/link/EdgeLink"
import { newPrivateKey, publicKeyOf } from "@corral/edge/link/DeviceKey"
import { mint } from "@corral/service/Identifiers"
import { createPrivateKey, sign } from "node:crypto"
import { WebSocket } from "ws"

/** A device that proves itself to a Hub, and offers nothing. */
export interface SimulatedDevice {
  readonly deviceId: DeviceId
  /** PKCS8 as base64url. */
  readonly privateKey: string
}

/** A device with a new key. `publicKey` is for the Hub. */
export const newSimulatedDevice = (): SimulatedDevice & { readonly publicKey: string } => {
  const privateKey = newPrivateKey()
  return { deviceId: mint<DeviceId>("dev", Date.now()), privateKey, publicKey: publicKeyOf(privateKey) }
}

interface Challenge {
  readonly challenge: string
  readonly hub: string
}

/** What a link proves its device with. */
export const simulatedProof = ({ deviceId, privateKey }: SimulatedDevice, { challenge, hub }: Challenge) => {
  const key = createPrivateKey({ key: Buffer.from(privateKey, "base64url"), format: "der", type: "pkcs8" })
  const text = challengeText({ challenge, hub, deviceId })
  return {
    deviceId,
    challenge,
    signature: sign(null, Buffer.from(text), key).toString("base64url"),
    offer: { version: "0.1.0", workspaces: [], agents: [] }
  }
}

interface ExitFrame {
  readonly _tag: string
  readonly requestId: string
  readonly exit: { readonly _tag: string; readonly value: unknown }
}

interface PendingCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export class SimulatedLink {
  readonly #socket: WebSocket
  readonly #calls = new Map<string, PendingCall>()
  readonly #device: SimulatedDevice
  #last = 0
  #generation = 0
  #heartbeat: NodeJS.Timeout | undefined

  /** A link that the Hub has accepted. Rejects if the Hub does not answer or refuses. */
  static async open(url: string, device: SimulatedDevice): Promise<SimulatedLink> {
    const socket = new WebSocket(url.replace("http", "ws") + LINK_PATH, { perMessageDeflate: false })
    await new Promise((resolve, reject) => {
      socket.once("open", resolve)
      socket.once("error", reject)
    })
    const link = new SimulatedLink(socket, device)
    try {
      await link.#prove()
      return link
    } catch (error) {
      link.close()
      throw error
    }
  }

  private constructor(socket: WebSocket, device: SimulatedDevice) {
    this.#socket = socket
    this.#device = device
    socket.on("message", (data: Buffer) => this.#receive(data.toString()))
    socket.on("error", () => undefined)
    socket.on("close", () => {
      clearInterval(this.#heartbeat)
      for (const { reject } of this.#calls.values()) reject(new Error("the link is closed"))
      this.#calls.clear()
    })
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  close(): void {
    this.#socket.terminate()
  }

  /** Pushes consecutive events of a run. Returns the acknowledged position; rejects if the Hub refuses, or the link ends before it answers. */
  async push(runId: RunId, firstSeq: number, events: ReadonlyArray<string>): Promise<number> {
    const batches = [{ runId, firstSeq, events }]
    const [acknowledged] = await this.#call<ReadonlyArray<{ readonly seq: number }>>("PushEvents", {
      generation: this.#generation,
      batches
    })
    if (acknowledged === undefined) throw new Error("no acknowledgement")
    return acknowledged.seq
  }

  async #prove(): Promise<void> {
    const { deviceId } = this.#device
    const hello = await this.#call<{ readonly challenge: string; readonly hub: string }>("Hello", {
      linkVersion: LINK_VERSION,
      deviceId,
      instanceId: deviceId
    })
    const { generation, heartbeatSeconds } = await this.#call<{
      readonly generation: number
      readonly heartbeatSeconds: number
    }>("Prove", simulatedProof(this.#device, hello))
    this.#generation = generation
    this.#send({ _tag: "Request", id: this.#nextId(), tag: "Commands", payload: { generation }, headers: [] })
    const beat = () => this.#call("Heartbeat", { generation }).catch(() => undefined)
    this.#heartbeat = setInterval(() => void beat(), heartbeatSeconds * 1_000)
  }

  /** The Hub answers by its contract. */
  #call<A>(tag: string, payload: object): Promise<A> {
    const id = this.#nextId()
    const answer = new Promise<unknown>((resolve, reject) => {
      if (!this.isOpen) return reject(new Error("the link is closed"))
      this.#calls.set(id, { resolve, reject })
      this.#send({ _tag: "Request", id, tag, payload, headers: [] })
    })
    return answer as Promise<A>
  }

  #nextId(): string {
    return String(++this.#last)
  }

  #send(message: object): void {
    this.#socket.send(JSON.stringify(message))
  }

  #receive(text: string): void {
    const { _tag, exit, requestId } = JSON.parse(text) as ExitFrame
    if (_tag === "Chunk") return this.#send({ _tag: "Ack", requestId })
    if (_tag !== "Exit") return
    const call = this.#calls.get(requestId)
    this.#calls.delete(requestId)
    if (exit._tag === "Success") call?.resolve(exit.value)
    else call?.reject(new Error(`a call failed: ${text}`))
  }
}
