/**
 * The editor on the other side of a connection: what it can do, requests to it, updates of a session on their way to it, and failures as errors of the
 * Agent Client Protocol.
 *
 * Guarantees: the message of an error is the one that a person reads at the command line, and `data` has the code of the error table and the request
 * id. Updates are written in order, each once. A slow editor slows the streams that fill the outbox: `ready` waits while it is full.
 */
import {
  type AgentContext,
  type ClientCapabilities,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate
} from "@agentclientprotocol/sdk"
import { Deferred, Effect, Queue } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"

const MAX_WAITING = 256

type Item = SessionUpdate | (() => void)

/** Updates of one session on their way to the editor, in order, each once. */
export class Outbox {
  private readonly items = Effect.runSync(Queue.unbounded<Item>())
  private waiting = 0
  private drained: Deferred.Deferred<void> | undefined

  push(updates: ReadonlyArray<SessionUpdate>): void {
    for (const update of updates) this.add(update)
  }

  /** Lets the writer notice a change without an update. */
  touch(): void {
    if (this.waiting === 0) this.add(() => undefined)
  }

  /** Completes once everything that was pushed so far is written. */
  get flushed(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const written = Deferred.makeUnsafe<void>()
      this.add(() => Deferred.doneUnsafe(written, Effect.void))
      return Deferred.await(written)
    })
  }

  readonly ready: Effect.Effect<void> = Effect.suspend(() => {
    if (this.waiting < MAX_WAITING) return Effect.void
    this.drained ??= Deferred.makeUnsafe<void>()
    return Deferred.await(this.drained)
  })

  /** Writes until it is interrupted. `onIdle`: nothing waits. */
  writing(write: (update: SessionUpdate) => Effect.Effect<void>, onIdle: () => void): Effect.Effect<never> {
    return Effect.forever(
      Effect.gen({ self: this }, function* () {
        const item = yield* Queue.take(this.items)
        if (typeof item === "function") item()
        else yield* write(item)
        if (--this.waiting > 0) return
        onIdle()
        if (this.drained !== undefined) Deferred.doneUnsafe(this.drained, Effect.void)
        this.drained = undefined
      })
    )
  }

  private add(item: Item): void {
    this.waiting++
    Queue.offerUnsafe(this.items, item)
  }
}

/** The editor did not answer: it does not support the request, or its dialog failed. */
export interface NoAnswer {
  readonly _tag: "NoAnswer"
}

const noAnswer: NoAnswer = { _tag: "NoAnswer" }

/** What the editor on the other side of a connection can do, and requests to it. */
export class EditorClient {
  private readonly context: AgentContext
  private readonly capabilities: () => ClientCapabilities

  constructor(context: AgentContext, capabilities: () => ClientCapabilities) {
    this.context = context
    this.capabilities = capabilities
  }

  get hasForms(): boolean {
    return this.capabilities().elicitation?.form != null
  }

  get opensAddresses(): boolean {
    return this.capabilities().elicitation?.url != null
  }

  /** Completes when the update is written. A closed connection ends the session by itself. */
  update(sessionId: string, update: SessionUpdate): Effect.Effect<void> {
    return Effect.ignore(
      Effect.tryPromise(() => this.context.notify("session/update", { sessionId, update }))
    )
  }

  /** An interruption closes the dialog of the editor. */
  askPermission(params: RequestPermissionRequest): Effect.Effect<RequestPermissionResponse, NoAnswer> {
    return this.request((options) => this.context.request("session/request_permission", params, options))
  }

  /** An interruption closes the form of the editor. */
  elicit(params: CreateElicitationRequest): Effect.Effect<CreateElicitationResponse, NoAnswer> {
    return this.request((options) => this.context.request("elicitation/create", params, options))
  }

  private request<A>(
    send: (options: {
      readonly cancellationSignal: AbortSignal
      readonly stopWaitingOnCancel: true
    }) => Promise<A>
  ): Effect.Effect<A, NoAnswer> {
    return Effect.tryPromise({
      try: (signal) => send({ cancellationSignal: signal, stopWaitingOnCancel: true }),
      catch: () => noAnswer
    })
  }
}

const INVALID_PARAMS = -32602
const INTERNAL = -32603
const AUTH_REQUIRED = -32000
const NOT_FOUND = -32002

const codeOf = ({ code, unreachable }: CommandFailed): number => {
  if (code === "unauthorized") return AUTH_REQUIRED
  if (code === "not_found") return NOT_FOUND
  if (code === "schema_validation_failed" || code === "payload_too_large") return INVALID_PARAMS
  return unreachable === true || code !== undefined ? INTERNAL : INVALID_PARAMS
}

export const requestErrorOf = (failure: CommandFailed): RequestError => {
  const { code, details, message, requestId } = failure
  const data = {
    ...(code === undefined ? {} : { code }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(details === undefined ? {} : { details })
  }
  return new RequestError(codeOf(failure), message, data)
}

export const invalidParams = (message: string): RequestError => new RequestError(INVALID_PARAMS, message)

export const authRequired = (message: string): RequestError => new RequestError(AUTH_REQUIRED, message)

export const sessionNotFound = (id: string): RequestError =>
  new RequestError(NOT_FOUND, `Session ${id.slice(0, 100)} is not open here. Load or resume it first.`)
