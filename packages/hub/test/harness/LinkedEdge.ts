/**
 * Test Edge with its own key, over a real WebSocket and the real RPC client. The test provides its answers to commands; it runs nothing.
 */
import { onTestFinished } from "@effect/vitest"
import {
  challengeText,
  EdgeLink,
  LINK_PATH,
  LINK_VERSION,
  type LinkFailure,
  type Offer,
  type PushedChanges
} from "@corral/domain/link/EdgeLink"
import type { ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { CommandOutcome, CommandPayload, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import type { AttachmentId, DeviceId, RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { Effect, Exit, Fiber, Result, Scope, Stream } from "effect"
import { RpcClient, type RpcClientError, RpcSerialization } from "effect/rpc"
import { Socket } from "effect/socket"
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto"
import { WebSocket } from "ws"
import { within } from "@corral/testing/time/Until"

export interface KeyPair {
  /** As base64url. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

export const newKeyPair = (): KeyPair => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  return { privateKey, publicKey: String(publicKey.export({ format: "jwk" }).x) }
}

export const signed = ({ privateKey }: KeyPair, text: string): string =>
  sign(null, Buffer.from(text), privateKey).toString("base64url")

const capabilities = {
  deltas: true,
  approvals: true,
  editInput: false,
  resume: true,
  readOnly: true,
  cancel: true,
  input: false
}

/** Offer that covers `createRun` of the mirror. */
export const offer: Offer = {
  version: "1.2.3",
  // Names as they are in the table of what is offered; a brand says no more here.
  workspaces: [
    { id: "demo", name: "demo", modes: ["ask"], git: true, available: true }
  ] as unknown as Offer["workspaces"],
  agents: [
    { id: "scripted", label: "Scripted", runtime: "scripted", available: true, capabilities },
    {
      id: "missing",
      label: "Missing",
      runtime: "missing",
      available: false,
      reason: "not_installed",
      capabilities
    }
  ] as unknown as Offer["agents"]
}

type Client = RpcClient.FromGroup<typeof EdgeLink, RpcClientError.RpcClientError>
type Failure = LinkFailure | { readonly code: "broken"; readonly message: string }

/** `undefined`: no answer. */
export type Answers = (command: EdgeCommand) => CommandOutcome | undefined

export interface Dialling {
  readonly deviceId: DeviceId
  readonly key: KeyPair
  readonly instanceId?: string
  readonly answers?: Answers
}

/** Outcome of a start that the Edge accepts. */
export const taken = (command: EdgeCommand): CommandOutcome | undefined => {
  if (command.name !== "StartRun") return undefined
  // The name says which payload it is.
  const { create, runId: id } = command.payload as CommandPayload<"StartRun">
  const at = "2026-11-21T12:00:00.000Z"
  const received = { state: "created", timeoutMs: 1_000, lastSeq: 1, pendingApprovals: [] } as const
  const { env: _, sessionId, ...rest } = create
  const run: Run = {
    ...rest,
    ...(sessionId === undefined ? {} : { sessionId }),
    ...received,
    id,
    createdAt: at,
    updatedAt: at
  }
  return { _tag: "Done", value: run }
}

export class LinkedEdge {
  /** Received commands in order, with repetitions. */
  readonly commands: Array<EdgeCommand> = []
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  generation = 1
  challenge = ""
  hub = ""
  readonly deviceId: DeviceId
  readonly socket: WebSocket
  readonly instanceId: string
  answers: Answers
  private readonly key: KeyPair
  private readonly client: Client
  private readonly scope: Scope.Closeable
  private readonly waiting: Array<() => void> = []
  private isCut = false

  private constructor(dialling: Dialling, socket: WebSocket, client: Client, scope: Scope.Closeable) {
    this.deviceId = dialling.deviceId
    this.instanceId = dialling.instanceId ?? randomUUID()
    this.key = dialling.key
    this.answers = dialling.answers ?? taken
    this.socket = socket
    this.client = client
    this.scope = scope
    this.closed = new Promise((resolve) => {
      socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() }))
    })
  }

  /** Connects without a proof. */
  static async dial(url: string, dialling: Dialling): Promise<LinkedEdge> {
    const socket = new WebSocket(url.replace(/^http/, "ws") + LINK_PATH)
    await within(
      new Promise((resolve, reject) => {
        socket.once("open", resolve)
        socket.once("error", reject)
      }),
      20_000,
      "the link"
    )
    const scope = Scope.makeUnsafe()
    const created = Effect.gen(function* () {
      // What the library's reader and writer use of a WebSocket, `ws` has under the same names.
      const edgeSocket = yield* Socket.fromWebSocket(
        Effect.succeed(socket as unknown as Socket.WebSocketLike)
      )
      const protocol = yield* RpcClient.makeProtocolSocket({ pingTimeout: "30 seconds" }).pipe(
        Effect.provideService(Socket.Socket, edgeSocket),
        Effect.provideService(RpcSerialization.RpcSerialization, RpcSerialization.json)
      )
      return yield* RpcClient.make(EdgeLink).pipe(Effect.provideService(RpcClient.Protocol, protocol))
    })
    const client = await Effect.runPromise(Scope.provide(created, scope))
    return new LinkedEdge(dialling, socket, client, scope)
  }

  /** Connects, proves the device and receives commands. Closed when the test ends. */
  static async link(url: string, dialling: Dialling): Promise<LinkedEdge> {
    const edge = await LinkedEdge.dial(url, dialling)
    onTestFinished(() => edge.cut())
    await edge.hello()
    const proved = await edge.prove()
    if (Result.isFailure(proved)) throw new Error(`not linked: ${JSON.stringify(proved.failure)}`)
    edge.serve()
    return edge
  }

  hello(deviceId = this.deviceId) {
    return this.call(
      this.client.Hello({ linkVersion: LINK_VERSION, deviceId, instanceId: this.instanceId })
    ).then((answer) => {
      if (Result.isSuccess(answer)) {
        this.challenge = answer.success.challenge
        this.hub = answer.success.hub
      }
      return answer
    })
  }

  async prove(
    changed: {
      readonly challenge?: string
      readonly key?: KeyPair
      readonly hub?: string
      readonly offer?: Offer
      readonly deviceId?: DeviceId
      readonly signature?: string
    } = {}
  ) {
    const { challenge = this.challenge, deviceId = this.deviceId, hub = this.hub, key = this.key } = changed
    const signature = changed.signature ?? signed(key, challengeText({ hub, deviceId, challenge }))
    const answer = await this.call(
      this.client.Prove({ deviceId, challenge, signature, offer: changed.offer ?? offer })
    )
    if (Result.isSuccess(answer)) this.generation = answer.success.generation
    return answer
  }

  heartbeat(offered?: Offer) {
    return this.call(
      this.client.Heartbeat({
        generation: this.generation,
        ...(offered === undefined ? {} : { offer: offered })
      })
    )
  }

  rotate(publicKey: string, signature: string) {
    return this.call(this.client.Rotate({ generation: this.generation, publicKey, signature }))
  }

  acks(...runIds: ReadonlyArray<RunId>) {
    return this.call(this.client.Acks({ generation: this.generation, runIds }))
  }

  push(runId: RunId, firstSeq: number, events: ReadonlyArray<string>) {
    return this.call(
      this.client.PushEvents({ generation: this.generation, batches: [{ runId, firstSeq, events }] })
    )
  }

  pushChanges(sets: ReadonlyArray<ChangeSet>, generation = this.generation) {
    return this.pushTexts(
      sets.map((set) => ({ id: set.id, set: JSON.stringify(set) })),
      generation
    )
  }

  pushTexts(sets: ReadonlyArray<PushedChanges>, generation = this.generation) {
    return this.call(this.client.PushChanges({ generation, sets }))
  }

  readAttachment(runId: RunId, attachmentId: AttachmentId, offset: number, generation = this.generation) {
    return this.call(this.client.ReadAttachment({ generation, runId, attachmentId, offset }))
  }

  done({ commandId }: EdgeCommand, outcome: CommandOutcome) {
    return this.call(this.client.CommandDone({ generation: this.generation, commandId, outcome }))
  }

  /** Opens the stream of commands and answers them by `answers`. */
  serve(): void {
    // Nothing of the same socket is waited for in here: the library's client reads no answer while its stream is full.
    const taking = Stream.runForEach(this.client.Commands({ generation: this.generation }), (command) =>
      Effect.sync(() => {
        this.commands.push(command)
        for (const look of this.waiting.splice(0)) look()
        const outcome = this.answers(command)
        if (outcome !== undefined) this.done(command, outcome).catch(this.unlessCut)
      })
    )
    const fiber = Effect.runFork(Effect.ignore(taking))
    Effect.runSync(Scope.addFinalizer(this.scope, Fiber.interrupt(fiber)))
  }

  /** Resolves with all commands once `commands` have arrived. */
  async count(commands: number): Promise<ReadonlyArray<EdgeCommand>> {
    const until = async (): Promise<void> => {
      if (this.commands.length >= commands) return
      await new Promise<void>((resolve) => this.waiting.push(resolve))
      return until()
    }
    await within(until(), 10_000, `${commands} commands`)
    return this.commands
  }

  /** What the Edge sends may fail on a cut link. */
  readonly unlessCut = (error: unknown): void => {
    if (!this.isCut) throw error
  }

  /** Simulates a lost network. */
  async cut(): Promise<void> {
    this.isCut = true
    this.socket.terminate()
    await Effect.runPromise(Scope.close(this.scope, Exit.void))
  }

  /** Simulates an Edge that stops. */
  async leave(): Promise<void> {
    this.isCut = true
    this.socket.close(1000)
    await within(this.closed, 20_000, "the end of the link")
    await this.cut()
  }

  private call<A>(
    effect: Effect.Effect<A, LinkFailure | RpcClientError.RpcClientError>
  ): Promise<Result.Result<A, Failure>> {
    const received = Effect.mapError(effect, (error): Failure =>
      "code" in error ? error : { code: "broken", message: String(error) }
    )
    return within(Effect.runPromise(Effect.result(received)), 40_000, "an answer over the link")
  }
}
