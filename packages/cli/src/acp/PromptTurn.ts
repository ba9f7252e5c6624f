/**
 * One prompt of an editor, from its message to the end of its turn.
 *
 * Guarantees: it ends once: when the turn of its message ends, as the events of the run say, or with a failure. An event that came before the
 * service had said which run has the message counts.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { cannotContinue } from "@corral/domain/run/Continuation"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import { Deferred, Effect } from "effect"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import type { ThreadMessage } from "../chat/ChatThread.ts"

export type TurnEnd = "end_turn" | "cancelled"

/** Events that can end a prompt or begin its turn. */
type TurnEvent = Extract<
  RunEvent,
  { readonly type: "run.turn.started" | "run.turn.ended" | "run.completed" | "run.failed" | "run.cancelled" }
>

const isTurnEvent = (event: RunEvent): event is TurnEvent =>
  event.type === "run.turn.started" ||
  event.type === "run.turn.ended" ||
  event.type === "run.completed" ||
  event.type === "run.failed" ||
  event.type === "run.cancelled"

/** Events that are kept until the run of the message is known. */
const MAX_EARLY = 1_000

export class PromptTurn {
  readonly text: string
  /** Id of the message, once the service has accepted it. */
  messageId: string | undefined
  /** The run that has the message. */
  runId: RunId | undefined
  isCancelled = false
  private readonly done = Deferred.makeUnsafe<TurnEnd, CommandFailed>()
  private readonly knownRuns: ReadonlySet<RunId>
  private readonly early: Array<readonly [RunId, TurnEvent]> = []
  /** Number of the turn that the message began in a run that was in progress. */
  private turn: number | undefined

  /** `knownRuns`: runs that were in progress when the prompt came. */
  constructor(text: string, knownRuns: ReadonlySet<RunId>) {
    this.text = text
    this.knownRuns = knownRuns
  }

  get end(): Effect.Effect<TurnEnd, CommandFailed> {
    return Deferred.await(this.done)
  }

  /** The message as the service has it now. */
  update({ id, isHeld, problem, runId, state }: ThreadMessage): void {
    this.messageId = id
    if (state === "failed") this.fail(refused(problem ?? "The message was not delivered."))
    else if (state === "withdrawn") this.finish("cancelled")
    else if (isHeld)
      this.fail(refused("The run before was stopped or failed, so the message was not sent. Send it again."))
    else if (runId !== undefined) this.bind(runId)
  }

  /** The run has the message. */
  bind(runId: RunId): void {
    if (this.runId === runId) return
    this.runId = runId
    for (const [id, event] of this.early.splice(0)) if (id === runId) this.apply(event)
  }

  observe(runId: RunId, event: RunEvent): void {
    if (!isTurnEvent(event)) return
    if (this.runId === runId) this.apply(event)
    else if (this.runId === undefined && this.early.length < MAX_EARLY) this.early.push([runId, event])
  }

  finish(end: TurnEnd): void {
    Deferred.doneUnsafe(this.done, Effect.succeed(end))
  }

  fail(failure: CommandFailed): void {
    Deferred.doneUnsafe(this.done, Effect.fail(failure))
  }

  /** Whether the message is further input of a run that was in progress: its turn is a later one. */
  private get isInput(): boolean {
    return this.runId !== undefined && this.knownRuns.has(this.runId)
  }

  private apply(event: TurnEvent): void {
    switch (event.type) {
      case "run.turn.started":
        if (this.isInput && event.payload.by === "message") this.turn ??= event.payload.turn
        return
      case "run.turn.ended":
        if (!this.isInput || (this.turn !== undefined && event.payload.turn >= this.turn))
          this.finish("end_turn")
        return
      case "run.completed":
        return this.finish("end_turn")
      case "run.cancelled":
        return this.finish("cancelled")
      case "run.failed":
        // The message begins again in a run that does not continue the conversation.
        if (!this.isInput && cannotContinue(event.payload.error)) this.runId = undefined
        else this.fail(runFailure(event.payload.error))
    }
  }
}

const runFailure = ({
  code,
  details,
  message
}: Extract<RunEvent, { readonly type: "run.failed" }>["payload"]["error"]): CommandFailed =>
  new CommandFailed({
    message,
    exitCode: exitCodes.failed,
    code,
    ...(details === undefined ? {} : { details })
  })
