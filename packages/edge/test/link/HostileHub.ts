/**
 * A Hub that an Edge has joined and that turned hostile: it speaks the protocol well enough to be linked, then sends generated frames and
 * answers calls with generated values. Each link that ends is followed by the Edge's next.
 */
import { assert } from "@effect/vitest"
import type { CommandOutcome } from "@corral/domain/link/EdgeCommand"
import { LINK_PATH } from "@corral/domain/link/EdgeLink"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { type WebSocket, WebSocketServer } from "ws"
import { newPrivateKey, writeDevice } from "../../src/link/DeviceKey.ts"
import { within } from "@corral/testing/time/Until"
import type { Seeded } from "../harness/Seeded.ts"
import type { HostileHubFrames } from "./HostileHubFrames.ts"

interface Call {
  readonly _tag: string
  readonly id: string | number
  readonly tag: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** Frames of one link at most, and those that are sent without waiting. */
const BURST = 400
const CHUNK = 20

export class HostileHub {
  url = ""
  /** Frames that the Edge read. */
  frames = 0
  links = 0
  /** Every outcome of each command, as text. */
  readonly outcomes = new Map<string, Array<CommandOutcome>>()
  /** Generates nothing until there is one. */
  attacker: HostileHubFrames | undefined
  private readonly seeded: Seeded
  private readonly server = createServer()
  private readonly sockets = new WebSocketServer({ noServer: true })
  private readonly open = new Set<WebSocket>()
  private stream: { readonly socket: WebSocket; readonly id: string | number } | undefined
  private deafAsk: (() => void) | undefined
  private changed = Promise.withResolvers<void>()
  private generation = 0
  private probes = 0

  constructor(seeded: Seeded) {
    this.seeded = seeded
  }

  async start(home: string): Promise<void> {
    this.server.on("upgrade", (request, socket, head) => {
      assert.strictEqual(request.url, LINK_PATH)
      this.sockets.handleUpgrade(request, socket, head, (accepted) => this.accept(accepted))
    })
    this.server.listen(0, "127.0.0.1")
    await once(this.server, "listening")
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
    const deviceId = mint<DeviceId>("dev", Date.now())
    const device = { hub: this.url, deviceId, name: "laptop", privateKey: newPrivateKey() }
    await Effect.runPromise(writeDevice(join(home, "device.json"), device))
  }

  async end(): Promise<void> {
    for (const socket of this.open) socket.terminate()
    this.server.close()
    await once(this.server, "close")
  }

  /** Asks over as many links as it takes. */
  async ask(name: string, payload: unknown, commandId = `probe-${this.probes++}`): Promise<CommandOutcome> {
    const look = async (): Promise<CommandOutcome> => {
      for (let socket: WebSocket | undefined; ;) {
        const outcome = this.outcomes.get(commandId)?.at(-1)
        if (outcome !== undefined) return outcome
        const { stream } = this
        if (stream !== undefined && stream.socket !== socket) {
          socket = stream.socket
          socket.send(
            JSON.stringify({ _tag: "Chunk", requestId: stream.id, values: [{ name, commandId, payload }] })
          )
        }
        await this.changed.promise
      }
    }
    return within(look(), 40_000, `the outcome of ${name}`)
  }

  /** Attacks links one after the other until the Edge has read that many frames. `between` is called after each. */
  async attack(attacker: HostileHubFrames, frames: number, between: () => Promise<void>): Promise<void> {
    this.attacker = attacker
    while (this.frames < frames) {
      // Its answer is of use to the Edge, which dials again soon.
      const readFile = { workspace: "ws", path: "a.txt" }
      assert.strictEqual((await this.ask("ReadFile", readFile))._tag, "Done")
      if (this.stream !== undefined) await this.burst(this.stream, attacker)
      await between()
    }
    this.attacker = undefined
    for (const socket of this.open) socket.terminate()
  }

  /** Stops reading, and asks for that many files: on this link, and on those that follow until `listen`. */
  askDeaf(commands: number, path: string): void {
    this.deafAsk = () => this.askWithoutReading(commands, path)
    this.deafAsk()
  }

  /** Reads again, from the next link on. */
  listen(): void {
    this.deafAsk = undefined
  }

  private askWithoutReading(commands: number, path: string): void {
    if (this.stream === undefined) throw new Error("no link")
    const { id, socket } = this.stream
    socket.pause()
    const payload = { workspace: "ws", path }
    for (let n = 0; n < commands; n++) {
      const values = [{ name: "ReadFile", commandId: `deaf-${n}`, payload }]
      socket.send(JSON.stringify({ _tag: "Chunk", requestId: id, values }), () => undefined)
    }
  }

  private async burst(
    { id, socket }: { readonly socket: WebSocket; readonly id: string | number },
    attacker: HostileHubFrames
  ): Promise<void> {
    const closed = new Promise<number>((resolve) => socket.once("close", () => resolve(0)))
    for (let sent = 0; sent < BURST && socket.readyState === socket.OPEN; sent += CHUNK) {
      for (let i = 0; i < CHUNK; i++) socket.send(attacker.frame(id), () => undefined)
      const read = new Promise<number>((resolve) => socket.once("pong", () => resolve(CHUNK)))
      socket.ping(undefined, undefined, () => undefined)
      this.frames += await within(
        Promise.race([read, closed]),
        30_000,
        `an answer (seed ${this.seeded.seed})`
      )
    }
    if (this.seeded.whole(0, 1) === 0)
      socket.close(this.seeded.pick([1000, 1008, 1012, 4000]), "x".repeat(100))
    const timer = setTimeout(() => socket.terminate(), 500)
    await within(closed, 10_000, "the end of a link")
    clearTimeout(timer)
  }

  private accept(socket: WebSocket): void {
    this.links++
    this.open.add(socket)
    /** The call of this link that is answered with a generated value. */
    const odd =
      this.seeded.whole(0, 9) === 0
        ? this.seeded.pick(["Hello", "Prove", "Acks", "CommandDone", "PushEvents", "PushChanges"])
        : ""
    socket.on("error", () => undefined)
    socket.on("message", (data: Buffer) => {
      const parsed: unknown = JSON.parse(data.toString())
      for (const call of (Array.isArray(parsed) ? parsed : [parsed]) as ReadonlyArray<Call>)
        this.answer(socket, call, odd)
    })
    socket.once("close", () => {
      this.open.delete(socket)
      if (this.stream?.socket === socket) this.stream = undefined
      this.notifyChange()
    })
  }

  private answer(socket: WebSocket, call: Call, odd: string): void {
    const send = (frame: unknown) => socket.send(JSON.stringify(frame), () => undefined)
    if (call._tag === "Ping") return send({ _tag: "Pong" })
    if (call._tag !== "Request") return
    if (call.tag === "Commands") {
      this.stream = { socket, id: call.id }
      this.deafAsk?.()
      return this.notifyChange()
    }
    const value = this.valueOf(call)
    const exit = {
      _tag: "Success",
      value: this.attacker !== undefined && call.tag === odd ? this.odd(value) : value
    }
    send({ _tag: "Exit", requestId: call.id, exit })
    this.notifyChange()
  }

  private valueOf({ payload, tag }: Call): unknown {
    switch (tag) {
      case "Hello":
        return { challenge: "challenge", hub: this.url }
      case "Prove":
        return {
          generation: ++this.generation,
          heartbeatSeconds: 15,
          accessSeconds: 900,
          calls: ["PushChanges"]
        }
      case "PushChanges":
        return (payload["sets"] as ReadonlyArray<{ readonly id: string }>).map(({ id }) => ({ id }))
      case "Acks":
        return (payload["runIds"] as ReadonlyArray<string>).map((runId) => ({ runId, seq: 0 }))
      case "PushEvents":
        return (
          payload["batches"] as ReadonlyArray<{
            runId: string
            firstSeq: number
            events: ReadonlyArray<string>
          }>
        ).map(({ events, firstSeq, runId }) => ({ runId, seq: firstSeq + events.length - 1 }))
      case "CommandDone": {
        const id = String(payload["commandId"])
        this.outcomes.set(id, [...(this.outcomes.get(id) ?? []), payload["outcome"] as CommandOutcome])
        return null
      }
      default:
        return null
    }
  }

  /** One field of it replaced, or all of it. */
  private odd(value: unknown): unknown {
    const { attacker } = this
    const [first, ...rest] = Array.isArray(value) ? value : [value]
    if (
      attacker === undefined ||
      typeof first !== "object" ||
      first === null ||
      this.seeded.whole(0, 3) === 0
    )
      return attacker?.junk()
    const fields = Object.keys(first)
    const field = fields[this.seeded.whole(0, fields.length - 1)] ?? ""
    const changed = { ...first, [field]: attacker.junk() }
    return Array.isArray(value) ? [changed, ...rest] : changed
  }

  private notifyChange(): void {
    const { resolve } = this.changed
    this.changed = Promise.withResolvers()
    resolve()
  }
}
