/**
 * Agent of the Agent Client Protocol: an editor's view of sessions, runs, approvals and questions of an Edge or a Hub.
 *
 * Guarantees: each request has one answer. No state, right or identity exists only here. When the editor goes away, runs continue.
 */
import {
  agent,
  type AgentApp,
  type AgentContext,
  type ClientCapabilities,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type ResumeSessionRequest,
  type SetSessionConfigOptionRequest,
  type Stream
} from "@agentclientprotocol/sdk"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { Usage } from "@corral/domain/run/Run"
import { VERSION } from "@corral/service/Version"
import { Deferred, Effect, FiberSet } from "effect"
import { isAbsolute } from "node:path"
import { CommandFailed } from "../CommandFailed.ts"
import { authRequired, EditorClient, invalidParams, requestErrorOf } from "./EditorClient.ts"
import type { AcpSession } from "./AcpSession.ts"
import { configOptions, DEFAULT_MODEL, type EditorSessions, modeState } from "./EditorSessions.ts"
import { type Beginning, OpenSessions } from "./OpenSessions.ts"
import { promptMessage } from "./Content.ts"

export interface AcpAgentOptions {
  readonly sessions: EditorSessions
  /** Models that the editor offers. */
  readonly models: ReadonlyArray<string>
  /** Command that starts this program. */
  readonly invocation: string
  /** Folder for lists, if the editor names none. */
  readonly folder: string
}

type Answer<A> = Effect.Effect<A, CommandFailed | RequestError>

const MCP_NOTE =
  "The MCP servers of the editor are not used here. Configure them for the agent, where Corral supervises them."

const SIGN_IN = "corral-sign-in"

class Connection {
  private readonly options: AcpAgentOptions
  private capabilities: ClientCapabilities = {}
  private readonly opened: (client: EditorClient) => OpenSessions
  private open: OpenSessions | undefined

  constructor(options: AcpAgentOptions, opened: (client: EditorClient) => OpenSessions) {
    this.options = options
    this.opened = opened
  }

  initialize(context: AgentContext, capabilities: ClientCapabilities) {
    const { sessions } = this.options
    this.capabilities = capabilities
    this.open ??= this.opened(new EditorClient(context, () => this.capabilities))
    const hasFiles = sessions.acceptsFiles
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "corral", title: "Corral", version: VERSION },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: hasFiles, audio: false, embeddedContext: true },
        mcpCapabilities: { http: false, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {} }
      },
      authMethods: [
        {
          id: SIGN_IN,
          name: sessions.service === "Hub" ? "Sign in with `corral login`" : "Start Corral with `corral up`",
          description:
            sessions.service === "Hub"
              ? "Run `corral login` in a terminal, then try again."
              : "Run `corral up` in a terminal, then try again."
        },
        ...(capabilities.auth?.terminal === true && sessions.service === "Hub"
          ? [
              {
                type: "terminal",
                id: "corral-terminal-sign-in",
                name: "Sign in to the Hub",
                args: ["--sign-in"]
              } as const
            ]
          : [])
      ]
    }
  }

  authenticate(methodId: string): Answer<void> {
    return methodId === SIGN_IN
      ? Effect.mapError(this.options.sessions.check, ({ message }) => authRequired(message))
      : Effect.fail(invalidParams("There is no such sign-in."))
  }

  begin(cwd: string, id: string | undefined, beginning: Beginning): Answer<AcpSession> {
    const { sessions } = this.options
    if (!isAbsolute(cwd)) return Effect.fail(invalidParams("`cwd` must be an absolute path."))
    return this.all.begin(id === undefined ? sessions.create(cwd) : sessions.open(id, cwd), beginning)
  }

  list(cwd: string, cursor: string | undefined) {
    return Effect.map(this.options.sessions.list(cwd, cursor), ({ nextCursor, sessions }) => ({
      nextCursor,
      sessions: sessions.map(({ id, title, updatedAt }) => ({ sessionId: id, cwd, title, updatedAt }))
    }))
  }

  session(id: string): Answer<AcpSession> {
    return this.all.get(id)
  }

  close(id: string): Answer<void> {
    return Effect.flatMap(this.session(id), (session) => Effect.andThen(session.cancel, this.all.close(id)))
  }

  /** Modes and options of a session, as all answers have them. */
  choices(session: AcpSession): Answer<{
    readonly modes: ReturnType<typeof modeState>
    readonly configOptions: ReturnType<typeof configOptions>
  }> {
    const { mode, model, opened } = session
    const { models } = this.options
    return Effect.map(opened.thread.agents, (agents) => ({
      modes: modeState(mode, opened.modes),
      configOptions: configOptions({ agents, mode, model, models, modes: opened.modes })
    }))
  }

  setMode(session: AcpSession, modeId: string): Answer<void> {
    const mode: RunMode | undefined = session.opened.modes.find((each) => each === modeId)
    if (mode === undefined)
      return Effect.fail(
        invalidParams(`The agent has no such mode. Modes: ${session.opened.modes.join(", ")}.`)
      )
    return Effect.sync(() => session.setMode(mode))
  }

  setOption(session: AcpSession, { configId, value }: SetSessionConfigOptionRequest): Answer<void> {
    const text = String(value)
    if (configId === "mode") return this.setMode(session, text)
    if (configId === "model")
      return Effect.sync(() => {
        session.model = text === DEFAULT_MODEL ? undefined : text
      })
    if (configId !== "agent") return Effect.fail(invalidParams("There is no such option."))
    const { thread } = session.opened
    return Effect.flatMap(thread.agents, (agents): Answer<void> => {
      const option = agents.find(({ id }) => id === text)
      return option === undefined
        ? Effect.fail(invalidParams("There is no such agent."))
        : thread.chooseAgent(option)
    })
  }

  private get all(): OpenSessions {
    // The SDK answers nothing before `initialize`.
    if (this.open === undefined) throw RequestError.invalidRequest(undefined, "Send `initialize` first.")
    return this.open
  }
}

const usageOf = ({ cachedInputTokens, inputTokens, outputTokens, reasoningTokens }: Usage = {}) =>
  inputTokens === undefined && outputTokens === undefined
    ? {}
    : {
        // A draft of the protocol that clients read.
        usage: {
          inputTokens: inputTokens ?? 0,
          outputTokens: outputTokens ?? 0,
          totalTokens: (inputTokens ?? 0) + (outputTokens ?? 0),
          ...(cachedInputTokens === undefined ? {} : { cachedReadTokens: cachedInputTokens }),
          ...(reasoningTokens === undefined ? {} : { thoughtTokens: reasoningTokens })
        }
      }

type Run = <A>(answer: Answer<A>) => Promise<A>

const promptHandler =
  (connection: Connection, acceptsFiles: boolean) =>
  (sessionId: string, prompt: Parameters<typeof promptMessage>[0], signal: AbortSignal) =>
    Effect.gen(function* () {
      const session = yield* connection.session(sessionId)
      const message = yield* promptMessage(prompt, acceptsFiles)
      if (session.isBusy)
        return yield* Effect.fail(invalidParams("A prompt is in progress. Wait for its end, or cancel it."))
      const cancelled = Effect.callback<void>((resume) => {
        const onAbort = () => resume(session.cancel)
        signal.addEventListener("abort", onAbort, { once: true })
        return Effect.sync(() => signal.removeEventListener("abort", onAbort))
      })
      yield* Effect.forkChild(cancelled)
      const stopReason = yield* session.send(message)
      return { stopReason, ...usageOf(session.usage) }
    })

const appOf = (connection: Connection, run: Run, acceptsFiles: boolean, folder: string): AgentApp => {
  const { session } = methods.agent
  const prompt = promptHandler(connection, acceptsFiles)
  const begin = (
    { cwd, mcpServers = [] }: Pick<ResumeSessionRequest, "cwd" | "mcpServers">,
    id: string | undefined,
    beginning: Beginning
  ) =>
    run(
      Effect.flatMap(connection.begin(cwd, id, beginning), (opened) => {
        if (mcpServers.length > 0) opened.sayLater(MCP_NOTE)
        return Effect.map(connection.choices(opened), (choices) => ({ id: opened.opened.id, choices }))
      })
    )
  return agent({ name: "corral" })
    .onRequest(methods.agent.initialize, ({ client, params }) =>
      connection.initialize(client, params.clientCapabilities ?? {})
    )
    .onRequest(methods.agent.authenticate, ({ params }) => run(connection.authenticate(params.methodId)))
    .onRequest(session.new, async ({ params }) => {
      const { choices, id } = await begin(params, undefined, "new")
      return { sessionId: id, ...choices }
    })
    .onRequest(session.load, async ({ params }) => (await begin(params, params.sessionId, "load")).choices)
    .onRequest(
      session.resume,
      async ({ params }) => (await begin(params, params.sessionId, "resume")).choices
    )
    .onRequest(session.list, ({ params: { cursor, cwd } }) =>
      run(connection.list(cwd ?? folder, cursor ?? undefined))
    )
    .onRequest(session.close, ({ params }) => run(connection.close(params.sessionId)))
    .onRequest(session.prompt, ({ params, signal }) => run(prompt(params.sessionId, params.prompt, signal)))
    .onRequest(session.setMode, ({ params }) =>
      run(
        Effect.flatMap(connection.session(params.sessionId), (found) =>
          connection.setMode(found, params.modeId)
        )
      )
    )
    .onRequest(session.setConfigOption, ({ params }) =>
      run(
        Effect.gen(function* () {
          const found = yield* connection.session(params.sessionId)
          yield* connection.setOption(found, params)
          const { configOptions: options } = yield* connection.choices(found)
          return { configOptions: options }
        })
      )
    )
    .onNotification(session.cancel, ({ params }) =>
      run(
        connection.session(params.sessionId).pipe(
          Effect.flatMap((found) => found.cancel),
          Effect.ignore
        )
      )
    )
}

/** Serves one editor until it goes away. Fails when the service no longer accepts the user. */
export const serveAcp = Effect.fn("AcpAgent.serve")(function* (stream: Stream, options: AcpAgentOptions) {
  const { folder, invocation, sessions } = options
  const scope = yield* Effect.scope
  const signedOut = yield* Deferred.make<void, CommandFailed>()
  const onSignedOut = (failure: CommandFailed) => void Deferred.doneUnsafe(signedOut, Effect.fail(failure))
  const connection = new Connection(
    options,
    (client) => new OpenSessions({ sessions, client, invocation, scope, onSignedOut, onChoice })
  )
  const promise = yield* FiberSet.makeRuntimePromise()
  /** An approved plan has changed the mode. */
  const onChoice = (session: AcpSession): void => {
    const show = Effect.map(connection.choices(session), (choices) =>
      session.showOptions(choices.configOptions)
    )
    void promise(Effect.ignore(show))
  }
  const run: Run = (answer) =>
    promise(
      Effect.mapError(answer, (error) => (error instanceof CommandFailed ? requestErrorOf(error) : error))
    )
  const editor = appOf(connection, run, sessions.acceptsFiles, folder).connect(stream)
  yield* Effect.addFinalizer(() => Effect.sync(() => editor.close()))
  yield* Effect.raceFirst(
    Effect.promise(() => editor.closed),
    Deferred.await(signedOut)
  )
}, Effect.scoped)
