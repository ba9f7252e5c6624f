/**
 * The run actor: one scoped fiber that owns a run's subprocess, its clock, its cancellation and the Deferred of each open approval.
 *
 * It first waits for what `prepare` gives it to start, and a cancel ends that wait. Everything that happens to the run is a message in its mailbox. A turn takes all that wait, feeds them through the recorder, makes
 * the events durable, and only then acts: what a person or the runtime is told has been written down before. Whatever the reason, the
 * way out is the same: the process is ended, nothing of it is left, then the terminal event, then the scope closes.
 *
 * It is never restarted. When the store fails under it, it ends the process and leaves the log's end to `StoppedRuns`.
 */
import type { RunTimes } from "../config/RunTimes.ts"
import type { Conflict } from "@corral/domain/errors/Failures"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { Run, RunFailure } from "@corral/domain/run/Run"
import type { Input } from "@corral/domain/run/RunMachine"
import type { AdapterEvent, ApprovalAnswer, Protocol } from "@corral/domain/run/RuntimeAdapter"
import { Clock, Data, Deferred, Effect, Fiber, type Scope } from "effect"
import * as ActiveClock from "./ActiveClock.ts"
import { Backlog } from "./Backlog.ts"
import { BudgetMeter, WARN_AT } from "./Budget.ts"
import { type Quarry, sweep } from "../process/Containment.ts"
import type { EventLog } from "../log/EventLog.ts"
import * as Ladder from "../process/Ladder.ts"
import { EDGE_MARK, RUN_MARK, startOf } from "../process/MarkSweep.ts"
import { type OpenApproval, OpenApprovals } from "../approval/OpenApprovals.ts"
import { keepOutputs } from "./KeptOutputs.ts"
import type { Artifacts } from "../artifact/Artifacts.ts"
import { Mailbox } from "./Mailbox.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { RunPolicy } from "../approval/RunPolicy.ts"
import type { RunAction, RunRecorder } from "./RunRecorder.ts"
import { type DecideFailure, type Decider, type Message, RunTurn, type TurnContext } from "./RunTurn.ts"
import * as SilenceClock from "./SilenceClock.ts"
import type { StoreFailed } from "../store/Store.ts"
import { Subprocess, type SubprocessSpec } from "../process/Subprocess.ts"
import { removeTemporary } from "../process/TemporaryFolder.ts"

/** The run ended before the command reached it: what is on disk answers. */
export class RunGone extends Data.TaggedError("RunGone")<{}> {}

export interface RunActorOptions {
  readonly recorder: RunRecorder
  readonly protocol: Protocol
  /** Waits until the run may start. What it holds is given back when the run has ended. */
  readonly prepare: Effect.Effect<SubprocessSpec, RunFailure, Scope.Scope>
  /** Takes the workspace as it is before the runtime is told anything. */
  readonly snapshot: Effect.Effect<void>
  /** What became of the workspace: asked when nothing of the run is alive, before its last event. */
  readonly review: Effect.Effect<ReadonlyArray<Input>>
  readonly policy: RunPolicy
  /** Real path of the folder that the run works in. */
  readonly root: string
  readonly edgeId: string
  readonly redaction: OutputRedaction
  readonly times: RunTimes
  readonly log: EventLog["Service"]
  readonly artifacts: Artifacts["Service"]
  /** Told of each thing an adapter has no name for. */
  readonly onUnknown: (what: string, raw?: string) => void
}

/** A live run, as the supervisor holds it. */
export interface RunActor {
  /** The run as it is on disk. */
  readonly run: () => Run
  readonly decide: (
    approvalId: ApprovalId,
    answer: ApprovalAnswer,
    decider: Decider
  ) => Effect.Effect<void, DecideFailure | RunGone>
  readonly cancel: (reason: string, by: string) => void
  /** Says an event of the Edge's own in the run's log, where the run still lives. */
  readonly announce: (event: AdapterEvent) => void
  readonly input: (text: string) => Effect.Effect<void, Conflict | RunGone>
  /** Succeeds when the run's end is on disk and nothing of the run is left. */
  readonly live: Effect.Effect<void, StoreFailed, Scope.Scope>
  /** The terminal run, once it is on disk; fails where the store failed. */
  readonly ended: Deferred.Deferred<Run, StoreFailed>
}

/** Beyond this much unread output the child's pipe is left to fill: a chatty child waits instead of the Edge growing. */
const UNREAD_LIMIT = 1_048_576
/** Chunks stop at `UNREAD_LIMIT`; what else comes is commands of people. */
const MAILBOX = 65_536

export const make = Effect.fnUntraced(function* (options: RunActorOptions) {
  const { artifacts, edgeId, log, onUnknown, policy, protocol, recorder, times } = options
  const mailbox = new Mailbox<Message>(MAILBOX)
  const ended = yield* Deferred.make<Run, StoreFailed>()
  const exited = yield* Deferred.make<void>()
  const mark = `${RUN_MARK}=${recorder.run.id}`
  const approvals = new OpenApprovals()
  const backlog = new Backlog<Message>()
  let unread = 0
  let resuming = false

  const post = (message: Message): boolean => mailbox.post(message)

  /** Told on its command line what to do: nothing is left to wait with. */
  const asksOnStart = protocol.open === ""
  /** What the runtime is told, until it may be told. */
  let unsent: Array<string> | undefined = [protocol.open]

  const open = (child: Subprocess, { stdin }: SubprocessSpec): void => {
    child.write((unsent ?? []).join(""))
    if (stdin === "once") child.closeInput()
    unsent = undefined
  }

  const spawn = (spec: SubprocessSpec, silence: SilenceClock.SilenceClock): Subprocess => {
    const child = new Subprocess(
      { ...spec, env: { ...spec.env, [RUN_MARK]: recorder.run.id, [EDGE_MARK]: edgeId } },
      {
        onChunk: (chunk) => {
          unread += chunk.length
          silence.heard()
          if (unread > UNREAD_LIMIT || holdsBack(child)) child.pause()
          post({ _tag: "Chunk", chunk })
        },
        onGone: () => post({ _tag: "Resumed" }),
        onEnd: (end) => post({ _tag: "Exited", end }),
        onSpawnError: (error) => post({ _tag: "SpawnFailed", error })
      }
    )
    return child
  }

  /** A runtime that asks faster than it is answered waits, as one does that prints too much. */
  const holdsBack = (child: Subprocess): boolean => backlog.isWaiting && !child.gone

  /** The rest of the backlog comes in another turn, once the runs beside this one had theirs. */
  const resumeLater = (): void => {
    if (resuming) return
    resuming = true
    setImmediate(() => {
      resuming = false
      post({ _tag: "Resumed" })
    })
  }

  /** Waits for the decision and tells the runtime; nobody deciding in time is a message like any other. */
  const watch = Effect.fnUntraced(function* (approval: OpenApproval, write: (text: string) => void) {
    const decided = yield* Effect.timeoutOption(Deferred.await(approval.answer), times.approval)
    if (decided._tag === "None") post({ _tag: "Expired", approvalId: approval.id })
    const answer = decided._tag === "Some" ? decided.value : yield* Deferred.await(approval.answer)
    const line = protocol.answer(approval.key, answer)
    if (line !== undefined) write(line)
    approvals.remove(approval.id)
  })

  /** The process and what watches over it, until the scope closes. */
  const start = Effect.fnUntraced(function* (command: SubprocessSpec) {
    const silence = yield* SilenceClock.make(times)
    const { group, temporary } = command
    const all: Quarry = { mark, groups: group === undefined ? undefined : [group] }
    const remove = temporary === undefined ? Effect.void : removeTemporary(temporary)
    // Alive at the end of the scope only where the run was interrupted or the store failed.
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(command, silence)),
      ({ pid }) => (recorder.terminal ? Effect.void : Effect.andThen(sweep({ ...all, leader: pid }), remove))
    )
    // A program takes longer to start than a snapshot takes: the two go side by side, and the prompt waits for both.
    const opening = yield* Effect.forkScoped(
      Effect.andThen(
        asksOnStart ? Effect.void : options.snapshot,
        Effect.sync(() => open(child, command))
      )
    )
    const quarry: Quarry = { ...all, leader: child.pid, since: startOf(child.pid) }
    const ladder: Ladder.LadderOptions = { child, quarry, exited, grace: times.cancel }
    const activeClock = yield* ActiveClock.make(recorder.run.timeoutMs, () =>
      post({ _tag: "TimedOut", kind: "run", afterMs: recorder.run.timeoutMs })
    )
    const missed = silence.watch((silentMs) => post({ _tag: "Quiet", silentMs }))
    yield* Effect.forkScoped(Effect.map(missed, (limit) => post({ _tag: "TimedOut", ...limit })))
    const { wallMs } = recorder.run.budget ?? {}
    for (const used of wallMs === undefined ? [] : [wallMs * WARN_AT, wallMs]) {
      yield* later(used, { _tag: "Spent", limit: "wallMs", used })
    }
    return { child, clear: Effect.tap(sweep(quarry), () => remove), ladder, silence, activeClock, opening }
  })

  const later = (millis: number, message: Message) =>
    Effect.forkScoped(
      Effect.andThen(
        Effect.sleep(millis),
        Effect.sync(() => post(message))
      )
    )

  const live = Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const preparing = yield* Effect.forkScoped(
      Effect.match(asksOnStart ? Effect.tap(options.prepare, () => options.snapshot) : options.prepare, {
        onSuccess: (command) => post({ _tag: "Ready", command }),
        onFailure: (error) => post({ _tag: "Unready", error })
      })
    )
    yield* later(times.cap, { _tag: "TimedOut", kind: "cap", afterMs: times.cap })

    let process: Effect.Success<ReturnType<typeof start>> | undefined
    let stopping = false
    let leaving = false
    const perform = (action: RunAction): Effect.Effect<unknown, never, Scope.Scope> => {
      switch (action._tag) {
        case "Answer":
          return approvals.answer(action.approvalId, action.answer)
        case "Leave": {
          if (process === undefined) return Effect.void
          const { child, ladder } = process
          if (stopping || leaving) return Effect.sync(() => child.closeInput())
          leaving = true
          return Effect.forkScoped(Ladder.leave(ladder, times.leave))
        }
        case "Stop": {
          if (stopping) return Effect.void
          stopping = true
          return process === undefined
            ? Effect.andThen(
                Fiber.interrupt(preparing),
                Effect.sync(() => post({ _tag: "Swept", review: [] }))
              )
            : Effect.forkScoped(
                Effect.andThen(
                  Fiber.interrupt(process.opening),
                  Ladder.stop(process.ladder, protocol.cancel())
                )
              )
        }
        case "Refuse":
          return Effect.void
      }
    }

    const context: TurnContext = {
      recorder,
      protocol,
      approvals,
      backlog,
      isGone: () => process?.child.gone === true,
      budget: new BudgetMeter(recorder.run.budget),
      write: (text) => (unsent === undefined ? process?.child.write(text) : void unsent.push(text)),
      policy,
      root: options.root,
      redaction: options.redaction,
      reported: { diff: undefined },
      approvalMs: times.approval,
      onUnknown
    }
    const round = Effect.fnUntraced(function* (messages: ReadonlyArray<Message>) {
      const turn = new RunTurn(context, clock.currentTimeMillisUnsafe())
      for (const message of messages) turn.handle(message)
      turn.resume()
      unread -= turn.bytes
      if (process !== undefined) {
        if (holdsBack(process.child)) process.child.pause()
        else if (unread < UNREAD_LIMIT / 2) process.child.resume()
      }

      // Beside the commit that says so: a program takes longer to start. Cancelled in the same turn, it is not started only to be ended.
      if (turn.command !== undefined && recorder.state.verdict === undefined) {
        process = yield* start(turn.command)
      }
      yield* keepOutputs(artifacts, recorder)
      const batch = recorder.take()
      if (batch !== undefined) {
        yield* log.append(batch.events, batch.projections)
        recorder.committed(batch.run)
      }
      for (const approval of approvals.takeUnwatched())
        yield* Effect.forkScoped(watch(approval, context.write))
      for (const action of turn.actions) yield* perform(action)
      for (const reply of turn.replies) yield* reply
      if (turn.isUnfinished) resumeLater()
      if (process === undefined) return
      const asked = recorder.state.pending.length > 0
      process.silence.stand(asked)
      process.silence.work(recorder.state.openCalls.size > 0)
      yield* process.activeClock(!asked)
      if (turn.gone) {
        yield* Fiber.interrupt(process.opening)
        yield* Deferred.succeed(exited, undefined)
        // Side by side, for a person waits for both. What was still alive may have changed something meanwhile.
        const [found, early] = yield* Effect.all([process.clear, options.review], { concurrency: 2 })
        post({ _tag: "Swept", review: found === 0 ? early : yield* options.review })
      }
    })
    // A round of its own lets go of its messages: a quiet run that held its last chunk would hold the whole buffer it was read into.
    while (!recorder.terminal) yield* Effect.flatMap(mailbox.take, round)
  })

  const send = <E>(
    message: (reply: Deferred.Deferred<void, E>) => Message
  ): Effect.Effect<void, E | RunGone> =>
    Effect.gen(function* () {
      const reply = yield* Deferred.make<void, E>()
      if (!post(message(reply))) return yield* new RunGone()
      const gone = Effect.exit(Deferred.await(ended)).pipe(Effect.andThen(Effect.fail(new RunGone())))
      yield* Effect.raceFirst(Deferred.await(reply), gone)
    })

  const actor: RunActor = {
    run: () => recorder.run,
    decide: (approvalId, answer, decider) =>
      send<DecideFailure>((reply) => ({ _tag: "Decide", approvalId, answer, ...decider, reply })),
    cancel: (reason, by) => void post({ _tag: "Cancel", reason, by }),
    announce: (event) => void post({ _tag: "Announced", event }),
    input: (text) => send<Conflict>((reply) => ({ _tag: "Input", text, reply })),
    live: live.pipe(
      Effect.tapError((error) => Deferred.fail(ended, error)),
      Effect.andThen(Effect.suspend(() => Deferred.succeed(ended, recorder.run))),
      Effect.asVoid
    ),
    ended
  }
  return actor
})
