/**
 * The run actor: one scoped fiber that owns a run's subprocess, its clock, its cancellation and the Deferred of each open approval.
 *
 * Everything that happens to the run is a message in its mailbox. A turn takes all that wait, feeds them through the recorder, makes
 * the events durable, and only then acts: what a person or the runtime is told has been written down before. Whatever the reason, the
 * way out is the same: the process is ended, nothing of it is left, then the terminal event, then the scope closes.
 *
 * It is never restarted. When the store fails under it, it ends the process and leaves the log's end to `StoppedRuns`.
 */
import type { Conflict } from "@corral/domain/Failures"
import type { ApprovalId } from "@corral/domain/Ids"
import type { Run, RunMode } from "@corral/domain/Run"
import type { ApprovalAnswer, Protocol } from "@corral/domain/RuntimeAdapter"
import { Clock, Data, Deferred, Effect, type Scope } from "effect"
import * as ActiveClock from "./ActiveClock.ts"
import { EDGE_MARK, type Quarry, RUN_MARK, startOf, sweep } from "../process/Containment.ts"
import type { EventLog } from "../EventLog.ts"
import * as Ladder from "../process/Ladder.ts"
import { type OpenApproval, OpenApprovals } from "../approval/OpenApprovals.ts"
import { Mailbox } from "./Mailbox.ts"
import { insideOf } from "../workspace/PathContainment.ts"
import type { RunAction, RunRecorder } from "./RunRecorder.ts"
import { type DecideFailure, type Message, RunTurn, type TurnContext } from "./RunTurn.ts"
import * as SilenceClock from "./SilenceClock.ts"
import type { StoreFailed } from "../store/Store.ts"
import { Subprocess, type SubprocessSpec } from "../process/Subprocess.ts"

/** The run ended before the command reached it: what is on disk answers. */
export class RunGone extends Data.TaggedError("RunGone")<{}> {}

/** Milliseconds. `cancel` is the whole grace from a cancel to SIGKILL, however it is spent. */
export interface RunTimes {
  readonly cancel: number
  /** How long a runtime may take to leave after its turn is over. */
  readonly leave: number
  readonly approval: number
  readonly cap: number
  /** How long a runtime may say nothing at all, and nothing more. */
  readonly firstEvent: number
  readonly silence: number
}

export interface RunActorOptions {
  readonly recorder: RunRecorder
  readonly protocol: Protocol
  readonly command: SubprocessSpec
  readonly mode: RunMode
  readonly edgeId: string
  readonly times: RunTimes
  readonly log: EventLog["Service"]
  /** Told of each thing an adapter has no name for. */
  readonly onUnknown: (what: string) => void
}

/** A live run, as the supervisor holds it. */
export interface RunActor {
  /** The run as it is on disk. */
  readonly run: () => Run
  readonly decide: (
    approvalId: ApprovalId,
    answer: ApprovalAnswer,
    by: string
  ) => Effect.Effect<void, DecideFailure | RunGone>
  readonly cancel: (reason: string, by: string) => void
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
  const { edgeId, log, mode, onUnknown, protocol, recorder, times } = options
  const isInside = insideOf(options.command.cwd)
  const mailbox = new Mailbox<Message>(MAILBOX)
  const ended = yield* Deferred.make<Run, StoreFailed>()
  const exited = yield* Deferred.make<void>()
  const mark = `${RUN_MARK}=${recorder.run.id}`
  const approvals = new OpenApprovals()
  const silence = yield* SilenceClock.make(times)
  let unread = 0

  const post = (message: Message): boolean => mailbox.post(message)

  // Let go of once it is used: an environment and a prompt are the bulk of what a quiet run would hold.
  let command: SubprocessSpec | undefined = options.command
  const spawn = (spec: SubprocessSpec): Subprocess => {
    command = undefined
    const child = new Subprocess(
      { ...spec, env: { ...spec.env, [RUN_MARK]: recorder.run.id, [EDGE_MARK]: edgeId } },
      {
        onChunk: (chunk) => {
          unread += chunk.length
          silence.heard()
          if (unread > UNREAD_LIMIT) child.pause()
          post({ _tag: "Chunk", chunk })
        },
        onEnd: (end) => post({ _tag: "Exited", end }),
        onSpawnError: (error) => post({ _tag: "SpawnFailed", error })
      }
    )
    if (child.pid !== undefined) child.write(protocol.open)
    return child
  }

  /** Waits for the decision and tells the runtime; nobody deciding in time is a message like any other. */
  const watch = Effect.fnUntraced(function* (child: Subprocess, approval: OpenApproval) {
    const decided = yield* Effect.timeoutOption(Deferred.await(approval.answer), times.approval)
    if (decided._tag === "None") post({ _tag: "Expired", approvalId: approval.id })
    const answer = decided._tag === "Some" ? decided.value : yield* Deferred.await(approval.answer)
    const line = protocol.answer(approval.key, answer)
    if (line !== undefined) child.write(line)
    approvals.remove(approval.id)
  })

  const live = Effect.gen(function* () {
    const clock = yield* Clock.Clock
    recorder.apply({ _tag: "Spawned" })
    // Alive at the end of the scope only where the run was interrupted or the store failed.
    if (command === undefined) return yield* Effect.die("a run is started once")
    const child = yield* Effect.acquireRelease(Effect.sync(spawn.bind(undefined, command)), ({ pid }) =>
      recorder.terminal ? Effect.void : sweep({ mark, leader: pid })
    )
    const quarry: Quarry = { mark, leader: child.pid, since: startOf(child.pid) }
    const ladder: Ladder.LadderOptions = { child, quarry, exited, grace: times.cancel }
    const activeClock = yield* ActiveClock.make(recorder.run.timeoutMs, () =>
      post({ _tag: "TimedOut", kind: "run", afterMs: recorder.run.timeoutMs })
    )
    yield* Effect.forkScoped(
      Effect.sleep(times.cap).pipe(
        Effect.andThen(Effect.sync(() => post({ _tag: "TimedOut", kind: "cap", afterMs: times.cap })))
      )
    )

    yield* Effect.forkScoped(Effect.map(silence.missed, (missed) => post({ _tag: "TimedOut", ...missed })))

    let stopping = false
    let leaving = false
    const perform = (action: RunAction): Effect.Effect<unknown, never, Scope.Scope> => {
      switch (action._tag) {
        case "Answer":
          return approvals.answer(action.approvalId, action.answer)
        case "Leave": {
          if (stopping || leaving) return Effect.sync(() => child.closeInput())
          leaving = true
          return Effect.forkScoped(Ladder.leave(ladder, times.leave))
        }
        case "Stop": {
          if (stopping) return Effect.void
          stopping = true
          return Effect.forkScoped(Ladder.stop(ladder, protocol.cancel()))
        }
        case "Refuse":
          return Effect.void
      }
    }

    const context: TurnContext = {
      recorder,
      protocol,
      approvals,
      child,
      mode,
      isInside,
      approvalMs: times.approval,
      onUnknown
    }
    while (!recorder.terminal) {
      const messages = yield* mailbox.take
      const turn = new RunTurn(context, clock.currentTimeMillisUnsafe())
      for (const message of messages) turn.handle(message)
      unread -= turn.bytes
      if (unread < UNREAD_LIMIT / 2) child.resume()

      const batch = recorder.take()
      if (batch !== undefined) {
        yield* log.append(batch.events, batch.projections)
        recorder.committed(batch.run)
      }
      for (const approval of approvals.takeUnwatched()) yield* Effect.forkScoped(watch(child, approval))
      for (const action of turn.actions) yield* perform(action)
      for (const reply of turn.replies) yield* reply
      const asked = recorder.state.pending.length > 0
      silence.stand(asked)
      yield* activeClock(!asked)
      if (turn.gone) {
        yield* Deferred.succeed(exited, undefined)
        yield* sweep(quarry)
        post({ _tag: "Swept" })
      }
    }
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
    decide: (approvalId, answer, by) =>
      send<DecideFailure>((reply) => ({ _tag: "Decide", approvalId, answer, by, reply })),
    cancel: (reason, by) => void post({ _tag: "Cancel", reason, by }),
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
