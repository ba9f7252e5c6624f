/**
 * How a conversation is opened: what an agent is asked before its first prompt, and what it must offer for the run to be held to its mode.
 *
 * It sends nothing; `AcpProtocol` asks one thing after the other and hands the answers in.
 */
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"
import { defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { modelOf, modeOf, type Choice } from "./Choices.ts"

/** A request that is to be sent, or why the run cannot be: a reason of `Ending`. */
export type OpeningStep =
  | {
      readonly _tag: "Ask"
      readonly purpose: "session" | "mode" | "model"
      readonly method: string
      readonly params: JsonObject
    }
  | { readonly _tag: "Refuse"; readonly reason: string }

/** No file system and no terminals: an adapter does no I/O, so an agent uses its own tools. */
export const initialize = {
  protocolVersion: 1,
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  clientInfo: { name: "corral", title: "Corral", version: "1" }
}

const refuse = (reason: string): OpeningStep => ({ _tag: "Refuse", reason })

/** A conversation id that a later run may be resumed with. */
const isSessionId = (value: string | undefined): value is string =>
  value !== undefined && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(value)

/** The id under which an agent offers a mode: that id, or the one that ends with it where it begins with `#`. */
const offeredAs = (choice: Choice | undefined, wanted: string): string | undefined =>
  choice?.offered().find((id) => id === wanted || (wanted.startsWith("#") && id.endsWith(wanted)))

export class Opening {
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

  /** The run continues an earlier conversation. */
  get resumed(): boolean {
    return this.#start.resumeSessionId !== undefined
  }

  /** The mode that the session is in, or is put into. */
  get mode(): string | undefined {
    return this.#mode
  }

  /** What the agent says of itself; gives the request for a session. */
  initialized({ agentCapabilities, agentInfo, protocolVersion }: JsonObject): OpeningStep {
    this.#version = textOf(objectOf(agentInfo)["version"])
    if (protocolVersion !== 1) return refuse("protocol_version")
    const { resumeSessionId: sessionId, workspacePath: cwd } = this.#start
    const session = (method: string, more: JsonObject = {}): OpeningStep => ({
      _tag: "Ask",
      purpose: "session",
      method,
      params: { ...more, cwd, mcpServers: [], ...this.#meta }
    })
    if (sessionId === undefined) return session("session/new")
    this.sessionId = sessionId
    const { loadSession, sessionCapabilities } = objectOf(agentCapabilities)
    // To resume tells no old messages again; to load does.
    if (objectOf(sessionCapabilities)["resume"] !== undefined) return session("session/resume", { sessionId })
    return loadSession === true ? session("session/load", { sessionId }) : refuse("cannot_resume")
  }

  /** What keeps the agent from executing anything of the project. */
  get #meta(): JsonObject {
    const meta = this.#agent.withoutProject?.sessionMeta
    const ignored = this.#start.projectSettings !== "enabled"
    return meta !== undefined && ignored ? { _meta: meta(this.#start) } : {}
  }

  /** The session; gives why the run cannot be in it. */
  opened(session: JsonObject): string | undefined {
    this.sessionId ??= textOf(session["sessionId"])
    if (this.sessionId === undefined) return "protocol_broken"
    return this.#chooseMode(modeOf(session)) ?? this.#chooseModel(modelOf(session))
  }

  /** What is still to be chosen before the first prompt, one at a time. */
  next(): OpeningStep | undefined {
    return this.#choices.shift()
  }

  /** The conversation as it stands when all is chosen. */
  get started(): PayloadOf<"run.started"> {
    return defined({
      runtimeSessionId: isSessionId(this.sessionId) ? this.sessionId : undefined,
      runtimeVersion: this.#version,
      model: this.#model,
      mode: this.#mode
    })
  }

  #chooseMode(choice: Choice | undefined): string | undefined {
    const { modeUnknown = false, modes = {} } = this.#agent
    const { mode: runMode } = this.#start
    const readOnly = runMode === "read_only" || runMode === "plan"
    const wanted = (readOnly ? modes.readOnly : undefined) ?? modes.ask
    this.#mode = choice?.current
    if (wanted === undefined) return undefined
    const mode = offeredAs(choice, wanted)
    // In another mode it might do without asking what the run must be asked for.
    if (choice === undefined || mode === undefined) return "mode_missing"
    if (mode !== choice.current || modeUnknown) this.#choose("mode", choice, mode)
    this.#mode = mode
    return undefined
  }

  #chooseModel(choice: Choice | undefined): string | undefined {
    const { model } = this.#start
    this.#model = model ?? choice?.current
    if (model === undefined || model === choice?.current) return undefined
    if (choice === undefined) return "model_refused"
    this.#choose("model", choice, model)
    return undefined
  }

  #choose(purpose: "mode" | "model", choice: Choice, value: string): void {
    const { method, params } = choice.choose(value)
    this.#choices.push({ _tag: "Ask", purpose, method, params: { sessionId: this.sessionId, ...params } })
  }
}
