/**
 * Messages of editors to agents of an Edge: each starts a run that continues the conversation, or is input of the run in progress.
 *
 * Guarantees: a key is carried out once. Messages that wait for the end of a run are stored, and start in order, one at a time, also after a
 * restart of the Edge. After a run that did not complete they wait for one that does: they were written for another outcome.
 */
import type { HostMessage, SentMessage, WaitingMessage } from "@corral/agent-host/host/HostBackend"
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import { retryAfterSeconds } from "@corral/domain/errors/ErrorCodes"
import { Conflict, type Failure, type NotFound, Overloaded } from "@corral/domain/errors/Failures"
import type { AgentId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { currentAgentId } from "@corral/domain/offer/Offer"
import { type InputRequest, planMessage } from "@corral/domain/input/InputRequest"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import { cannotContinue } from "@corral/domain/run/Continuation"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { Data, Effect, FiberSet, Schedule } from "effect"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { EdgeIdempotency, type IdempotentResult, type ResultRows } from "../log/EdgeIdempotency.ts"
import { findRun } from "../log/Runs.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { storeUnavailable } from "../run/start/RunCreation.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { Store, type Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"
import { findConversation, MESSAGE_SCOPE, runsOfChat, sessionOfRun } from "./AgentHostSessions.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"

/** Messages of one conversation that wait. */
const MAX_WAITING = 16
/** A look at the run that is waited for. */
const LOOK_MS = 3_600_000
/** Pauses between attempts to deliver a message that the Edge cannot take at the moment. */
const pauses = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("1 minute")])

// Messages that wait, in the store, in the order of their arrival. One that is stored again under its key has the new text in the same place. The commit of
// the run that has a message removes its row.

/** An agent in a session. */
interface AgentChat {
  readonly sessionId: SessionId
  readonly agentId: AgentId
}

/** Chats with messages that wait. */
const chatsThatWait = (store: Store["Service"]): ReadonlyArray<AgentChat> =>
  store.all("SELECT DISTINCT session_id AS sessionId, agent_id AS agentId FROM waiting_messages")

/** Messages of a chat that wait, in order. */
const waitingMessages = (
  store: Store["Service"],
  { agentId, sessionId }: AgentChat
): ReadonlyArray<HostMessage> =>
  store
    .all<{ readonly message: string }>(
      "SELECT message FROM waiting_messages WHERE session_id = ? AND agent_id = ? ORDER BY position",
      sessionId,
      agentId
    )
    .map(({ message }) => parseStored<HostMessage>(message, "waiting message"))

const insertWaitingMessage = (message: HostMessage): Write => [
  `INSERT INTO waiting_messages (session_id, agent_id, key, message) VALUES (?, ?, ?, ?)
   ON CONFLICT (session_id, agent_id, key) DO UPDATE SET message = excluded.message`,
  message.sessionId,
  message.agentId,
  message.key,
  JSON.stringify(message)
]

const deleteWaitingMessage = ({ agentId, sessionId }: AgentChat, key: string): Write => [
  "DELETE FROM waiting_messages WHERE session_id = ? AND agent_id = ? AND key = ?",
  sessionId,
  agentId,
  key
]

/** A run is in progress that does not take the message, or other messages wait before it. */
class MustWait extends Data.TaggedError("MustWait")<{}> {}

interface MessageServices {
  readonly runs: RunSupervisor["Service"]
  readonly runtimes: Runtimes["Service"]
  readonly idempotency: EdgeIdempotency["Service"]
  readonly store: Store["Service"]
  /** Forks work that ends with the Edge. */
  readonly fork: (effect: Effect.Effect<void, Failure>) => void
}

export const agentHostMessages = Effect.gen(function* () {
  const fork = yield* FiberSet.makeRuntime()
  const log = yield* EdgeEventLog
  const messages = new AgentHostMessages({
    runs: yield* RunSupervisor,
    runtimes: yield* Runtimes,
    idempotency: yield* EdgeIdempotency,
    store: yield* Store,
    fork: (effect) => void fork(Effect.ignore(effect, { log: true }))
  })
  const unfollow = log.follow(undefined, {
    isObserver: true,
    receive: ({ runId, terminal }) => {
      if (terminal) messages.runEnded(runId)
    }
  })
  yield* Effect.addFinalizer(() => Effect.sync(unfollow))
  messages.deliverStored()
  return messages
})

const keyOfChat = ({ agentId, sessionId }: AgentChat): string => `${sessionId} ${agentId}`

class AgentHostMessages {
  readonly #services: MessageServices
  /** Chats with messages that wait. */
  readonly #waiting = new Set<string>()
  /** Chats whose messages are being delivered. `again`: a run has ended meanwhile. */
  readonly #delivering = new Map<string, { again: boolean }>()
  /** Chats whose first message was refused when it was due. */
  readonly #refused = new Set<string>()

  constructor(services: MessageServices) {
    this.#services = services
  }

  readonly send = (message: HostMessage): Effect.Effect<SentMessage, Failure> => {
    const { agentId: chatId, sessionId } = message
    return this.#deliver(message).pipe(
      Effect.map(({ body: { id: runId } }): SentMessage => ({ sessionId, chatId, runId })),
      Effect.catchTag("MustWait", () => Effect.as(this.#wait(message), { sessionId, chatId }))
    )
  }

  /** Messages of a chat that wait, in order. */
  waiting(chat: AgentChat): ReadonlyArray<WaitingMessage> {
    return waitingMessages(this.#services.store, chat).map(({ key, text }) => ({ key, text }))
  }

  /** Takes back a message that waits. */
  withdraw(chat: AgentChat, key: string): Effect.Effect<void, Conflict | Overloaded> {
    return Effect.suspend((): Effect.Effect<void, Conflict | Overloaded> =>
      this.waiting(chat).some((each) => each.key === key)
        ? this.#commit(deleteWaitingMessage(chat, key))
        : Effect.fail(new Conflict({ message: "The message does not wait." }))
    )
  }

  /** Delivers what waited when the Edge ended. */
  deliverStored(): void {
    for (const chat of chatsThatWait(this.#services.store)) this.#deliverLater(chat)
  }

  /** Delivers what waits for the end of this run. */
  runEnded(id: RunId): void {
    if (this.#waiting.size === 0) return
    const run = findRun(this.#services.store, id)
    if (run === undefined) return
    const chat = { sessionId: sessionOfRun(run), agentId: currentAgentId(run.agentId) }
    if (this.#waiting.has(keyOfChat(chat))) this.#deliverLater(chat)
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

  /** The newest run of the message's chat. */
  #previous({ agentId, sessionId, workspace }: HostMessage): Run | undefined {
    const { store } = this.#services
    const conversation = findConversation(store, new Set([workspace]), sessionId)
    const [last] = conversation === undefined ? [] : runsOfChat(conversation, agentId)
    return last === undefined ? undefined : findRun(store, last.id)
  }

  /** Whether messages that are due, or will be at the end of the run in progress, wait before this one. */
  #isBehindOthers(message: HostMessage, last: Run | undefined): boolean {
    const [first] = waitingMessages(this.#services.store, message)
    if (first === undefined || first.key === message.key) return false
    return mayFollow(last) && !this.#refused.has(keyOfChat(message))
  }

  /** Delivers a message, or fails if it has to wait. */
  #deliver(message: HostMessage): Effect.Effect<IdempotentResult<Run>, Failure | MustWait> {
    const { idempotency, runs } = this.#services
    const write = (keep: ResultRows<Run>): Effect.Effect<Run, Failure | MustWait> => {
      const keepAndDelete: ResultRows<Run> = (run) => [
        ...keep(run),
        deleteWaitingMessage(message, message.key)
      ]
      const last = this.#previous(message)
      const hasEnded = last !== undefined && isTerminal(last.state)
      if (message.when === "now") {
        if (hasEnded) return Effect.fail(new Conflict({ message: "The run has ended." }))
      } else if (this.#isBehindOthers(message, last)) return Effect.fail(new MustWait())
      if (last === undefined || hasEnded) return this.#start(message, last, keepAndDelete)
      return takesNext(last, message)
        ? runs.input(last.id, message.text, undefined, undefined, keepAndDelete)
        : Effect.fail(new MustWait())
    }
    return idempotency.once({ scope: MESSAGE_SCOPE, key: message.key, request: message }, write)
  }

  /** Delivers what waits in a chat, in order, until a run is in progress. The end of that run continues. */
  readonly #deliverWaiting = (chat: AgentChat): Effect.Effect<void, Failure> =>
    Effect.gen({ self: this }, function* () {
      for (;;) {
        const [next] = waitingMessages(this.#services.store, chat)
        if (next === undefined) return void this.#waiting.delete(keyOfChat(chat))
        // A message whose conversation is forgotten starts nothing by itself.
        if (this.#previous(next)?.state !== "completed") return
        const { replayed } = yield* this.#deliver(next)
        if (replayed) yield* this.#commit(deleteWaitingMessage(chat, next.key))
      }
    }).pipe(
      Effect.catchTag("MustWait", () => Effect.void),
      Effect.retry({ while: ({ code }) => retryAfterSeconds[code] !== undefined, schedule: pauses })
    )

  #deliverLater(chat: AgentChat): void {
    const key = keyOfChat(chat)
    this.#waiting.add(key)
    const current = this.#delivering.get(key)
    if (current !== undefined) {
      current.again = true
      return
    }
    const pass = { again: false }
    this.#delivering.set(key, pass)
    this.#refused.delete(key)
    this.#services.fork(
      this.#deliverWaiting(chat).pipe(
        Effect.tapError(() => Effect.sync(() => this.#refused.add(key))),
        Effect.ensuring(Effect.sync(() => this.#delivering.delete(key))),
        Effect.tap(() => Effect.sync(() => pass.again && this.#deliverLater(chat)))
      )
    )
  }

  #commit(...writes: ReadonlyArray<Write>): Effect.Effect<void, Overloaded> {
    return Effect.mapError(this.#services.store.commit(writes), storeUnavailable)
  }

  #wait(message: HostMessage): Effect.Effect<void, Overloaded> {
    return Effect.suspend(() => {
      const before = this.waiting(message)
      if (before.length >= MAX_WAITING && before.every(({ key }) => key !== message.key))
        return Effect.fail(new Overloaded({ message: "Too many messages wait for the end of the run." }))
      return Effect.tap(this.#commit(insertWaitingMessage(message)), () =>
        Effect.sync(() => this.#deliverLater(message))
      )
    })
  }
}

/** Whether messages may be delivered after the run by themselves. */
const mayFollow = (run: Run | undefined): boolean => run?.state !== "failed" && run?.state !== "cancelled"

/** Whether the run in progress can have the message as input, or as its next turn. */
const takesNext = (live: Run, { mode, model = live.model, when }: HostMessage): boolean =>
  when === "now" || (live.turn === "idle" && live.mode === mode && live.model === model)

const cannotContinueRun =
  ({ resume }: CreateRun) =>
  (failure: Failure): boolean =>
    resume !== undefined && cannotContinue({ code: failure.code, details: { ...failure.details } })
