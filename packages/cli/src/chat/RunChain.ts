/**
 * Runs of one local session at an Edge that continue each other, one at a time.
 *
 * A runtime that cannot continue begins again. The chat says that, and no failure.
 */
import { encodeUlid, type RunId, type SessionId } from "@corral/domain/identity/Ids"
import type { Agent } from "@corral/domain/run/Agent"
import { cannotContinue, continuationFailures } from "@corral/domain/run/Continuation"
import { hasSameLimits, limitsOfTurn, type RunLimits } from "@corral/domain/run/Budget"
import type { CreateRun, Isolation, Run, RunMode } from "@corral/domain/run/Run"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import { Effect, Queue } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import type { EdgeApiClient } from "../edge/EdgeClient.ts"
import { type RunServer, hasEnded } from "../run/RunServer.ts"
import type { OutgoingMessage, ThreadUpdate } from "./ChatThread.ts"
import { followTurn } from "./FollowTurn.ts"

export interface RunChainOptions {
  /** Connects for each call: a restarted Edge may have another address. */
  readonly connect: Effect.Effect<EdgeApiClient, CommandFailed>
  readonly server: RunServer
  readonly agent: Agent
  readonly workspace: Run["workspace"]
  readonly mode: RunMode
  /** Where runs that resume no other one write; `undefined` for the workspace's default. */
  readonly isolation?: Isolation | undefined
  /** Runs of an earlier conversation, oldest first. */
  readonly runs: ReadonlyArray<Run>
  readonly now: number
  /** Id of a conversation without runs, if something else has named it. */
  readonly sessionId?: SessionId
}

/** `unsuccessful`: the run was stopped or failed. `again`: its message has begun again. */
export type ChainEnd = "again" | "completed" | "unsuccessful"

type Report = (update: ThreadUpdate) => void

/** Whether the runtime says that it cannot continue the conversation, before its run fails. */
const announcesLoss = (event: RunEvent): boolean =>
  event.type === "runtime.unavailable" && continuationFailures.includes(event.payload.reason)

export const newSessionId = (now: number): SessionId =>
  `ses_${encodeUlid(now, crypto.getRandomValues(new Uint8Array(10)))}` as SessionId // shaped by encodeUlid

export class RunChain {
  private readonly options: RunChainOptions
  private readonly report: Report
  private readonly sessionId: SessionId
  private readonly starts = Effect.runSync(Queue.unbounded<RunId>())
  private runtime: Agent
  /** The last run of the conversation. */
  private last: RunId | undefined
  private inProgress: RunId | undefined
  /** Choices of the run in progress, and whether its agent has ended its turn. */
  private current:
    | {
        readonly mode: RunMode
        readonly model: string | undefined
        readonly limits: RunLimits
        isIdle: boolean
      }
    | undefined
  /** Messages by the run that they resumed the conversation with. */
  private readonly started = new Map<RunId, OutgoingMessage>()

  constructor(options: RunChainOptions, report: Report) {
    this.options = options
    this.report = report
    this.runtime = options.agent
    const last = options.runs.at(-1)
    this.sessionId = options.sessionId ?? last?.sessionId ?? newSessionId(options.now)
    this.last = last?.id
    if (last !== undefined && !hasEnded(last.state)) {
      this.inProgress = last.id
      Queue.offerUnsafe(this.starts, last.id)
    }
  }

  get agent(): Agent {
    return this.runtime
  }

  /** The run in progress. */
  get live(): RunId | undefined {
    return this.inProgress
  }

  /** Whether the agent of the run in progress has ended its turn, and works in the background. */
  get isIdle(): boolean {
    return this.inProgress !== undefined && this.current?.isIdle === true
  }

  /** Whether the run in progress can receive the message as its next turn. */
  takesNext({ limits = {}, mode, model }: OutgoingMessage): boolean {
    const { current } = this
    if (!this.isIdle || current === undefined) return false
    return (
      (mode ?? current.mode) === current.mode &&
      (model ?? current.model) === current.model &&
      hasSameLimits(limitsOfTurn(limits, current.limits), current.limits)
    )
  }

  /** Id of the session; `undefined` before the first run. */
  get id(): SessionId | undefined {
    return this.last === undefined ? undefined : this.sessionId
  }

  /** Another agent does not know the conversation. */
  chooseAgent(agent: Agent): void {
    if (agent.id === this.runtime.id) return
    this.runtime = agent
    this.last = undefined
  }

  /** Starts the next run. `isAgain`: the message's first run could not continue the conversation. */
  start(message: OutgoingMessage, isAgain = false): Effect.Effect<RunId, CommandFailed> {
    const resume = isAgain || !this.runtime.capabilities.resume ? undefined : this.last
    const { key, limits = {}, mode, model, textWithoutMemory } = message
    const text = resume === undefined ? (textWithoutMemory ?? message.text) : message.text
    const { isolation } = this.options
    const payload: CreateRun = {
      workspace: this.options.workspace,
      agentId: this.runtime.id,
      input: { text },
      mode: mode ?? this.options.mode,
      sessionId: this.sessionId,
      ...limitsOfTurn(limits, {}),
      ...(model === undefined ? {} : { model }),
      ...(resume !== undefined ? { resume } : isolation === undefined ? {} : { isolation })
    }
    const headers = { "idempotency-key": isAgain ? `${key}-again` : key }
    const isForgetful = resume === undefined && this.last !== undefined
    return Effect.flatMap(this.options.connect, (calls) => calls.runs.create({ headers, payload })).pipe(
      Effect.map(({ id }) => {
        if (isForgetful) this.report({ kind: "notice", text: "This agent does not remember earlier turns." })
        this.last = id
        this.inProgress = id
        this.current = { mode: payload.mode, model, limits, isIdle: false }
        if (resume !== undefined) this.started.set(id, message)
        Queue.offerUnsafe(this.starts, id)
        return id
      }),
      Effect.catchIf(
        ({ code, details }) =>
          resume !== undefined && code !== undefined && cannotContinue({ code, details }),
        () => this.start(message, true)
      )
    )
  }

  /** Follows the next run to its end. */
  followNext(ready?: Effect.Effect<void>): Effect.Effect<ChainEnd> {
    return Effect.gen({ self: this }, function* () {
      const runId = yield* Queue.take(this.starts)
      const { again, isCompleted } = yield* this.followToEnd(runId, ready)
      // Until its message has begun again, later ones wait.
      if (again !== undefined) yield* this.startAgain(again)
      if (this.inProgress === runId) this.inProgress = undefined
      const end: ChainEnd = isCompleted ? "completed" : "unsuccessful"
      return again === undefined ? end : "again"
    })
  }

  /** Whether the run completed, and the message of a run that could not continue the conversation, to begin again. */
  private followToEnd(
    runId: RunId,
    ready: Effect.Effect<void> = Effect.void
  ): Effect.Effect<{ readonly isCompleted: boolean; readonly again: OutgoingMessage | undefined }> {
    let again: OutgoingMessage | undefined
    let isCompleted = false
    /** What a run that cannot continue says before it fails. */
    let held: ReadonlyArray<ThreadUpdate> = []
    const report: Report = (update) => {
      if (update.kind === "event" && update.event.decoded._tag === "KnownEvent") {
        const { event } = update.event.decoded
        this.observe(event)
        isCompleted ||= event.type === "run.completed"
        if (event.type === "run.failed" && cannotContinue(event.payload.error))
          again = this.started.get(runId)
        if (this.started.has(runId) && announcesLoss(event)) {
          held = [...held, update]
          return
        }
      }
      // The message begins again: nothing of the run that could not continue is worth reading.
      if (again !== undefined && update.kind === "event") return
      if (again === undefined) held.forEach(this.report)
      held = []
      this.report(update)
    }
    const onConnection = (state: "lost" | "live") => this.report({ kind: "connection", state })
    const options = { runId, agent: this.runtime.id, report, ready, onConnection }
    return Effect.map(followTurn(this.options.server, options), () => {
      this.started.delete(runId)
      return { again, isCompleted }
    })
  }

  /** Of the run that an earlier chat has started. */
  private get limitsOfLast(): RunLimits {
    const last = this.options.runs.at(-1)
    return last === undefined || last.id !== this.inProgress ? {} : limitsOfTurn({}, last)
  }

  private observe(event: RunEvent): void {
    if (event.type === "run.created")
      this.current = {
        model: undefined,
        limits: this.limitsOfLast,
        ...this.current,
        mode: event.payload.mode,
        isIdle: false
      }
    else if (this.current === undefined) return
    else if (event.type === "run.turn.ended") this.current.isIdle = true
    else if (event.type === "run.turn.started") this.current.isIdle = false
  }

  private startAgain(message: OutgoingMessage): Effect.Effect<void> {
    return this.start(message, true).pipe(
      Effect.match({
        onSuccess: () => undefined,
        onFailure: ({ message: text }) => this.report({ kind: "notice", text })
      })
    )
  }
}
