/**
 * One connection of a client: its first message, its requests, and its actions in order.
 *
 * Guarantees: nothing but `initialize` and `reconnect` is answered before one of them has succeeded. Messages a second, messages that wait and requests in progress
 * are bounded: a client beyond a bound is closed.
 */
import { Effect, type Fiber, Result } from "effect"
import { ROOT } from "../protocol/Addresses.ts"
import {
  chooseVersion,
  decodeDispatch,
  decodeParams,
  decodeUnsubscribe,
  errorCodes,
  errorMessage,
  type Incoming,
  type ParamsOf,
  parseMessage,
  PROTOCOL_VERSIONS,
  protocolError,
  type ProtocolError,
  resultMessage
} from "../protocol/Messages.ts"
import type { HostClient, HostSocket } from "./HostClient.ts"
import { answerRequest, openChannel, snapshotOf } from "./Requests.ts"
import { refusalOf } from "./Resources.ts"

/** What a connection needs from the host. */
export interface ConnectionHost {
  readonly serverInfo: { readonly name: string; readonly version: string }
  readonly now: () => number
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  /** A new client; one with the same id and caller ends. `undefined`: there are too many. */
  readonly begin: (clientId: string) => HostClient | undefined
  /** The client with this id, if the caller has one. */
  readonly find: (clientId: string) => HostClient | undefined
}

const MAX_MESSAGES_A_SECOND = 500
const MAX_REQUESTS = 64
const POLICY_VIOLATION = 1008
const NORMAL = 1000

type Answer = Effect.Effect<unknown, ProtocolError>

/** Messages of a client that has not been initialized. */
const FIRST = ["initialize", "reconnect"]

export class Connection {
  private readonly host: ConnectionHost
  private readonly socket: HostSocket
  private client: HostClient | undefined
  private isStarting = false
  private requests = 0
  private second = 0
  private received = 0

  constructor(host: ConnectionHost, socket: HostSocket) {
    this.host = host
    this.socket = socket
  }

  /** A message of the client. */
  receive(message: string): void {
    // The socket is closing: what still arrives has no effect.
    if (this.client?.hasEnded === true) return
    if (this.isTooFast()) return this.socket.close(POLICY_VIOLATION, "too many messages")
    const parsed = parseMessage(message)
    if (parsed === undefined) return
    if (typeof parsed === "string") {
      this.socket.send(errorMessage(null, protocolError("invalidRequest", parsed)))
      return this.socket.close(POLICY_VIOLATION, "invalid message")
    }
    const { id } = parsed
    return id === undefined ? this.takeNotification(parsed, message.length) : this.answer(parsed, id)
  }

  /** Whether the client has sent nothing yet that begins the protocol. */
  get isUnused(): boolean {
    return this.client === undefined && !this.isStarting
  }

  /** The connection is lost. */
  closed(): void {
    this.client?.detach(this.socket)
  }

  private isTooFast(): boolean {
    const second = Math.floor(this.host.now() / 1_000)
    this.received = second === this.second ? this.received + 1 : 1
    this.second = second
    return this.received > MAX_MESSAGES_A_SECOND
  }

  /** A notification. Those that the host does not know are ignored. */
  private takeNotification({ method, params }: Incoming, size: number): void {
    const { client } = this
    if (client === undefined) return
    if (method === "unsubscribe") {
      const decoded = decodeUnsubscribe(params)
      if (Result.isSuccess(decoded)) client.unsubscribe(decoded.success.channel)
    } else if (method === "dispatchAction") {
      const decoded = decodeDispatch(params)
      // Without its number, an action cannot be answered.
      if (Result.isFailure(decoded)) return this.socket.close(POLICY_VIOLATION, "invalid action")
      if (!client.offer(decoded.success, size)) this.socket.close(POLICY_VIOLATION, "too many actions wait")
    }
  }

  private answer({ method, params }: Incoming, id: number | string): void {
    const { client } = this
    if (client === undefined) {
      if (this.isStarting || !FIRST.includes(method))
        return this.socket.send(
          errorMessage(id, protocolError("invalidRequest", "The connection is not initialized."))
        )
      this.isStarting = true
      const start: Answer = method === "initialize" ? this.initialize(params) : this.reconnect(params)
      this.fork(
        id,
        Effect.ensuring(
          start,
          Effect.sync(() => {
            this.isStarting = false
          })
        )
      )
      return
    }
    if (this.requests >= MAX_REQUESTS)
      return this.socket.close(POLICY_VIOLATION, "too many requests in progress")
    this.fork(id, answerRequest(client, method, params))
  }

  /** Sends the answer in the step that has it: the actions that follow a snapshot come after it. */
  private fork(id: number | string, answer: Answer): void {
    this.requests++
    this.host.fork(
      answer.pipe(
        Effect.match({
          onSuccess: (result) => this.socket.send(resultMessage(id, result)),
          onFailure: (error) => {
            this.socket.send(errorMessage(id, error))
            if (error.code === errorCodes.unsupportedVersion) this.socket.close(NORMAL, "unsupported version")
          }
        }),
        Effect.catchDefect((defect) =>
          Effect.andThen(
            Effect.logError("failed to answer an editor", { defect }),
            Effect.sync(() =>
              this.socket.send(errorMessage(id, protocolError("internal", "The request failed.")))
            )
          )
        ),
        Effect.ensuring(
          Effect.sync(() => {
            this.requests--
          })
        )
      )
    )
  }

  private readonly initialize = Effect.fnUntraced(function* (this: Connection, input: unknown) {
    const { clientId, initialSubscriptions = [], protocolVersions } = yield* paramsOf("initialize", input)
    const protocolVersion = chooseVersion(protocolVersions)
    if (protocolVersion === undefined)
      return yield* Effect.fail(
        protocolError("unsupportedVersion", "The host speaks none of these versions.", {
          supportedVersions: PROTOCOL_VERSIONS
        })
      )
    const client = this.host.begin(clientId)
    if (client === undefined)
      return yield* Effect.fail(protocolError("conflict", "The host has too many clients."))
    yield* Effect.mapError(client.start, (failure) => {
      client.end(NORMAL, "it could not start")
      return refusalOf(failure)
    })
    const opened = yield* Effect.forEach(initialSubscriptions, (address) =>
      Effect.option(openChannel(client, address))
    )
    this.serve(client)
    return {
      protocolVersion,
      serverSeq: client.log.seq,
      serverInfo: this.host.serverInfo,
      snapshots: opened.flatMap((channel) =>
        channel._tag === "Some" ? [snapshotOf(client, channel.value)] : []
      )
    }
  })

  private readonly reconnect = Effect.fnUntraced(function* (this: Connection, input: unknown) {
    const { clientId, lastSeenServerSeq, subscriptions } = yield* paramsOf("reconnect", input)
    const client = this.host.find(clientId)
    // The client begins again, and sends again what was not answered.
    if (client === undefined || lastSeenServerSeq > client.log.seq)
      return yield* Effect.fail(
        protocolError("notFound", "The host does not know this client. Initialize again.")
      )
    const wanted = new Set([ROOT, ...subscriptions])
    for (const address of client.channels.keys()) if (!wanted.has(address)) client.unsubscribe(address)
    this.serve(client)
    // What the caller may no longer read has no channel.
    const actions = client.log.after(lastSeenServerSeq, new Set(client.channels.keys()))
    if (actions !== undefined) {
      const missing = subscriptions.filter((address) => !client.channels.has(address))
      return { type: "replay", actions, missing }
    }
    return {
      type: "snapshot",
      snapshots: [...client.channels.values()].map((channel) => snapshotOf(client, channel))
    }
  })

  private serve(client: HostClient): void {
    this.client = client
    client.attach(this.socket)
  }
}

const paramsOf = <Name extends "initialize" | "reconnect">(
  method: Name,
  input: unknown
): Effect.Effect<ParamsOf<Name>, ProtocolError> => Effect.fromResult(decodeParams(method, input))
