/** Test Edge whose runs the test begins, answers and ends: it accepts every start and input, and pushes the events that a real Edge logs. */
import {
  ATTACHMENTS_FEATURE,
  type CommandAttachments,
  type CommandOutcome,
  type CommandPayload,
  edgeCommands,
  type EdgeCommand,
  type CommandName
} from "@corral/domain/link/EdgeCommand"
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import type { CreateRun, RunFailure } from "@corral/domain/run/Run"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
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

/** `offer` with agents that accept input, of an Edge that accepts attachments. */
const talkingOffer = (resume: boolean) => ({
  ...offer,
  commands: [...Object.keys(edgeCommands), ATTACHMENTS_FEATURE],
  agents: offer.agents.map((agent) => ({
    ...agent,
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
  refusesInput = false
  /** Refuses the next start. */
  refusesStart = false
  readonly edge: LinkedEdge
  private readonly lengths = new Map<RunId, number>()
  private readonly accepted = new Map<RunId, unknown>()
  private readonly ended = new Set<RunId>()

  private constructor(edge: LinkedEdge) {
    this.edge = edge
  }

  static async link(url: string, dialling: Dialling, resume = true): Promise<TalkingEdge> {
    const edge = await LinkedEdge.link(url, { ...dialling, answers: () => undefined })
    const talking = new TalkingEdge(edge)
    edge.answers = (command) => talking.answer(command)
    await edge.heartbeat(talkingOffer(resume))
    return talking
  }

  /** Offers the commands of an Edge that does not accept attachments. */
  async forgetFeatures(): Promise<void> {
    await this.edge.heartbeat({ ...talkingOffer(true), commands: Object.keys(edgeCommands) })
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

  private answer(command: EdgeCommand): CommandOutcome | undefined {
    if (isCommand("StartRun", command)) {
      const { runId } = command.payload
      if (this.refusesStart) {
        this.refusesStart = false
        return { _tag: "Refused", error: { code: "runtime_unavailable", message: "Not signed in." } }
      }
      if (!this.turns.some((turn) => turn.runId === runId)) this.turns.push(command.payload)
      const outcome = taken(command)
      if (outcome?._tag === "Done") this.accepted.set(runId, outcome.value)
      return outcome
    }
    if (!isCommand("SendInput", command)) return undefined
    return this.answerInput(command.payload)
  }

  /** As a real Edge: the log contains an accepted input under the id of its message, and an ended run takes none. */
  private answerInput(payload: CommandPayload<"SendInput">): CommandOutcome {
    const { input, messageId, runId } = payload
    this.inputs.push(payload)
    if (this.refusesInput || this.ended.has(runId))
      return { _tag: "Refused", error: { code: "conflict", message: "The run takes no further input." } }
    this.acceptedInputs.push(payload)
    const logged = { messageId: messageId ?? "msg", role: "user", channel: "text", text: input.text } as const
    this.push(runId, draft("run.message.completed", logged)).catch(this.edge.unlessCut)
    return { _tag: "Done", value: this.accepted.get(runId) }
  }
}
