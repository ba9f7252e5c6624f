/** Process of one run, with its decoder, its clocks and its time budget. They end with the run's scope. */
import { type Budget, nearLimitFrom } from "@corral/domain/run/Budget"
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { Deferred, Effect, type Fiber, type Scope, Semaphore } from "effect"
import { existsSync } from "node:fs"
import { type FoundArtifacts, ProgramArtifacts } from "../../attachment/ProgramArtifacts.ts"
import { type ProcessTarget, sweep } from "../../process/Containment.ts"
import type { ChildEnd, RunChild, RunChildHandlers, TerminationOptions } from "../../process/RunChild.ts"
import { EDGE_MARK, RUN_MARK } from "../../process/ProcessSweep.ts"
import { Subprocess, type SubprocessSpec } from "../../process/Subprocess.ts"
import { Freezer } from "../../process/Freezer.ts"
import { removeTemporary } from "../../process/TemporaryFolder.ts"
import {
  type IdleClocks,
  type SilenceClock,
  makeActiveClock,
  makeIdleClocks,
  makeSilenceClock
} from "./RunClocks.ts"
import { type AdoptedRun, type RunSession, noneElapsed } from "./RunSession.ts"
import type { KernelProgram } from "../kernel/KernelState.ts"
import { decodeOutput } from "./RuntimeOutput.ts"
import type { RunMessage } from "../kernel/RunMessage.ts"
import type { FindSurvivors } from "../../process/SharedSearch.ts"

// The sweep of a run's processes at its end. The termination needs it for what holds the pipes, and so does the run's last step.
//
// Guarantees: one sweep after the process has started, however often it is requested. Nothing of a run that was swept can come back.

/** Processes of a run, however they are found. The process that the run has started comes with its number. */
type Processes = Omit<ProcessTarget, "leader" | "since">

class RunSweep {
  readonly #child: RunChild
  readonly #processes: Processes
  readonly #find: FindSurvivors | undefined
  #lock: Semaphore.Semaphore | undefined
  /** Searches that found a process. */
  #looks = 0
  #isDone = false

  constructor(child: RunChild, processes: Processes, find: FindSurvivors | undefined) {
    this.#child = child
    this.#processes = processes
    this.#find = find
  }

  /** Kills what is left. Returns the number of searches that found a process meanwhile. */
  get all(): Effect.Effect<number> {
    return Effect.suspend(() => {
      const before = this.#looks
      this.#lock ??= Semaphore.makeUnsafe(1)
      return Effect.map(this.#lock.withPermit(this.#once()), () => this.#looks - before)
    })
  }

  #once(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#isDone) return Effect.void
      // The holder reports a process a moment after it has started it: what is not known yet may still come.
      const { pid, startTicks } = this.#child
      const isStarted = pid !== undefined
      const target = { ...this.#processes, leader: pid, since: startTicks }
      return Effect.map(sweep(target, this.#find), (looks) => {
        this.#looks += looks
        this.#isDone = isStarted
      })
    })
  }
}

interface ProcessParts {
  readonly child: RunChild
  readonly sweep: RunSweep
  /** Removes the temporary folder, if there is one. */
  readonly remove: Effect.Effect<void>
  readonly silence: SilenceClock
  readonly activeClock: StoppableClock
  readonly wallClock: StoppableClock | undefined
  readonly idleClocks: IdleClocks
  readonly freezer: Freezer | undefined
  readonly opening: Fiber.Fiber<void>
  readonly published: ProgramArtifacts | undefined
}

/** A class: each waiting run holds one, and a literal with a getter takes the memory of a table. */
export class RunProcess implements KernelProgram {
  readonly child: RunChild
  readonly silence: SilenceClock
  /** Lets the run's timeout pass, or stops its clock. */
  readonly activeClock: StoppableClock
  /** The same for the time budget, if there is one. */
  readonly wallClock: StoppableClock | undefined
  readonly idleClocks: IdleClocks
  /** Absent without control groups. */
  readonly freezer: Freezer | undefined
  /** Writes the protocol's opening once the workspace's snapshot is taken. */
  readonly opening: Fiber.Fiber<void>
  /** Files that the program publishes. */
  readonly published: ProgramArtifacts | undefined
  readonly #session: RunSession
  readonly #sweep: RunSweep
  readonly #remove: Effect.Effect<void>

  constructor(session: RunSession, parts: ProcessParts) {
    this.child = parts.child
    this.silence = parts.silence
    this.activeClock = parts.activeClock
    this.wallClock = parts.wallClock
    this.idleClocks = parts.idleClocks
    this.freezer = parts.freezer
    this.opening = parts.opening
    this.published = parts.published
    this.#session = session
    this.#sweep = parts.sweep
    this.#remove = parts.remove
  }

  get isGone(): boolean {
    return this.child.isGone
  }

  get canFreeze(): boolean {
    return this.freezer !== undefined
  }

  /**
   * Kills remaining processes of the run, publishes their last files and removes its temporary folder. Returns the number of searches that found
   * any.
   */
  get clear(): Effect.Effect<number> {
    const last = this.published?.look(reportTo(this.#session), true) ?? Effect.void
    return Effect.tap(this.#sweep.all, () => Effect.andThen(last, this.#remove))
  }

  get ladder(): TerminationOptions {
    const { exited, options } = this.#session
    return { child: this.child, sweep: this.#sweep.all, exited, grace: options.times.cancel }
  }
}

const reportTo =
  ({ post }: RunSession) =>
  (found: FoundArtifacts): boolean =>
    post({ _tag: "Collected", ...found })

type StoppableClock = Effect.Success<ReturnType<typeof makeActiveClock>>

/** A bridge would start without its program, and hide that the program is gone. Without the bridge, the start fails. */
const withoutIdleBridge = (command: SubprocessSpec): SubprocessSpec => {
  const { bridged, isConfined } = command
  const isIdle = bridged !== undefined && isConfined !== true && !existsSync(bridged)
  return isIdle ? { ...command, file: bridged, args: [] } : command
}

/** Starts the process of a run. */
export const startProcess = (
  session: RunSession,
  command: SubprocessSpec
): Effect.Effect<RunProcess, never, Scope.Scope> => {
  const { edgeId, hold, recorder } = session.options
  const env = { ...command.env, [RUN_MARK]: recorder.run.id, [EDGE_MARK]: edgeId }
  const spec = { ...withoutIdleBridge(command), env }
  return superviseProcess(
    session,
    command,
    (handlers) => hold?.start(spec, handlers) ?? new Subprocess(spec, handlers)
  )
}

/** Continues with a process that an earlier Edge started. */
export const adoptProcess = (
  session: RunSession,
  adopted: AdoptedRun,
  command: SubprocessSpec
): Effect.Effect<RunProcess, never, Scope.Scope> =>
  superviseProcess(session, command, (handlers) => adopted.attach(command, handlers))

const superviseProcess = Effect.fnUntraced(function* (
  session: RunSession,
  command: SubprocessSpec,
  start: (handlers: RunChildHandlers) => RunChild
): Effect.fn.Return<RunProcess, never, Scope.Scope> {
  const { options, post } = session
  const { adopted, hold, protocol, recorder, times } = options
  const { budget, id, timeoutMs } = recorder.run
  const elapsed = adopted?.elapsed ?? noneElapsed
  const { group, temporary } = command
  const silence = yield* makeSilenceClock(times)
  const all: ProcessTarget = {
    mark: `${RUN_MARK}=${id}`,
    groups: group === undefined ? undefined : [group],
    isEnclosed: command.isConfined
  }
  // Suspended: a waiting run does not hold the effects of its end.
  const remove = Effect.suspend(() => (temporary === undefined ? Effect.void : removeTemporary(temporary)))
  const end = Deferred.makeUnsafe<ChildEnd>()
  // Alive at the end of the scope only if the run was interrupted or the store failed.
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(session, start, silence, end)),
    ({ pid }) =>
      recorder.terminal || hold?.isLeft === true
        ? Effect.void
        : Effect.andThen(sweep({ ...all, leader: pid }), remove)
  )
  yield* Effect.forkScoped(
    decodeOutput({
      protocol,
      stdout: session.stdout,
      exit: exitOf(session, end),
      post,
      position: session.kernel.position,
      heldBytes: hold?.maxOutput
    })
  )
  const opening = yield* Effect.forkScoped(open(session, child, command))
  const published =
    temporary === undefined
      ? undefined
      : new ProgramArtifacts(options.artifacts, id, temporary, (name) => options.redaction.value(name))
  if (published !== undefined) yield* Effect.forkScoped(published.follow(reportTo(session)))
  const activeClock = yield* makeActiveClock(timeoutMs - elapsed.active, () =>
    post({ _tag: "TimedOut", kind: "run", afterMs: timeoutMs })
  )
  if (adopted?.hasEnded !== true) yield* watchSilence(session, silence)
  const wallClock =
    adopted?.hasEnded === true ? undefined : yield* makeWallClock(session, budget, elapsed.wall)
  return new RunProcess(session, {
    child,
    sweep: new RunSweep(child, all, options.find),
    remove,
    silence,
    activeClock,
    wallClock,
    idleClocks: yield* makeIdleClocks(session, elapsed.background),
    freezer: group === undefined ? undefined : new Freezer(group),
    opening,
    published
  })
})

const spawn = (
  { exited, options: { raw }, post, stdout }: RunSession,
  start: (handlers: RunChildHandlers) => RunChild,
  silence: SilenceClock,
  end: Deferred.Deferred<ChildEnd>
): RunChild => {
  const child = start({
    onChunk: (chunk) => {
      silence.recordOutput()
      raw?.push(chunk)
      stdout.push(chunk)
    },
    onGone: () => {
      Deferred.doneUnsafe(exited, Effect.void)
      post({ _tag: "Resumed" })
    },
    onEnd: (processEnd) => {
      raw?.end(processEnd)
      Deferred.doneUnsafe(end, Effect.succeed(processEnd))
      stdout.end()
    },
    onSpawnError: (error) => post({ _tag: "SpawnFailed", error })
  })
  stdout.child = child
  return child
}

/** The process's end as the adapter may see it, once the run has processed all output before. */
const exitOf = ({ post }: RunSession, processEnd: Deferred.Deferred<ChildEnd>): Effect.Effect<ProcessEnd> =>
  Effect.flatMap(Deferred.await(processEnd), (end) => {
    const reply = Deferred.makeUnsafe<ProcessEnd>()
    post({ _tag: "Exited", end, reply })
    return Deferred.await(reply)
  })

/**
 * A program takes longer to start than a snapshot takes: both run concurrently, and the prompt waits for both. A process that has received a
 * part of its prompt had its snapshot before.
 */
const open = (session: RunSession, child: RunChild, { stdin }: SubprocessSpec): Effect.Effect<void> =>
  Effect.andThen(
    session.hasPromptOnStart || session.hasPrompt ? Effect.void : session.options.snapshot,
    Effect.sync(() => session.stdin.open(child, stdin))
  )

const watchSilence = Effect.fnUntraced(function* ({ post }: RunSession, silence: SilenceClock) {
  const missed = silence.watch((silentMs) => post({ _tag: "Quiet", silentMs }))
  yield* Effect.forkScoped(Effect.map(missed, (limit) => post({ _tag: "TimedOut", ...limit })))
})

/** Clock of the time budget: of its warning and of its end. It does not start by itself. */
const makeWallClock = Effect.fnUntraced(function* (
  { post }: RunSession,
  budget: Budget | undefined,
  elapsed: number
) {
  const wallMs = budget?.wallMs
  if (wallMs === undefined) return undefined
  const spent = (used: number) =>
    makeActiveClock(used - elapsed, () => void post({ _tag: "Spent", limit: "wallMs", used }))
  const warning = yield* spent(nearLimitFrom(wallMs))
  const end = yield* spent(wallMs)
  const both: StoppableClock = (run) => Effect.andThen(warning(run), end(run))
  return both
})

/** Posts a message after `millis`, unless the run's scope closes before. */
export const postLater = (
  { post }: RunSession,
  millis: number,
  message: RunMessage
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.forkScoped(
      Effect.andThen(
        Effect.sleep(millis),
        Effect.sync(() => post(message))
      )
    )
  )
