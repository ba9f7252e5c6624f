/**
 * Services in memory behind `HostBackend`: sessions, runs with their events, decisions and rights. A second implementation of the interface, for tests of the host.
 */
import type { DecideApproval } from "@corral/domain/approval/Approval"
import type { ChangedFile, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import {
  type Failure,
  ApprovalAlreadyResolved,
  Conflict,
  InputAlreadyResolved,
  NotFound,
  PermissionDenied
} from "@corral/domain/errors/Failures"
import {
  type AgentId,
  encodeUlid,
  eventIdOf,
  type RunId,
  type SessionId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import type { InputAnswer } from "@corral/domain/input/InputRequest"
import { EventSequence, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import {
  decodeReceivedEvent,
  type EventDraft,
  type EventType,
  type PayloadOf
} from "@corral/domain/run/RunEvent"
import { Deferred, Effect, Queue, Stream } from "effect"
import type {
  HostBackend,
  HostCaller,
  HostHint,
  HostMessage,
  HostRights,
  HostRun,
  HostSession,
  WaitingMessage
} from "../src/host/HostBackend.ts"

export const workspace = "sample" as WorkspaceId // an id of any text
export const agentId = "claude-code" as AgentId // the same
export const folder = "/home/user/sample"

let ids = 0
const id = <Id extends string>(prefix: string): Id =>
  `${prefix}_${encodeUlid(1_790_000_000_000 + ++ids, new Uint8Array(10))}` as Id // shaped by encodeUlid

const at = (seq: number): string => new Date(1_790_000_000_000 + seq * 1_000).toISOString()

interface MemoryRun {
  readonly run: HostRun
  readonly sessionId: SessionId
  readonly events: Array<unknown>
  readonly readers: Set<() => void>
  state: HostRun["state"]
}

const lastTypeOf = ({ events }: MemoryRun): unknown => Object(events.at(-1)).type

/** One caller of the services. Rights can be taken away. */
export interface MemoryCaller {
  readonly caller: HostCaller
  rights: HostRights
  mayRead: boolean
  /** Ends the right to the connection. */
  readonly end: (reason: string) => void
}

export const person = (name = "ann"): HostCaller => ({
  id: `sin_${name}`,
  userId: `usr_${name}`,
  name,
  kind: "user"
})

export class MemoryServices {
  readonly sessions = new Map<SessionId, Omit<HostSession, "rights">>()
  readonly runs = new Map<RunId, MemoryRun>()
  readonly sent: Array<HostMessage> = []
  readonly decided: Array<DecideApproval & { readonly key: string; readonly by: string }> = []
  readonly answered: Array<{ readonly inputId: string; readonly answer: InputAnswer; readonly key: string }> =
    []
  readonly cancelled: Array<RunId> = []
  readonly files = new Map<string, string>()
  /** Messages of all chats that wait. */
  waiting: ReadonlyArray<WaitingMessage> = []
  /** Failure of the next message. */
  refusal: Failure | undefined
  /** Failure of every stop. */
  stopRefusal: Failure | undefined
  /** Asked by each stop. The event of the stop waits for its answer; the answer to the stop does not. */
  stopping: (() => Promise<unknown>) | undefined
  /** Whether a run between turns reads a message. */
  isReading = true
  /** What the answer to a message waits for, after the message has had its effect. */
  answering: Promise<unknown> = Promise.resolve()
  changes: { readonly set: ChangeSet; readonly files: ReadonlyArray<ChangedFile> } | undefined
  private readonly hints = new Set<(hint: HostHint) => void>()
  private readonly keys = new Map<
    string,
    { readonly sessionId: SessionId; readonly chatId: string; readonly runId: RunId }
  >()

  hint(hint: HostHint): void {
    for (const receive of this.hints) receive(hint)
  }

  newSession(sessionId: SessionId = id("ses")): SessionId {
    const time = at(0)
    this.sessions.set(sessionId, {
      id: sessionId,
      title: "Fix the test",
      workspace,
      agentId,
      createdAt: time,
      updatedAt: time,
      archived: false,
      chats: [{ id: `${sessionId}-1`, title: "Claude Code", agentId, activity: "idle", updatedAt: time }],
      defaultChat: `${sessionId}-1`,
      people: new Map([["usr_bob", "Bob"]])
    })
    this.hint({ kind: "session", sessionId })
    return sessionId
  }

  changeSession(sessionId: SessionId, change: Partial<HostSession>): void {
    const session = this.sessions.get(sessionId)
    if (session !== undefined) this.sessions.set(sessionId, { ...session, ...change })
    this.hint({ kind: "session", sessionId })
  }

  removeSession(sessionId: SessionId): void {
    this.sessions.delete(sessionId)
    this.hint({ kind: "session", sessionId })
  }

  newRun(sessionId: SessionId, text: string, key?: string): RunId {
    const runId = id<RunId>("run")
    this.runs.set(runId, {
      sessionId,
      events: [],
      readers: new Set(),
      state: "running",
      run: {
        id: runId,
        agentId,
        state: "running",
        mode: "ask",
        text,
        lastSeq: 0,
        createdAt: at(0),
        updatedAt: at(0),
        ...(key === undefined ? {} : { key })
      }
    })
    this.emit(runId, "run.created", { workspace, mode: "ask", input: { text } })
    this.emit(runId, "run.started", {})
    return runId
  }

  emit<T extends EventType>(runId: RunId, type: T, payload: PayloadOf<T>): void {
    const run = this.runOf(runId)
    const seq = run.events.length + 1
    run.events.push({
      id: eventIdOf(runId, seq),
      seq,
      type,
      runId,
      createdAt: at(seq),
      payload: { v: 1, ...payload }
    })
    if (isTerminalType(type)) run.state = "completed"
    for (const wake of Array.from(run.readers)) wake()
    this.hint({ kind: "session", sessionId: run.sessionId })
  }

  emitAll(runId: RunId, drafts: ReadonlyArray<EventDraft>): void {
    for (const { payload, type } of drafts) this.emit(runId, type, payload as PayloadOf<typeof type>) // of the same draft
  }

  lastRun(): RunId {
    const last = [...this.runs.keys()].at(-1)
    if (last === undefined) throw new Error("there is no run")
    return last
  }

  private runOf(runId: RunId): MemoryRun {
    const run = this.runs.get(runId)
    if (run === undefined) throw new Error(`there is no run ${runId}`)
    return run
  }

  private events(runId: RunId, after: number): Stream.Stream<SequencedEvent, Failure> {
    const run = this.runs.get(runId)
    if (run === undefined) return Stream.fail(new NotFound())
    const sequence = new EventSequence(decodeReceivedEvent, after)
    const next = (position: number): Effect.Effect<readonly [SequencedEvent, number] | undefined> =>
      Effect.suspend(() => {
        const found = run.events[position]
        if (found !== undefined) {
          const event = sequence.nextOf(found)
          if (event === undefined) throw new Error("an event of the log is not valid")
          return Effect.succeed([event, position + 1] as const)
        }
        if (run.state === "completed") return Effect.succeed(undefined)
        return Effect.andThen(
          Effect.callback<void>((resume) => {
            const wake = () => {
              run.readers.delete(wake)
              resume(Effect.void)
            }
            run.readers.add(wake)
            return Effect.sync(() => run.readers.delete(wake))
          }),
          next(position)
        )
      })
    return Stream.unfold(after, next)
  }

  /** What a caller sees. */
  connect(caller: HostCaller = person()): MemoryCaller & { readonly backend: HostBackend } {
    const ended = Effect.runSync(Deferred.make<string>())
    const state: MemoryCaller = {
      caller,
      rights: { maySend: true, mayDecide: caller.kind !== "api_key" },
      mayRead: true,
      end: (reason) => Effect.runSync(Deferred.succeed(ended, reason))
    }
    const readable = <A>(read: () => Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
      Effect.suspend(() => (state.mayRead ? read() : Effect.fail(new NotFound())))
    const sessionOf = (sessionId: SessionId): Effect.Effect<HostSession, Failure> => {
      const session = this.sessions.get(sessionId)
      return session === undefined
        ? Effect.fail(new NotFound())
        : Effect.succeed({ ...session, rights: state.rights })
    }
    const backend: HostBackend = {
      caller,
      ended: Deferred.await(ended),
      agents: Effect.succeed([
        {
          id: agentId,
          label: "Claude Code",
          description: "An agent",
          models: [],
          modes: ["ask", "plan", "auto_edit"]
        }
      ]),
      workspaces: Effect.succeed([{ id: workspace, name: "sample", folder, modes: ["ask"] }]),
      sessions: ({ limit }) =>
        readable(() =>
          Effect.map(
            Effect.forEach([...this.sessions.keys()].toReversed().slice(0, limit), sessionOf),
            (items) => ({
              items,
              nextCursor: null
            })
          )
        ),
      session: (sessionId) => readable(() => sessionOf(sessionId)),
      runs: ({ cursor, limit, sessionId }) =>
        readable(() => {
          const all = [...this.runs.values()].filter((run) => run.sessionId === sessionId).toReversed()
          const from = cursor === undefined ? 0 : Number(cursor)
          const items = all
            .slice(from, from + limit)
            .map(({ events, run, state }) => ({ ...run, state, lastSeq: events.length }))
          return Effect.succeed({
            items,
            nextCursor: from + limit < all.length ? String(from + limit) : null
          })
        }),
      events: (runId, after) => Stream.unwrap(readable(() => Effect.succeed(this.events(runId, after)))),
      hints: Stream.callback<HostHint>((queue) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const receive = (hint: HostHint) => void Queue.offerUnsafe(queue, hint)
            this.hints.add(receive)
            return receive
          }),
          (receive) => Effect.sync(() => this.hints.delete(receive))
        )
      ),
      send: (message) =>
        readable(() =>
          state.rights.maySend
            ? Effect.tap(this.send(message), () => Effect.promise(() => this.answering))
            : Effect.fail(new PermissionDenied())
        ),
      waiting: () => readable(() => Effect.succeed([...this.waiting])),
      withdraw: (_, key) =>
        readable(() => {
          const before = this.waiting.length
          this.waiting = this.waiting.filter((each) => each.key !== key)
          return this.waiting.length < before
            ? Effect.void
            : Effect.fail(new Conflict({ message: "The message does not wait." }))
        }),
      cancel: (runId) =>
        readable(() => {
          if (this.stopRefusal !== undefined) return Effect.fail(this.stopRefusal)
          return Effect.sync(() => {
            this.cancelled.push(runId)
            const end = () => this.emit(runId, "run.cancelled", { by: "usr_bob" })
            if (this.stopping === undefined) end()
            else void this.stopping().then(end)
          })
        }),
      decide: (decision, key) =>
        readable(() =>
          state.rights.mayDecide ? this.decide(decision, key, caller) : Effect.fail(new PermissionDenied())
        ),
      answer: ({ inputId, runId }, answer, key) =>
        readable(() =>
          state.rights.mayDecide
            ? this.answer(runId, inputId, answer, key)
            : Effect.fail(new PermissionDenied())
        ),
      archive: (sessionId) =>
        readable(() => Effect.sync(() => this.changeSession(sessionId, { archived: true }))),
      changes: () =>
        readable(() =>
          this.changes === undefined
            ? Effect.fail(new NotFound())
            : Effect.succeed({ ...this.changes, more: false })
        ),
      changedFile: () => Effect.fail(new NotFound()),
      decideChanges: () => Effect.fail(new PermissionDenied()),
      readFile: (_, path) =>
        readable(() => {
          const content = this.files.get(path)
          return content === undefined
            ? Effect.fail(new NotFound())
            : Effect.succeed({
                path,
                mediaType: "text/plain",
                size: content.length,
                encoding: "utf8",
                content
              })
        }),
      listFolder: () =>
        Effect.succeed({
          items: [...this.files.keys()].map((path) => ({ path, name: path, kind: "file" as const }))
        })
    }
    return Object.assign(state, { backend })
  }

  private send(message: HostMessage) {
    const { refusal } = this
    this.refusal = undefined
    if (refusal !== undefined) return Effect.fail(refusal)
    const before = this.keys.get(message.key)
    if (before !== undefined) return Effect.succeed(before)
    this.sent.push(message)
    const { sessionId } = message
    if (!this.sessions.has(sessionId)) this.newSession(sessionId)
    const chatId = `${sessionId}-1`
    const last = [...this.runs.values()].findLast((run) => run.sessionId === sessionId)
    const isIdle = last?.state === "running" && lastTypeOf(last) === "run.turn.ended"
    if (message.when === "now" && last?.state !== "running")
      return Effect.fail(new Conflict({ message: "The run has ended." }))
    if (last !== undefined && (message.when === "now" || isIdle)) {
      const { id: runId } = last.run
      this.emit(runId, "run.message.completed", {
        messageId: message.key,
        role: "user",
        channel: "text",
        text: message.text
      })
      if (isIdle && this.isReading) this.emit(runId, "run.turn.started", { turn: 2, by: "message" })
      return Effect.succeed({ sessionId, chatId, runId })
    }
    const sent = { sessionId, chatId, runId: this.newRun(sessionId, message.text, message.key) }
    this.keys.set(message.key, sent)
    return Effect.succeed(sent)
  }

  private isOpen(runId: RunId, type: EventType, field: string, wanted: string): boolean {
    const events = this.runOf(runId).events as ReadonlyArray<{
      readonly type: string
      readonly payload: Readonly<Record<string, unknown>>
    }>
    const has = (name: string) =>
      events.some((event) => event.type === name && event.payload[field] === wanted)
    return has(type) && !has(type.replace("requested", "resolved"))
  }

  private decide(decision: DecideApproval, key: string, { name }: HostCaller): Effect.Effect<void, Failure> {
    const { approvalId, decision: kind, runId, scope = "once" } = decision
    if (this.decided.some((each) => each.key === key)) return Effect.void
    if (!this.isOpen(runId, "run.approval.requested", "approvalId", approvalId))
      return Effect.fail(new ApprovalAlreadyResolved({ details: { approvalId, state: "approved" } }))
    this.decided.push({ ...decision, key, by: name })
    this.emit(runId, "run.approval.resolved", {
      approvalId,
      state: kind === "allow" ? "approved" : "denied",
      decision: kind,
      scope,
      origin: "editor",
      by: name
    })
    return Effect.void
  }

  private answer(
    runId: RunId,
    inputId: string,
    answer: InputAnswer,
    key: string
  ): Effect.Effect<void, Failure> {
    const inputs = { inputId, state: "answered" as const }
    if (this.answered.some((each) => each.key === key)) return Effect.void
    if (!this.isOpen(runId, "run.input.requested", "inputId", inputId))
      return Effect.fail(new InputAlreadyResolved({ details: inputs as never })) // ids of the test
    if ("answers" in answer && Object.keys(answer.answers).length === 0)
      return Effect.fail(new Conflict({ message: "Answer the question." }))
    this.answered.push({ inputId, answer, key })
    this.emit(runId, "run.input.resolved", {
      inputId: inputId as PayloadOf<"run.input.resolved">["inputId"], // an id of an event
      state: "answered",
      ...("answers" in answer ? { answers: answer.answers } : {}),
      ...("approve" in answer ? { approved: answer.approve } : {}),
      origin: "editor",
      by: "usr_bob"
    })
    return Effect.void
  }
}
