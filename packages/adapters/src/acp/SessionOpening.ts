/**
 * Opening of a conversation: the requests before the first prompt, and the modes that an agent has to offer for the run.
 *
 * Does not: send anything. `AcpProtocol` sends one request after the other and passes the responses in.
 */
import { arrayOf, defined, isJsonObject, type JsonObject, objectOf, textOf, textsIn } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { SessionModelState, SessionResponse, UnverifiedFields } from "./AcpSchema.ts"
import type { AcpRequest } from "./JsonRpc.ts"
import type * as Acp from "@agentclientprotocol/sdk"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"

/** Whether the agent only reads in a mode of a run, and its own read-only mode is used. */
export const isReadOnlyMode = (mode: RunMode): boolean => mode === "read_only" || mode === "plan"

// Mode and model that a session offers, in either of the two forms that agents use: a field for each, or `configOptions`.

interface Choice {
  readonly current: string | undefined
  readonly offered: () => ReadonlyArray<string>
  /** The request that chooses a value. */
  readonly choose: (sessionId: string, value: string) => AcpRequest
}

const modeInField = (modes: unknown): Choice | undefined => {
  if (!isJsonObject(modes)) return undefined
  const { availableModes, currentModeId }: UnverifiedFields<Acp.SessionModeState> = modes
  return {
    current: textOf(currentModeId),
    offered: () => textsIn(arrayOf(availableModes), "id"),
    choose: (sessionId, modeId) => ({ method: "session/set_mode", params: { sessionId, modeId } })
  }
}

const modelInField = (models: unknown): Choice | undefined => {
  if (!isJsonObject(models)) return undefined
  const { availableModels, currentModelId }: UnverifiedFields<SessionModelState> = models
  return {
    current: textOf(currentModelId),
    offered: () => textsIn(arrayOf(availableModels), "modelId"),
    choose: (sessionId, modelId) => ({ method: "session/set_model", params: { sessionId, modelId } })
  }
}

/** Values of an option, with those inside groups. */
const valuesOf = (options: unknown): ReadonlyArray<string> =>
  textsIn(
    arrayOf(options).flatMap((entry) => {
      const { options: group }: UnverifiedFields<Acp.SessionConfigSelectGroup> = objectOf(entry)
      return group === undefined ? [entry] : arrayOf(group)
    }),
    "value"
  )

const choiceInOptions = (configOptions: unknown, category: "mode" | "model"): Choice | undefined => {
  const isWanted = (option: unknown): option is JsonObject => {
    const { category: optionCategory, id }: UnverifiedFields<Acp.SessionConfigOption> = objectOf(option)
    return optionCategory === category || id === category
  }
  const option: UnverifiedFields<Acp.SessionConfigOption> = objectOf(arrayOf(configOptions).find(isWanted))
  const configId = textOf(option.id)
  if (configId === undefined) return undefined
  return {
    current: textOf(option.currentValue),
    offered: () => valuesOf(option.options),
    choose: (sessionId, value) => ({
      method: "session/set_config_option",
      params: { sessionId, configId, value }
    })
  }
}

/** Choice of the mode in a session. */
const modeOf = ({ configOptions, modes }: UnverifiedFields<SessionResponse>): Choice | undefined =>
  modeInField(modes) ?? choiceInOptions(configOptions, "mode")

/** Choice of the model in a session. */
const modelOf = ({ configOptions, models }: UnverifiedFields<SessionResponse>): Choice | undefined =>
  modelInField(models) ?? choiceInOptions(configOptions, "model")

/** A request to send, or why the run cannot start: a reason of `acpFailure`. */
export type OpeningStep =
  | {
      readonly _tag: "Send"
      readonly purpose: "session" | "mode" | "model"
      readonly request: AcpRequest
    }
  | { readonly _tag: "Refuse"; readonly reason: string }

const refuse = (reason: string): OpeningStep => ({ _tag: "Refuse", reason })

const openSession = (request: AcpRequest): OpeningStep => ({ _tag: "Send", purpose: "session", request })

/** A conversation id that a later run may be resumed with. */
const isSessionId = (value: string | undefined): value is string =>
  value !== undefined && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(value)

/** The id under which an agent offers a mode: the wanted id, or an id that ends with it if it begins with `#`. */
const findOffered = (choice: Choice | undefined, wanted: string): string | undefined =>
  choice?.offered().find((id) => id === wanted || (wanted.startsWith("#") && id.endsWith(wanted)))

export class SessionOpening {
  readonly #start: RunStart
  readonly #agent: AcpAgent
  #version: string | undefined
  #mode: string | undefined
  #model: string | undefined
  #choices: Array<OpeningStep> = []
  /** The agent's id of the conversation, once there is one. */
  sessionId: string | undefined

  constructor(start: RunStart, agent: AcpAgent) {
    this.#start = start
    this.#agent = agent
  }

  /** Whether the run continues an earlier conversation. */
  get isResumed(): boolean {
    return this.#start.resumeSessionId !== undefined
  }

  /** The mode that the session is in, or will be set to. */
  get mode(): string | undefined {
    return this.#mode
  }

  /** Reads the response to `initialize`. Returns the request that opens a session. */
  readAgent(response: UnverifiedFields<Acp.InitializeResponse>): OpeningStep {
    const { version }: UnverifiedFields<Acp.Implementation> = objectOf(response.agentInfo)
    this.#version = textOf(version)
    if (response.protocolVersion !== 1) return refuse("protocol_version")
    const { resumeSessionId: sessionId, workspacePath: cwd } = this.#start
    const params = { cwd, mcpServers: [], ...this.#meta }
    if (sessionId === undefined) return openSession({ method: "session/new", params })
    this.sessionId = sessionId
    const { loadSession, sessionCapabilities }: UnverifiedFields<Acp.AgentCapabilities> = objectOf(
      response.agentCapabilities
    )
    const { resume }: UnverifiedFields<Acp.SessionCapabilities> = objectOf(sessionCapabilities)
    // `session/load` repeats the old messages, `session/resume` does not.
    if (resume !== undefined)
      return openSession({ method: "session/resume", params: { sessionId, ...params } })
    return loadSession === true
      ? openSession({ method: "session/load", params: { sessionId, ...params } })
      : refuse("cannot_resume")
  }

  /** Setting that keeps the agent from executing anything of the project. */
  get #meta(): Pick<Acp.NewSessionRequest, "_meta"> {
    const meta = this.#agent.withoutProject?.sessionMeta
    const isIgnored = this.#start.projectSettings !== "enabled"
    return meta !== undefined && isIgnored ? { _meta: meta(this.#start) } : {}
  }

  /** Reads the response that opened the session. Returns why the run cannot use it, if so. */
  readSession(session: UnverifiedFields<SessionResponse>): string | undefined {
    this.sessionId ??= textOf(session.sessionId)
    if (this.sessionId === undefined) return "protocol_broken"
    return (
      this.#chooseMode(this.sessionId, modeOf(session)) ?? this.#chooseModel(this.sessionId, modelOf(session))
    )
  }

  /** Takes the next choice to send before the first prompt. */
  takeChoice(): OpeningStep | undefined {
    return this.#choices.shift()
  }

  /** Payload of `run.started`, once all choices are made. */
  get started(): PayloadOf<"run.started"> {
    return defined({
      runtimeSessionId: isSessionId(this.sessionId) ? this.sessionId : undefined,
      runtimeVersion: this.#version,
      model: this.#model,
      mode: this.#mode
    })
  }

  #chooseMode(sessionId: string, choice: Choice | undefined): string | undefined {
    const { modeUnknown = false, modes = {} } = this.#agent
    const wanted = (isReadOnlyMode(this.#start.mode) ? modes.readOnly : undefined) ?? modes.ask
    this.#mode = choice?.current
    if (wanted === undefined) return undefined
    const mode = findOffered(choice, wanted)
    // In another mode the agent might act without a request for permission.
    if (choice === undefined || mode === undefined) return "mode_missing"
    if (mode !== choice.current || modeUnknown) this.#choose("mode", choice.choose(sessionId, mode))
    this.#mode = mode
    return undefined
  }

  #chooseModel(sessionId: string, choice: Choice | undefined): string | undefined {
    const { model } = this.#start
    this.#model = model ?? choice?.current
    if (model === undefined || model === choice?.current) return undefined
    if (choice === undefined) return "model_refused"
    this.#choose("model", choice.choose(sessionId, model))
    return undefined
  }

  #choose(purpose: "mode" | "model", request: AcpRequest): void {
    this.#choices.push({ _tag: "Send", purpose, request })
  }
}
