/** An editor: the SDK's client, connected to `corral acp` in this process by streams of bytes. */
import {
  client,
  type ClientCapabilities,
  type ClientConnection,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate
} from "@agentclientprotocol/sdk"
import { until } from "@corral/testing/time/Until"
import { NodeServices } from "@effect/platform-node"
import { ConfigProvider, Effect, Fiber, Layer, Option } from "effect"
import { FetchHttpClient } from "effect/http"
import { serveAcp } from "../../src/acp/AcpAgent.ts"
import { acpStream } from "../../src/acp/AcpStream.ts"
import { edgeSessions } from "../../src/acp/EdgeSessions.ts"
import { hubSessions } from "../../src/acp/HubSessions.ts"
import type { CommandFailed } from "../../src/CommandFailed.ts"
import { CallOrigin } from "../../src/edge/EdgeClient.ts"
import { Host } from "../../src/terminal/Host.ts"
import { testHost } from "../terminal/TestHost.ts"

/** A request that the editor shows, until someone answers it. */
export interface Dialog<Params, Response> {
  readonly params: Params
  /** Aborts when the agent closes the dialog. */
  readonly signal: AbortSignal
  readonly answer: (response: Response) => void
}

export type PermissionDialog = Dialog<RequestPermissionRequest, RequestPermissionResponse>
export type FormDialog = Dialog<CreateElicitationRequest, CreateElicitationResponse>

export interface EditorOptions {
  /** Home with the Edge or the sign-in. */
  readonly home: string
  readonly service?: "Edge" | "Hub"
  readonly capabilities?: ClientCapabilities
  readonly agent?: string
  readonly workspace?: string
  /** The folder that is open. */
  readonly cwd?: string
}

const NOTHING = { url: Option.none(), tokenFile: Option.none(), hub: Option.none(), project: Option.none() }

const serviceOf = ({ agent = "scripted", service = "Edge", workspace = "ws" }: EditorOptions) => {
  const flags = {
    project: Option.none(),
    target: Option.none(),
    workspace: Option.some(workspace),
    agent: Option.some(agent),
    mode: Option.none()
  }
  return service === "Hub" ? hubSessions(NOTHING, flags) : edgeSessions(NOTHING, flags)
}

/** `corral acp` on these bytes. */
export const serveBytes = (
  input: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array) => Promise<void>,
  options: EditorOptions
): Fiber.Fiber<void, CommandFailed> =>
  Effect.runFork(
    Effect.gen(function* () {
      const sessions = yield* serviceOf(options)
      yield* serveAcp(acpStream({ input, write }), {
        sessions,
        models: ["large"],
        invocation: "corral",
        folder: "/"
      })
    }).pipe(
      Effect.provideService(CallOrigin, "editor"),
      Effect.provide(
        Layer.mergeAll(
          NodeServices.layer,
          FetchHttpClient.layer,
          Layer.succeed(Host, testHost()),
          ConfigProvider.layer(ConfigProvider.fromEnv({ env: { CORRAL_HOME: options.home } }))
        )
      )
    )
  )

export class TestEditor {
  readonly updates: Array<SessionUpdate> = []
  readonly permissions: Array<PermissionDialog> = []
  readonly forms: Array<FormDialog> = []
  readonly options: EditorOptions
  private readonly connection: ClientConnection
  private readonly fiber: Fiber.Fiber<void, CommandFailed>

  constructor(options: EditorOptions) {
    this.options = options
    const toAgent = new TransformStream<Uint8Array, Uint8Array>()
    const toEditor = new TransformStream<Uint8Array, Uint8Array>()
    const writer = toEditor.writable.getWriter()
    this.fiber = serveBytes(toAgent.readable, (bytes) => writer.write(bytes), options)
    // The end of a process closes its stdout.
    void Effect.runPromise(Fiber.await(this.fiber)).then(() => writer.close().catch(() => undefined))
    this.connection = client({ name: "test" })
      .onRequest(methods.client.session.requestPermission, ({ params, signal }) =>
        this.show(this.permissions, params, signal)
      )
      .onRequest(methods.client.elicitation.create, ({ params, signal }) =>
        this.show(this.forms, params, signal)
      )
      .onNotification(methods.client.session.update, ({ params }) => void this.updates.push(params.update))
      .connect(ndJsonStream(toAgent.writable, toEditor.readable))
  }

  static async open(options: EditorOptions): Promise<TestEditor> {
    const editor = new TestEditor(options)
    await editor.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientCapabilities: options.capabilities ?? {}
    })
    return editor
  }

  get agent() {
    return this.connection.agent
  }

  /** A new session. */
  async create(): Promise<string> {
    const { sessionId } = await this.agent.request(methods.agent.session.new, {
      cwd: this.cwd,
      mcpServers: []
    })
    return sessionId
  }

  load(sessionId: string) {
    return this.agent.request(methods.agent.session.load, { sessionId, cwd: this.cwd, mcpServers: [] })
  }

  prompt(sessionId: string, text: string) {
    return this.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text }]
    })
  }

  /** The permission dialog with this number, once it is shown. */
  permission(at = 0): Promise<PermissionDialog> {
    return until(async () => this.permissions[at], `permission dialog ${at}`)
  }

  form(at = 0): Promise<FormDialog> {
    return until(async () => this.forms[at], `form ${at}`)
  }

  /** Text of all messages of the agent. */
  get text(): string {
    return this.textOf("agent_message_chunk")
  }

  textOf(kind: "agent_message_chunk" | "user_message_chunk" | "agent_thought_chunk"): string {
    return this.updates
      .flatMap((update) =>
        update.sessionUpdate === kind && update.content.type === "text" ? [update.content.text] : []
      )
      .join("")
  }

  shows(text: string | RegExp): Promise<true> {
    return until(
      async () => (typeof text === "string" ? this.text.includes(text) : text.test(this.text)) || undefined,
      `${text} in ${this.text}`
    )
  }

  /** The editor goes away. */
  async close(): Promise<void> {
    this.connection.close()
    await Effect.runPromise(Effect.exit(Fiber.interrupt(this.fiber)))
  }

  /** How `corral acp` ended. */
  get end() {
    return Effect.runPromise(Fiber.await(this.fiber))
  }

  get cwd(): string {
    return this.options.cwd ?? "/home/person/code"
  }

  private show<Params, Response>(
    dialogs: Array<Dialog<Params, Response>>,
    params: Params,
    signal: AbortSignal
  ): Promise<Response> {
    return new Promise((answer) => dialogs.push({ params, signal, answer }))
  }
}

export const choose = ({ answer }: PermissionDialog, optionId: string): void =>
  answer({ outcome: { outcome: "selected", optionId } })
