/**
 * Fake Hub at the other end of a link: implements the protocol, stores pushed events, and misbehaves on request. It has no other part of a
 * Hub.
 */
import { onTestFinished } from "@effect/vitest"
import {
  type CommandName,
  type CommandOutcome,
  type CommandPayload,
  type EdgeCommand,
  MAX_CHUNK_BYTES
} from "@corral/domain/link/EdgeCommand"
import {
  challengeText,
  EdgeLink,
  LINK_PATH,
  type LinkFailure,
  MAX_FRAME_BYTES,
  type Offer,
  type PushAck,
  rotationText
} from "@corral/domain/link/EdgeLink"
import type { AttachmentId, DeviceId, RunId } from "@corral/domain/identity/Ids"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { mint } from "@corral/service/Identifiers"
import { Effect, Fiber, Queue, Stream } from "effect"
import { NetAddress } from "effect/net"
import { RpcSerialization, RpcServer } from "effect/rpc"
import { Socket, SocketServer } from "effect/socket"
import { createPublicKey, randomUUID, verify } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { type WebSocket, WebSocketServer } from "ws"
import { newPrivateKey, publicKeyOf, writeDevice } from "@corral/edge/link/DeviceKey"
import { within } from "../time/Within.ts"

interface Link {
  readonly socket: WebSocket
  readonly commands: Queue.Queue<EdgeCommand>
  generation: number
}

interface Waiting {
  readonly command: EdgeCommand
  readonly done: PromiseWithResolvers<CommandOutcome>
}

const refuse = (code: LinkFailure["code"], message = `refused as ${code}`) => Effect.fail({ code, message })

export class LinkPeer {
  url = ""
  /** Address in `Hello`, instead of the real one. */
  helloUrl: string | undefined
  /** Code with which `Prove` is refused. */
  proveWith: LinkFailure["code"] | undefined
  /** Validity of a proof, and interval of heartbeats, in seconds. */
  accessSeconds = 900
  heartbeatSeconds = 15
  /** Counters: opened sockets, valid proofs, pushes, and unanswered pushes, now and at most. */
  dials = 0
  proofs = 0
  inFlight = 0
  pushes = 0
  maxInFlight = 0
  maxPushCharacters = 0
  /** Whether answers to commands are lost. */
  losesAnswers = false
  /** Awaited before each acknowledgement of a push. */
  beforeAck: () => Promise<void> = async () => {}
  /** Refusals of pushes, by run. */
  readonly refusals = new Map<RunId, NonNullable<PushAck["refused"]>>()
  offer: Offer | undefined
  readonly events = new Map<RunId, Array<string>>()
  /** Contents of attachments, and the positions that were read. */
  readonly attachments = new Map<AttachmentId, Buffer>()
  readonly reads: Array<number> = []
  /** Awaited before each answer with bytes of an attachment. */
  beforeRead: (offset: number) => Promise<void> = async () => {}
  readonly publicKeys = new Map<DeviceId, string>()
  private generation = 0
  private readonly links = new Set<Link>()
  private readonly waiting = new Map<string, Waiting>()
  private changed = Promise.withResolvers<void>()
  private server = createServer()
  private readonly sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES })

  /** Listens on that port, such as the previous one. */
  async open(port = 0): Promise<void> {
    this.server = createServer()
    this.server.on("upgrade", (request, socket, head) => {
      if (request.url !== LINK_PATH || request.headers.origin !== undefined) socket.destroy()
      else this.sockets.handleUpgrade(request, socket, head, (accepted) => this.accept(accepted))
    })
    this.server.listen(port, "127.0.0.1")
    await once(this.server, "listening")
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Makes the home's Edge a device of this Hub. */
  async join(home: string): Promise<DeviceId> {
    const deviceId = mint<DeviceId>("dev", Date.now())
    const privateKey = newPrivateKey()
    this.publicKeys.set(deviceId, publicKeyOf(privateKey))
    const device = { hub: this.url, deviceId, name: "laptop", privateKey }
    await Effect.runPromise(writeDevice(join(home, "device.json"), device))
    return deviceId
  }

  /** Succeeds when `is` returns true. Checked now and after each event. */
  until(what: string, is: () => boolean, millis = 20_000): Promise<void> {
    const look = async () => {
      while (!is()) await this.changed.promise
    }
    return within(look(), millis, what)
  }

  linked(): Promise<void> {
    return this.until("a proved link", () => this.isLinked)
  }

  get isLinked(): boolean {
    return [...this.links].some(({ generation }) => generation > 0)
  }

  /** Sends a command to the Edge, again over new links until it is answered. */
  ask<N extends CommandName>(
    name: N,
    payload: CommandPayload<N>,
    commandId: string = randomUUID()
  ): Promise<CommandOutcome> {
    // The pair of name and payload is what one member of the union says.
    const command = { name, commandId, payload } as unknown as EdgeCommand
    const { done } = this.waiting.get(commandId) ?? { done: Promise.withResolvers<CommandOutcome>() }
    this.waiting.set(commandId, { command, done })
    for (const { commands, generation } of this.links)
      if (generation > 0) Queue.offerUnsafe(commands, command)
    return within(done.promise, 25_000, `the answer to ${name}`)
  }

  start(
    text: string,
    more: object = {},
    runId = mint<RunId>("run", Date.now()),
    commandId?: string
  ): Promise<CommandOutcome> {
    const create = { workspace: "ws", agentId: "scripted", mode: "ask", input: { text }, ...more }
    return this.ask("StartRun", { runId, create } as CommandPayload<"StartRun">, commandId)
  }

  log(runId: RunId): ReadonlyArray<Envelope> {
    return (this.events.get(runId) ?? []).map((line) => JSON.parse(line) as Envelope)
  }

  /** Breaks the connections without a close frame. */
  cut(): void {
    for (const { socket } of this.links) socket.terminate()
  }

  /** Fences the links, as if another Edge had taken over. */
  fence(): void {
    this.generation++
  }

  close(code: number): void {
    for (const { socket } of this.links) socket.close(code)
  }

  /** Stops reading and answering; the sockets stay open. */
  freeze(): void {
    for (const { socket } of this.links) socket.pause()
  }

  async end(): Promise<void> {
    if (!this.server.listening) return
    this.cut()
    this.server.close()
    await once(this.server, "close")
  }

  private notifyChange(): void {
    const { resolve } = this.changed
    this.changed = Promise.withResolvers()
    resolve()
  }

  private accept(socket: WebSocket): void {
    // Send nothing before the peer listens.
    socket.pause()
    this.dials++
    const link: Link = { socket, commands: Effect.runSync(Queue.unbounded<EdgeCommand>()), generation: 0 }
    this.links.add(link)
    const fiber = Effect.runFork(Effect.scoped(this.serve(link)))
    socket.on("error", () => {})
    socket.once("close", () => {
      this.links.delete(link)
      this.notifyChange()
      Effect.runFork(Fiber.interrupt(fiber))
    })
    this.notifyChange()
  }

  private readonly serve = Effect.fnUntraced(function* (this: LinkPeer, link: Link) {
    const socket = yield* Socket.fromWebSocket(Effect.succeed(link.socket))
    const server = SocketServer.SocketServer.of({
      address: NetAddress.inetAddressUnsafe(NetAddress.ipFromStringUnsafe("127.0.0.1"), 0),
      run: (handler) => Effect.andThen(Effect.orDie(handler(socket)), Effect.never)
    })
    const protocol = yield* RpcServer.makeProtocolSocketServer.pipe(
      Effect.provideService(SocketServer.SocketServer, server),
      Effect.provide(RpcSerialization.layerJson)
    )
    return yield* RpcServer.make(EdgeLink).pipe(
      Effect.provideService(RpcServer.Protocol, protocol),
      Effect.provide(this.handlers(link))
    )
  }).bind(this)

  private handlers(link: Link) {
    let challenge = ""
    let deviceId: DeviceId | undefined
    const proved = (generation: number) =>
      generation === link.generation && generation === this.generation
        ? Effect.void
        : refuse(link.generation === 0 ? "unauthorized" : "conflict")
    return EdgeLink.toLayer({
      Hello: () =>
        Effect.sync(() => {
          challenge = randomUUID()
          return { challenge, hub: this.helloUrl ?? this.url }
        }),
      Prove: (proof) =>
        Effect.suspend(() => {
          if (this.proveWith !== undefined) return refuse(this.proveWith)
          const text = challengeText({ hub: this.url, deviceId: proof.deviceId, challenge })
          if (proof.challenge !== challenge || !this.isSigned(proof.deviceId, text, proof.signature))
            return refuse("unauthorized")
          challenge = ""
          deviceId = proof.deviceId
          this.offer = proof.offer
          this.proofs++
          if (link.generation === 0) link.generation = ++this.generation
          this.notifyChange()
          const { accessSeconds, heartbeatSeconds } = this
          return Effect.succeed({ generation: link.generation, heartbeatSeconds, accessSeconds })
        }),
      Rotate: ({ generation, publicKey, signature }) =>
        Effect.andThen(
          proved(generation),
          Effect.suspend(() => {
            if (deviceId === undefined) return refuse("unauthorized")
            const text = rotationText({ hub: this.url, deviceId, publicKey, generation })
            if (!isSignedBy(publicKey, text, signature)) return refuse("unauthorized")
            this.publicKeys.set(deviceId, publicKey)
            return Effect.void
          })
        ),
      Acks: ({ generation, runIds }) =>
        Effect.as(
          proved(generation),
          runIds.map((runId) => ({ runId, seq: this.events.get(runId)?.length ?? 0 }))
        ),
      Heartbeat: ({ generation, offer }) =>
        Effect.andThen(
          proved(generation),
          Effect.sync(() => {
            this.offer = offer ?? this.offer
            this.notifyChange()
          })
        ),
      Commands: ({ generation }) =>
        Stream.unwrap(
          Effect.as(
            Effect.andThen(
              proved(generation),
              Effect.sync(() => {
                for (const { command } of this.waiting.values()) Queue.offerUnsafe(link.commands, command)
              })
            ),
            Stream.fromQueue(link.commands)
          )
        ),
      CommandDone: ({ commandId, generation, outcome }) =>
        Effect.andThen(
          proved(generation),
          Effect.suspend(() => {
            if (this.losesAnswers) return Effect.never
            this.waiting.get(commandId)?.done.resolve(outcome)
            this.waiting.delete(commandId)
            this.notifyChange()
            return Effect.void
          })
        ),
      ReadAttachment: ({ attachmentId, generation, offset }) =>
        Effect.andThen(
          proved(generation),
          Effect.suspend(() => {
            const content = this.attachments.get(attachmentId)
            if (content === undefined) return refuse("not_found")
            this.reads.push(offset)
            this.notifyChange()
            const base64 = content.subarray(offset, offset + MAX_CHUNK_BYTES).toString("base64")
            return Effect.as(
              Effect.promise(() => this.beforeRead(offset)),
              { base64 }
            )
          })
        ),
      PushEvents: ({ batches, generation }) =>
        Effect.andThen(
          proved(generation),
          Effect.suspend(() => {
            this.pushes++
            this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight)
            const size = batches.flatMap(({ events }) => events).join("").length
            this.maxPushCharacters = Math.max(this.maxPushCharacters, size)
            const acks = batches.map((batch) => this.take(batch))
            this.notifyChange()
            return Effect.as(Effect.promise(this.beforeAck), acks).pipe(
              Effect.ensuring(Effect.sync(() => this.inFlight--))
            )
          })
        )
    })
  }

  private take(batch: { runId: RunId; firstSeq: number; events: ReadonlyArray<string> }): PushAck {
    const { events, firstSeq, runId } = batch
    const stored = this.events.get(runId) ?? []
    const refused = this.refusals.get(runId)
    if (refused !== undefined) return { runId, seq: stored.length, refused }
    if (firstSeq > stored.length + 1) return { runId, seq: stored.length, refused: "conflict" }
    stored.push(...events.slice(stored.length + 1 - firstSeq))
    this.events.set(runId, stored)
    return { runId, seq: stored.length }
  }

  private isSigned(deviceId: DeviceId, text: string, signature: string): boolean {
    const key = this.publicKeys.get(deviceId)
    return key !== undefined && isSignedBy(key, text, signature)
  }
}

const isSignedBy = (x: string, text: string, signature: string): boolean =>
  verify(
    null,
    Buffer.from(text),
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }),
    Buffer.from(signature, "base64url")
  )

/** A peer for one test. */
export const openPeer = async (): Promise<LinkPeer> => {
  const peer = new LinkPeer()
  await peer.open()
  onTestFinished(() => peer.end())
  return peer
}
