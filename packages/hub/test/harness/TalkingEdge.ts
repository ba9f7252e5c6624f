/**
 * Test Edge whose runs the test begins, answers and ends: it accepts every start and input, and pushes the events that a real Edge logs. Questions,
 * turns and work go through the run machine, as on a real Edge.
 */
import {
  ATTACHMENTS_FEATURE,
  type CommandAttachments,
  type CommandOutcome,
  type CommandPayload,
  edgeCommands,
  type EdgeCommand,
  type CommandName,
  INPUTS_FEATURE
} from "@corral/domain/link/EdgeCommand"
import type { AgentId, ApprovalId, InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest, RequestedInput } from "@corral/domain/input/InputRequest"
import { CountedLimit } from "@corral/domain/run/Budget"
import type { CreateRun, RunFailure } from "@corral/domain/run/Run"
import { draft, type EventDraft, type PayloadOf } from "@corral/domain/run/RunEvent"
import { inputResolution } from "@corral/domain/run/Resolution"
import { type RunMachineInput, transition, type TransitionAction } from "@corral/domain/run/RunMachine"
import { fold, initial, type RunState } from "@corral/domain/run/RunState"
import { mint } from "@corral/service/Identifiers"
import { linesOf } from "@corral/testing/hub/Mirror"
import { until } from "@corral/testing/time/Until"
import { Result } from "effect"
import { type Dialling, LinkedEdge, offer, taken } from "./LinkedEdge.ts"

export interface StartedTurn {
  readonly runId: RunId
  readonly create: CreateRun
  readonly attachments?: CommandAttachments
}

/** `offer` with agents that accept input, of an Edge that accepts attachments. With `null` the Edge is of an earlier version. */
const talkingOffer = (
  resume: boolean,
  counts: ReadonlyArray<CountedLimit> | null = CountedLimit.literals
) => ({
  ...offer,
  commands: [...Object.keys(edgeCommands), ATTACHMENTS_FEATURE, INPUTS_FEATURE],
  workspaces: offer.workspaces.map((workspace) => ({
    ...workspace,
    modes: ["read_only", "ask", "auto_edit"] as const
  })),
  agents: offer.agents.map((agent) => ({
    ...agent,
    ...(counts === null ? {} : { counts }),
    capabilities: { ...agent.capabilities, input: true, resume }
  }))
})

const isCommand = <N extends CommandName>(
  name: N,
  command: EdgeCommand
): command is Extract<EdgeCommand, { readonly name: N }> => command.name === name

export class TalkingEdge {
  readonly turns: Array<StartedTurn> = []
  /** Further input that was sent, and the part of it that runs have accepted. */
  readonly inputs: Array<CommandPayload<"SendInput">> = []
  readonly acceptedInputs: Array<CommandPayload<"SendInput">> = []
  /** What the program received about its questions. */
  readonly responses: Array<Extract<TransitionAction, { readonly _tag: "Respond" }>> = []
  refusesInput = false
  /** Refuses the next start. */
  refusesStart = false
  /** With this error. */
  startRefusal: RunFailure = { code: "runtime_unavailable", message: "Not signed in." }
  readonly edge: LinkedEdge
  private readonly lengths = new Map<RunId, number>()
  private readonly accepted = new Map<RunId, unknown>()
  private readonly ended = new Set<RunId>()
  private readonly states = new Map<RunId, RunState>()
  private readonly requests = new Map<InputRequestId, InputRequest>()

  private constructor(edge: LinkedEdge) {
    this.edge = edge
  }

  static async link(
    url: string,
    dialling: Dialling,
    resume = true,
    counts?: ReadonlyArray<CountedLimit> | null
  ): Promise<TalkingEdge> {
    const edge = await LinkedEdge.link(url, { ...dialling, answers: () => undefined })
    const talking = new TalkingEdge(edge)
    edge.answers = (command) => talking.answer(command)
    await edge.heartbeat(talkingOffer(resume, counts))
    return talking
  }

  /** Offers the commands of an Edge that does not accept attachments. */
  forgetFeatures(): Promise<void> {
    return this.offerCommands(Object.keys(edgeCommands))
  }

  /** Offers what the agents count; `null` for an Edge of an earlier version, which does not say it. */
  async offerCounts(counts: ReadonlyArray<CountedLimit> | null): Promise<void> {
    await this.edge.heartbeat(talkingOffer(true, counts))
  }

  /** Offers one agent, of this id. */
  async offerAgent(id: string): Promise<void> {
    const { agents, ...rest } = talkingOffer(true)
    // An id of agents.
    await this.edge.heartbeat({
      ...rest,
      agents: agents.slice(0, 1).map((agent) => ({ ...agent, id: id as AgentId }))
    })
  }

  async offerCommands(commands: ReadonlyArray<string>): Promise<void> {
    await this.edge.heartbeat({ ...talkingOffer(true), commands })
  }

  /** The turn with that number, from 0, once it has been started. */
  turn(index: number): Promise<StartedTurn> {
    return until(() => Promise.resolve(this.turns[index]), `the start of turn ${index}`, 45_000)
  }

  input(index: number): Promise<CommandPayload<"SendInput">> {
    return until(() => Promise.resolve(this.inputs[index]), `the input ${index}`, 45_000)
  }

  /** Pushes events after those that were pushed before. A refused push fails the test: what waits for its events would wait in vain. */
  async push(runId: RunId, ...events: ReadonlyArray<EventDraft>): Promise<void> {
    const length = this.lengths.get(runId) ?? 0
    this.lengths.set(runId, length + events.length)
    this.states.set(runId, events.reduce(fold, this.states.get(runId) ?? initial))
    const answer = await this.edge.push(runId, length + 1, linesOf(runId, length + 1, events))
    if (Result.isFailure(answer) || answer.success.some(({ refused }) => refused !== undefined))
      throw new Error(`a push was refused: ${JSON.stringify(answer)}`)
  }

  /** The Edge has the run, and its runtime has not started. */
  create({ create, runId }: StartedTurn): Promise<void> {
    const { input, mode, workspace } = create
    return this.push(runId, draft("run.created", { workspace, mode, input }))
  }

  /** A runtime in a confined run connects before it opens its conversation, and the connection is denied. */
  refuseConnection({ runId }: StartedTurn): Promise<void> {
    const approvalId = mint<ApprovalId>("apr", Date.now())
    const request = {
      action: "network",
      risk: "medium",
      title: "Connect to github.com:443",
      editable: false,
      scopes: ["once"]
    } as const
    const text = "The connection to github.com:443 was not approved."
    return this.push(
      runId,
      draft("run.approval.requested", { approvalId, request, expiresAt: "2030-01-01T00:00:00.000Z" }),
      draft("run.approval.resolved", { approvalId, state: "denied" }),
      draft("run.message.completed", { messageId: "network:1", role: "system", channel: "text", text })
    )
  }

  async begin(turn: StartedTurn, runtimeSessionId = "conversation"): Promise<void> {
    await this.create(turn)
    await this.push(turn.runId, draft("run.started", { runtimeSessionId }))
  }

  reply({ runId }: StartedTurn, text: string): Promise<void> {
    const message = { messageId: "m1", role: "assistant", channel: "text", text } as const
    return this.push(runId, draft("run.message.completed", message))
  }

  complete({ runId }: StartedTurn, text: string): Promise<void> {
    this.ended.add(runId)
    return this.push(runId, draft("run.completed", { text }))
  }

  fail({ runId }: StartedTurn, more: Partial<RunFailure> = {}): Promise<void> {
    const error = { code: "runtime_unavailable", message: "The conversation is unknown.", ...more }
    this.ended.add(runId)
    return this.push(runId, draft("run.failed", { error }))
  }

  /** A whole turn. */
  async perform(turn: StartedTurn, text: string): Promise<void> {
    await this.begin(turn)
    await this.reply(turn, text)
    await this.complete(turn, text)
  }

  /** What the run machine does: pushes its events, and the end of the run after the last outcome. Returns why it refuses a command. */
  step(runId: RunId, ...inputs: ReadonlyArray<RunMachineInput>) {
    const events: Array<EventDraft> = []
    let refused: string | undefined
    let state = this.states.get(runId) ?? initial
    for (const input of inputs) {
      const [next, actions] = transition(state, input)
      state = next
      const isLast = actions.some(({ _tag }) => _tag === "Leave" || _tag === "Stop")
      const [ended, more] = isLast ? transition(state, { _tag: "Ended" }) : [state, []]
      state = ended
      for (const action of [...actions, ...more]) {
        if (action._tag === "Append") events.push(action.event)
        if (action._tag === "Refuse") refused = action.code
        if (action._tag === "Respond") this.responses.push(action)
      }
      if (isLast) this.ended.add(runId)
    }
    for (const { payload, type } of events) if (type === "run.input.resolved") this.resolve(payload)
    const pushed = events.length === 0 ? Promise.resolve() : this.push(runId, ...events)
    // With what the log does not contain.
    this.states.set(runId, state)
    return { events, refused, pushed }
  }

  private resolve(payload: PayloadOf<"run.input.resolved">): void {
    const request = this.requests.get(payload.inputId)
    const resolution = inputResolution(payload, "2026-11-21T12:00:01.000Z")
    if (request !== undefined) this.requests.set(payload.inputId, { ...request, ...resolution })
  }

  /** Asks a question, or hands over a plan. */
  async ask({ create, runId }: StartedTurn, request: RequestedInput): Promise<InputRequestId> {
    const id = mint<InputRequestId>("inq", Date.now())
    const { agentId, workspace } = create
    const pending = { state: "pending", requestedAt: "2026-11-21T12:00:00.000Z" } as const
    this.requests.set(id, { id, runId, agentId, workspace, ...request, ...pending })
    await this.step(runId, { _tag: "InputRequested", inputId: id, request }).pushed
    return id
  }

  /** Ends the turn. The run continues while work is outstanding. */
  endTurn({ runId }: StartedTurn, text: string): Promise<void> {
    return this.step(runId, { _tag: "OutcomeReported", outcome: { _tag: "Completed", text } }).pushed
  }

  work({ runId }: StartedTurn, id: string, state: "completed" | "running", continues = false): Promise<void> {
    const work = { id, kind: "agent", title: `Work ${id}`, state, continues } as const
    return this.step(runId, { _tag: "WorkChanged", ...work }).pushed
  }

  startTurn({ runId }: StartedTurn, by: "message" | "program" = "program"): Promise<void> {
    return this.step(runId, { _tag: "TurnStarted", by }).pushed
  }

  private answer(command: EdgeCommand): CommandOutcome | undefined {
    if (isCommand("StartRun", command)) {
      const { runId } = command.payload
      if (this.refusesStart) {
        this.refusesStart = false
        return { _tag: "Refused", error: this.startRefusal }
      }
      if (!this.turns.some((turn) => turn.runId === runId)) this.turns.push(command.payload)
      const outcome = taken(command)
      if (outcome?._tag === "Done") this.accepted.set(runId, outcome.value)
      return outcome
    }
    if (isCommand("SendInput", command)) return this.acceptInput(command.payload)
    if (isCommand("AnswerInput", command)) return this.answerInput(command.payload)
    return isCommand("FinishRun", command) ? this.finish(command.payload) : undefined
  }

  /** As a real Edge: the log contains an accepted input under the id of its message, and an ended run takes none. */
  private acceptInput(payload: CommandPayload<"SendInput">): CommandOutcome {
    const { input, messageId, runId } = payload
    this.inputs.push(payload)
    if (this.refusesInput || this.ended.has(runId))
      return { _tag: "Refused", error: { code: "conflict", message: "The run takes no further input." } }
    this.acceptedInputs.push(payload)
    const logged = { messageId: messageId ?? "msg", role: "user", channel: "text", text: input.text } as const
    const event = draft("run.message.completed", logged)
    this.step(runId, { _tag: "EventEmitted", event }, { _tag: "TurnStarted", by: "message" }).pushed.catch(
      this.edge.unlessCut
    )
    return { _tag: "Done", value: this.accepted.get(runId) }
  }

  private answerInput({ answer, by, origin }: CommandPayload<"AnswerInput">): CommandOutcome {
    const { inputId, runId, ...content } = answer
    const mode = this.turns.find((turn) => turn.runId === runId)?.create.mode
    const { comment } = content
    const shown = {
      ...("answers" in content ? { answers: content.answers } : {}),
      ...(comment === undefined ? {} : { comment })
    }
    const endsRun = mode === "plan" || mode === "read_only"
    const { pushed, refused } = this.step(runId, {
      _tag: "InputAnswered",
      inputId,
      answer: content as InputAnswer,
      shown,
      by,
      origin,
      endsRun
    })
    pushed.catch(this.edge.unlessCut)
    const request = this.requests.get(inputId)
    if (request === undefined || refused !== undefined) {
      const { answeredBy, state } = request ?? { state: "withdrawn" }
      const details = { inputId, state, ...(answeredBy === undefined ? {} : { answeredBy }) }
      return {
        _tag: "Refused",
        error: { code: refused ?? "not_found", message: "This question is no longer open.", details }
      }
    }
    return { _tag: "Done", value: this.requests.get(inputId) }
  }

  private finish({ by, runId }: CommandPayload<"FinishRun">): CommandOutcome {
    const { pushed, refused } = this.step(runId, { _tag: "FinishRequested", by })
    pushed.catch(this.edge.unlessCut)
    return refused === undefined
      ? { _tag: "Done", value: this.accepted.get(runId) }
      : {
          _tag: "Refused",
          error: {
            code: "conflict",
            message: "The agent is in a turn.",
            details: { reason: "turn_active" }
          }
        }
  }
}
