/** What the editor on the other side of a connection can do, and requests to it. */
import type {
  AgentContext,
  ClientCapabilities,
  CreateElicitationRequest,
  CreateElicitationResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate
} from "@agentclientprotocol/sdk"
import { Effect } from "effect"

/** The editor did not answer: it does not support the request, or its dialog failed. */
export interface NoAnswer {
  readonly _tag: "NoAnswer"
}

const noAnswer: NoAnswer = { _tag: "NoAnswer" }

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
