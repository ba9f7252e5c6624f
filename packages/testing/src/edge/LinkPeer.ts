/**
 * Fake Hub at the other end of a link: implements the Hub's side of the protocol (proofs of devices, commands, pushes and attachments), stores
 * pushed events, and misbehaves on request. It has no other part of a Hub.
 */
import { within } from "../time/Until.ts"
import type { AttachmentId, DeviceId, RunId, ChangeSetId } from "@corral/domain/identity/Ids"
import {
  type CommandName,
  type CommandOutcome,
  type CommandPayload,
  type EdgeCommand,
  MAX_CHUNK_BYTES
} from "@corral/domain/link/EdgeCommand"
import {
  addedCalls,
  challengeText,
  type ChangesAck,
  EdgeLink,
  LINK_PATH,
  type LinkFailure,
  MAX_FRAME_BYTES,
  type Offer,
  type PushAck,
  rotationText
} from "@corral/domain/link/EdgeLink"
import type { ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { newPrivateKey, publicKeyOf, writeDevice } from "@corral/edge/link/DeviceKey"
import { mint } from "@corral/service/Identifiers"
import { onTestFinished } from "@effect/vitest"
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

interface PeerLink {
  readonly socket: WebSocket
  readonly commands: Queue.Queue<EdgeCommand>
  /** 0 until the device is proved. */
  generation: number
}

const refuse = (code: LinkFailure["code"], message = `refused as ${code}`) => Effect.fail({ code, message })

const isSigned = (x: string | undefined, text: string, signature: string): boolean =>
  x !== undefined &&
  verify(
    null,
    Buffer.from(text),
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }),
    Buffer.from(signature, "base64url")
  )

/** The Hub's side of the link protocol for a `LinkPeer`. */
const linkPeerProtocol = (peer: LinkPeer, link: PeerLink) => {
  let challenge = ""
  let deviceId: DeviceId | undefined
  const proved = (generation: number) =>
    generation === link.generation && generation === peer.generation
      ? Effect.void
      : refuse(link.generation === 0 ? "unauthorized" : "conflict")
  return EdgeLink.toLayer({
    Hello: () =>
      Effect.sync(() => {
        challenge = randomUUID()
        const now = peer.aheadMs === undefined ? {} : { now: Date.now() + peer.aheadMs }
        return { challenge, hub: peer.helloUrl ?? peer.url, ...now }
      }),
    Prove: (proof) =>
      Effect.suspend(() => {
        if (peer.proveWith !== undefined) return refuse(peer.proveWith)
        const text = challengeText({ hub: peer.url, deviceId: proof.deviceId, challenge })
        if (
          proof.challenge !== challenge ||
          !isSigned(peer.publicKeys.get(proof.deviceId), text, proof.signature)
        )
          return refuse("unauthorized")
        challenge = ""
        deviceId = proof.deviceId
        peer.offer = proof.offer
        peer.proofs++
        if (link.generation === 0) link.generation = ++peer.generation
        peer.notifyChange()
        const { accessSeconds, heartbeatSeconds } = peer
        const calls = peer.acceptsChanges ? addedCalls : []
        return Effect.succeed({ generation: link.generation, heartbeatSeconds, accessSeconds, calls })
      }),
    Rotate: ({ generation, publicKey, signature }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          if (deviceId === undefined) return refuse("unauthorized")
          const text = rotationText({ hub: peer.url, deviceId, publicKey, generation })
          if (!isSigned(publicKey, text, signature)) return refuse("unauthorized")
          peer.publicKeys.set(deviceId, publicKey)
          return Effect.void
        })
      ),
    Acks: ({ generation, runIds }) =>
      Effect.as(
        proved(generation),
        runIds.map((runId) => peer.pushed.ackOf(runId))
      ),
    Heartbeat: ({ generation, offer }) =>
      Effect.andThen(
        proved(generation),
        Effect.sync(() => {
          peer.offer = offer ?? peer.offer
          peer.notifyChange()
        })
      ),
    Commands: ({ generation }) =>
      Stream.unwrap(
        Effect.as(
          Effect.andThen(
            proved(generation),
            Effect.sync(() => {
              for (const command of peer.commands.list()) Queue.offerUnsafe(link.commands, command)
            })
          ),
          Stream.fromQueue(link.commands)
        )
      ),
    CommandDone: ({ commandId, generation, outcome }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          if (peer.losesAnswers) return Effect.never
          peer.commands.complete(commandId, outcome)
          peer.notifyChange()
          return Effect.void
        })
      ),
    ReadAttachment: ({ attachmentId, generation, offset }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          const content = peer.attachments.get(attachmentId)
          if (content === undefined) return refuse("not_found")
          peer.reads.push(offset)
          peer.notifyChange()
          const base64 = content.subarray(offset, offset + MAX_CHUNK_BYTES).toString("base64")
          return Effect.as(
            Effect.promise(() => peer.beforeRead(offset)),
            { base64 }
          )
        })
      ),
    PushEvents: ({ batches, generation }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          const acks = peer.pushed.push(batches)
          peer.notifyChange()
          return acks
        })
      ),
    PushChanges: ({ generation, sets }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          for (const { id, set } of sets) {
            const { changeSets } = peer
            changeSets.set(id, [...(changeSets.get(id) ?? []), JSON.parse(set) as ChangeSet])
          }
          peer.notifyChange()
          return peer.losesChanges
            ? Effect.never
            : Effect.succeed(sets.map(({ id }) => peer.ackOfChanges(id)))
        })
      )
  })
}

// Events that Edges have pushed to a `LinkPeer`, by run, and how they came: how many pushes, how large, and how many at a time.

interface Batch {
  readonly runId: RunId
  readonly firstSeq: number
  readonly events: ReadonlyArray<string>
}

class PushedEvents {
  /** Number of pushes, and of unanswered pushes at most. */
  pushes = 0
  maxInFlight = 0
  maxPushCharacters = 0
  /** Number of batches that came before earlier events of their run. */
  gaps = 0
  /** Awaited before each acknowledgement of a push. */
  beforeAck: () => Promise<void> = async () => {}
  readonly lines = new Map<RunId, Array<string>>()
  private inFlight = 0

  log(runId: RunId): ReadonlyArray<Envelope> {
    return (this.lines.get(runId) ?? []).map((line) => JSON.parse(line) as Envelope)
  }

  ackOf(runId: RunId): PushAck {
    return { runId, seq: this.lines.get(runId)?.length ?? 0 }
  }

  /** Stores a push; its acknowledgements come after `beforeAck`. */
  push(batches: ReadonlyArray<Batch>): Effect.Effect<ReadonlyArray<PushAck>> {
    this.pushes++
    this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight)
    const size = batches.flatMap(({ events }) => events).join("").length
    this.maxPushCharacters = Math.max(this.maxPushCharacters, size)
    const acks = batches.map((batch) => this.store(batch))
    return Effect.as(Effect.promise(this.beforeAck), acks).pipe(
      Effect.ensuring(Effect.sync(() => this.inFlight--))
    )
  }

  private store({ events, firstSeq, runId }: Batch): PushAck {
    const stored = this.lines.get(runId) ?? []
    if (firstSeq > stored.length + 1) {
      this.gaps++
      return { runId, seq: stored.length, refused: "conflict" }
    }
    stored.push(...events.slice(stored.length + 1 - firstSeq))
    this.lines.set(runId, stored)
    return { runId, seq: stored.length }
  }
}

// Commands of a `LinkPeer` to an Edge that are not answered yet. They are sent again over each new link.

interface Pending {
  readonly command: EdgeCommand
  readonly done: PromiseWithResolvers<CommandOutcome>
}

class PendingCommands {
  private readonly pending = new Map<string, Pending>()

  /** The outcome of the command, or of an earlier one with its id. */
  add(command: EdgeCommand): Promise<CommandOutcome> {
    const earlier = this.pending.get(command.commandId)
    const done = earlier?.done ?? Promise.withResolvers<CommandOutcome>()
    this.pending.set(command.commandId, { command, done })
    return done.promise
  }

  complete(commandId: string, outcome: CommandOutcome): void {
    this.pending.get(commandId)?.done.resolve(outcome)
    this.pending.delete(commandId)
  }

  list(): ReadonlyArray<EdgeCommand> {
    return [...this.pending.values()].map(({ command }) => command)
  }
}

export class LinkPeer {
  url = ""
  /** Address in `Hello`, instead of the real one. */
  helloUrl: string | undefined
  /** Its clock minus this machine's in `Hello`; undefined: it does not send its time. */
  aheadMs: number | undefined
  /** Code with which `Prove` is refused. */
  proveWith: LinkFailure["code"] | undefined
  /** Validity of a proof, and interval of heartbeats, in seconds. */
  accessSeconds = 900
  heartbeatSeconds = 15
  /** Number of opened sockets, and of valid proofs. */
  dials = 0
  proofs = 0
  /** Whether answers to commands are lost. */
  losesAnswers = false
  offer: Offer | undefined
  readonly pushed = new PushedEvents()
  /** Whether it accepts change sets, and whether the acknowledgements of their pushes are lost. */
  acceptsChanges = true
  losesChanges = false
  /** Each state of each set that was pushed, oldest first. */
  readonly changeSets = new Map<ChangeSetId, ReadonlyArray<ChangeSet>>()
  ackOfChanges: (id: ChangeSetId) => ChangesAck = (id) => ({ id })
  readonly commands = new PendingCommands()
  /** Contents of attachments, and the positions that were read. */
  readonly attachments = new Map<AttachmentId, Buffer>()
  readonly reads: Array<number> = []
  /** Awaited before each answer with bytes of an attachment. */
  beforeRead: (offset: number) => Promise<void> = async () => {}
  readonly publicKeys = new Map<DeviceId, string>()
  /** Of the newest link. Earlier links are fenced. */
  generation = 0
  private readonly links = new Set<PeerLink>()
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
    const outcome = this.commands.add(command)
    for (const { commands, generation } of this.links)
      if (generation > 0) Queue.offerUnsafe(commands, command)
    return within(outcome, 25_000, `the answer to ${name}`)
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
    return this.pushed.log(runId)
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

  /** Wakes `until`. */
  notifyChange(): void {
    const { resolve } = this.changed
    this.changed = Promise.withResolvers()
    resolve()
  }

  private accept(socket: WebSocket): void {
    // Send nothing before the peer listens.
    socket.pause()
    this.dials++
    const link: PeerLink = { socket, commands: Effect.runSync(Queue.unbounded<EdgeCommand>()), generation: 0 }
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

  private readonly serve = Effect.fnUntraced(function* (this: LinkPeer, link: PeerLink) {
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
      Effect.provide(linkPeerProtocol(this, link))
    )
  }).bind(this)
}

/** A peer for one test. */
export const openPeer = async (): Promise<LinkPeer> => {
  const peer = new LinkPeer()
  await peer.open()
  onTestFinished(() => peer.end())
  return peer
}
