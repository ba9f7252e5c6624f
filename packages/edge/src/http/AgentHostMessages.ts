/**
 * Messages of editors to agents of an Edge: each starts a run that continues the conversation, or is input of the run in progress.
 *
 * Guarantees: a key is carried out once. Messages that wait for the end of a run start in order, one at a time.
 * Does not: keep waiting messages over a restart of the Edge, which has no queue of messages.
 */
import type { HostMessage, SentMessage } from "@corral/agent-host/host/HostBackend"
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import { Conflict, type Failure, type NotFound, Overloaded } from "@corral/domain/errors/Failures"
import type { SessionId } from "@corral/domain/identity/Ids"
import { type InputRequest, planMessage } from "@corral/domain/input/InputRequest"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import { cannotContinue } from "@corral/domain/run/Continuation"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { Data, Effect, FiberSet } from "effect"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { MESSAGE_SCOPE } from "./AgentHostSessions.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"

/** Messages of one conversation that wait. */
const MAX_WAITING = 16
/** A look at the run that is waited for. */
const LOOK_MS = 3_600_000

/** A run is in progress that does not take the message. */
class RunInProgress extends Data.TaggedError("RunInProgress")<{}> {}

interface OutgoingMessage {
  readonly message: HostMessage
  /** Reads the newest run of the chat. */
  readonly previous: () => Run | undefined
}

interface MessageServices {
  readonly runs: RunSupervisor["Service"]
  readonly runtimes: Runtimes["Service"]
  readonly idempotency: EdgeIdempotency["Service"]
  /** Forks work that ends with the Edge. */
  readonly fork: (effect: Effect.Effect<void, Failure>) => void
}

export const agentHostMessages = Effect.gen(function* () {
  const fork = yield* FiberSet.makeRuntime()
  return new AgentHostMessages({
    runs: yield* RunSupervisor,
    runtimes: yield* Runtimes,
    idempotency: yield* EdgeIdempotency,
    fork: (effect) => void fork(Effect.ignore(effect, { log: true }))
  })
})

class AgentHostMessages {
  readonly #services: MessageServices
  readonly #waiting = new Map<SessionId, ReadonlyArray<OutgoingMessage>>()

  constructor(services: MessageServices) {
    this.#services = services
  }

  readonly send = (outgoing: OutgoingMessage): Effect.Effect<SentMessage, Failure> => {
    const { agentId: chatId, sessionId } = outgoing.message
    return this.#deliver(outgoing).pipe(
      Effect.map(({ id: runId }): SentMessage => ({ sessionId, chatId, runId })),
      Effect.catchTag("RunInProgress", () => Effect.as(this.#wait(outgoing), { sessionId, chatId }))
    )
  }

  /** After an approved plan that ends its run: the next run, in the chosen mode. The key is that of the command line. */
  readonly carryOut = (answered: InputRequest): Effect.Effect<void> =>
    Effect.sync(() => this.#services.fork(this.#carryOut(answered)))

  readonly #carryOut = Effect.fnUntraced({ self: this }, function* (answered: InputRequest) {
    const { idempotency, runs } = this.#services
    if (answered.approved !== true) return
    const planned = yield* runs.get(answered.runId)
    if (!endsWithPlan(planned.mode)) return
    yield* this.#ended(planned)
    const alone: CreateRun = {
      workspace: planned.workspace,
      agentId: planned.agentId,
      mode: answered.mode ?? "ask",
      input: { text: planMessage(answered.comment, answered.plan) },
      ...(planned.model === undefined ? {} : { model: planned.model }),
      ...limitsOfTurn({}, planned),
      ...(planned.sessionId === undefined ? {} : { sessionId: planned.sessionId })
    }
    const payload = { ...alone, input: { text: planMessage(answered.comment) }, resume: planned.id }
    yield* idempotency.once(
      { scope: `${LOCAL_PRINCIPAL} POST /v1/runs`, key: answered.id, request: payload },
      (keep: ResultRows<Run>) => this.#startRun(payload, alone, keep)
    )
  })

  #ended(run: Run): Effect.Effect<Run, NotFound> {
    return Effect.flatMap(this.#services.runs.result(run.id, LOOK_MS), (later) =>
      isTerminal(later.state) ? Effect.succeed(later) : this.#ended(later)
    )
  }

  /** Starts a run. A runtime that cannot continue the conversation begins another one. */
  #startRun(payload: CreateRun, alone: CreateRun, keep: ResultRows<Run>) {
    const { runs } = this.#services
    return runs
      .start(payload, keep)
      .pipe(Effect.catchIf(cannotContinueRun(payload), () => runs.start(alone, keep)))
  }

  /** A run can fail because its runtime does not find the conversation. Its message begins again without it. */
  #beginAgain(started: Run, alone: CreateRun): Effect.Effect<void, Failure> {
    if (started.resume === undefined) return Effect.void
    return Effect.flatMap(this.#ended(started), ({ error }) =>
      error !== undefined && cannotContinue(error)
        ? Effect.asVoid(this.#services.runs.start(alone))
        : Effect.void
    )
  }

  readonly #start = Effect.fnUntraced(
    { self: this },
    function* (
      { agentId, mode, model, sessionId, text, workspace }: HostMessage,
      last: Run | undefined,
      keep: ResultRows<Run>
    ) {
      const { adapter } = yield* this.#services.runtimes.get(agentId)
      const alone: CreateRun = {
        workspace,
        agentId,
        input: { text },
        mode,
        sessionId,
        ...(model === undefined ? {} : { model })
      }
      const resumes = last !== undefined && adapter.capabilities.resume
      const run = yield* this.#startRun(resumes ? { ...alone, resume: last.id } : alone, alone, keep)
      this.#services.fork(this.#beginAgain(run, alone))
      return run
    }
  )

  /** Delivers a message, or fails if it has to wait. */
  #deliver({ message, previous }: OutgoingMessage) {
    const { idempotency, runs } = this.#services
    const write = (keep: ResultRows<Run>): Effect.Effect<Run, Failure | RunInProgress> => {
      const last = previous()
      const hasEnded = last !== undefined && isTerminal(last.state)
      if (hasEnded && message.when === "now")
        return Effect.fail(new Conflict({ message: "The run has ended." }))
      if (last === undefined || hasEnded) return this.#start(message, last, keep)
      return takesNext(last, message)
        ? runs.input(last.id, message.text, undefined, undefined, keep)
        : Effect.fail(new RunInProgress())
    }
    return idempotency
      .once({ scope: MESSAGE_SCOPE, key: message.key, request: message }, write)
      .pipe(Effect.map(({ body }) => body))
  }

  /** Delivers what waits for a run, in order. After a run that did not complete, the messages are dropped: they were written for another outcome. */
  #deliverWaiting(sessionId: SessionId): Effect.Effect<void, Failure> {
    return Effect.gen({ self: this }, function* () {
      for (;;) {
        const [next] = this.#waiting.get(sessionId) ?? []
        if (next === undefined) return
        const last = next.previous()
        if (last !== undefined && !isTerminal(last.state)) {
          const { state } = yield* this.#ended(last)
          if (state !== "completed") return
        }
        // Another client may have started a run meanwhile.
        const isDelivered = yield* this.#deliver(next).pipe(
          Effect.as(true),
          Effect.catchTag("RunInProgress", () => Effect.succeed(false))
        )
        if (isDelivered) this.#waiting.set(sessionId, this.#waiting.get(sessionId)?.slice(1) ?? [])
      }
    }).pipe(Effect.ensuring(Effect.sync(() => this.#waiting.delete(sessionId))))
  }

  #wait(next: OutgoingMessage): Effect.Effect<void, Overloaded> {
    return Effect.suspend(() => {
      const { key, sessionId } = next.message
      const before = this.#waiting.get(sessionId)
      if (before?.some(({ message }) => message.key === key) === true) return Effect.void
      if ((before?.length ?? 0) >= MAX_WAITING)
        return Effect.fail(new Overloaded({ message: "Too many messages wait for the end of the run." }))
      this.#waiting.set(sessionId, [...(before ?? []), next])
      if (before === undefined) this.#services.fork(this.#deliverWaiting(sessionId))
      return Effect.void
    })
  }
}

/** Whether the run in progress can have the message as input, or as its next turn. */
const takesNext = (live: Run, { mode, model = live.model, when }: HostMessage): boolean =>
  when === "now" || (live.turn === "idle" && live.mode === mode && live.model === model)

const cannotContinueRun =
  ({ resume }: CreateRun) =>
  (failure: Failure): boolean =>
    resume !== undefined && cannotContinue({ code: failure.code, details: { ...failure.details } })
