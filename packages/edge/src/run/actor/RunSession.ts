/** State that the fibers of one live run share. Owned by the run's actor. */
import { Deferred, type Effect, type Fiber, type Scope } from "effect"
import type { Run, RunFailure } from "@corral/domain/run/Run"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterOutput, AnyProtocol } from "@corral/domain/run/RuntimeAdapter"
import type { RunPolicy } from "../../approval/RunPolicy.ts"
import type { RunProtection } from "../../confinement/ProtectedWatch.ts"
import type { RawRun } from "../../raw/RawRun.ts"
import type { Artifacts } from "../../artifact/Artifacts.ts"
import type { RunTimes } from "../../config/EdgeConfig.ts"
import type { EdgeEventLog } from "../../log/EdgeEventLog.ts"
import type { FindSurvivors } from "../../process/SharedSearch.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"
import type { StoreFailed } from "../../store/Store.ts"
import type { CallPrice } from "../kernel/BudgetMeter.ts"
import { RunKernel } from "../kernel/RunKernel.ts"
import { TurnLoop } from "./TurnLoop.ts"
import type { OutputRedaction } from "../kernel/OutputRedaction.ts"
import type { RunProcess } from "./RunProcess.ts"
import type { RunRecorder } from "../kernel/RunRecorder.ts"
import type { RunMessage } from "../kernel/RunMessage.ts"
import { StdoutReader } from "./RuntimeOutput.ts"
import type { TurnCommits } from "./RunWorkspace.ts"
import type { ClockState } from "./RunClocks.ts"
import type { RunChild, RunChildHandlers } from "../../process/RunChild.ts"
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { AdoptedState } from "../kernel/KernelState.ts"
import type { HeldUntil } from "../../holder/HolderMessages.ts"

/** What the holder's clocks follow. */
export interface HeldClocks {
  /** The time budget of a paused run stands. */
  readonly isPaused: boolean
  /** The limit of the background work; `undefined` while it is not limited. */
  readonly background: BackgroundLimit | undefined
}

interface BackgroundLimit {
  /** Its end, in Unix milliseconds. */
  readonly at: number
  /** Bytes of output that led to it. The limit does not count for a program that has printed more. */
  readonly applied: number
}

/** Times at which the holder ends a run if no Edge does. The end of the time budget moves by the length of each pause. */
export class RunTimeLimits {
  /** Unix milliseconds. */
  readonly #cap: number
  readonly #wallMs: number | undefined
  #wall: number | undefined
  #background: BackgroundLimit | undefined
  #pausedAt: number | undefined

  constructor({ budget, createdAt }: Run, capMs: number) {
    this.#cap = Date.parse(createdAt) + capMs
    this.#wallMs = budget?.wallMs
  }

  /** The process has run for `elapsed` milliseconds of its time budget. */
  start(now: number, elapsed: number, clocks?: HeldClocks): HeldUntil {
    if (clocks !== undefined) this.follow(clocks, now)
    if (this.#wallMs !== undefined) this.#wall = now + this.#wallMs - elapsed
    return this.until
  }

  /** Returns whether the limits have changed. */
  follow({ background, isPaused }: HeldClocks, now: number): boolean {
    const before = this.#background
    this.#background = background
    const hasMoved = this.#pause(isPaused, now)
    return hasMoved || before?.at !== background?.at || before?.applied !== background?.applied
  }

  get until(): HeldUntil {
    const wall = this.#pausedAt === undefined ? this.#wall : undefined
    const { applied, at: background } = this.#background ?? {}
    return {
      cap: this.#cap,
      ...(wall === undefined ? {} : { wall }),
      ...(background === undefined ? {} : { background, applied })
    }
  }

  #pause(isPaused: boolean, now: number): boolean {
    if (isPaused === (this.#pausedAt !== undefined)) return false
    if (this.#wall !== undefined && this.#pausedAt !== undefined) this.#wall += now - this.#pausedAt
    this.#pausedAt = isPaused ? now : undefined
    return this.#wall !== undefined
  }
}

/**
 * The part of a run that the holder has, so that it outlives its Edge: the process with its pipes, and what the next Edge needs to know. A run
 * without it ends with its Edge.
 */
export interface RunHold {
  /** The control group of the run at the holder. `undefined` before the start of a program that enters its group by itself. */
  readonly group: string | undefined
  /** Bytes of stdout that are stored for the next Edge. */
  readonly maxOutput?: number | undefined
  /** Starts the program in the holder. */
  readonly start: (spec: SubprocessSpec, handlers: RunChildHandlers) => RunChild
  /** The adopted process has used that many milliseconds of its time budget. */
  readonly continueAfter: (elapsed: number, clocks: HeldClocks) => void
  /** What the clocks follow from now on, also without an Edge. */
  readonly follow: (clocks: HeldClocks) => void
  /** Keeps the private key of a question with secret answers in memory, for the next Edge. */
  readonly keepKey: (inputId: string, privateKey: string) => void
  /** Whether this Edge leaves the run to the next one. Then nothing of the run is ended or removed. */
  readonly isLeft: boolean
  /** The run is over: the holder forgets it. */
  readonly end: Effect.Effect<void>
  /** Closes the connection. The run continues. */
  readonly leave: () => void
}

// A run whose process an earlier Edge started, in the state in which that Edge left it.

/** Milliseconds that have passed for each clock of a run. */
export interface RunElapsed {
  /** Since its creation. */
  readonly age: number
  /** Since its start, without pauses. */
  readonly wall: number
  /** Since its start, without pauses, the time of pending approvals and questions, and the time between its turns. */
  readonly active: number
  /** Since the end of its last turn, without pauses and the time of pending approvals and questions; 0 during a turn. */
  readonly background: number
}

export const noneElapsed: RunElapsed = { age: 0, wall: 0, active: 0, background: 0 }

export interface AdoptedRun extends AdoptedState {
  readonly command: SubprocessSpec
  /** Bytes of stdin that the process has received. */
  readonly stdinBytes: number
  /** What was written to stdin after the protocol's opening, from the first text on. */
  readonly texts: ReadonlyArray<string>
  /** Outputs that were read and not applied. They are redacted. */
  readonly outputs: ReadonlyArray<AdapterOutput>
  readonly elapsed: RunElapsed
  /** Which limit ended the process while no Edge was there. */
  readonly endedBy: "wall" | "cap" | "background" | undefined
  /** Questions whose keys for secret answers are lost, with the runtime's ids. */
  readonly lostKeys: ReadonlyArray<{ readonly inputId: InputRequestId; readonly key: string }>
  /** Whether the process has ended: its clocks have stopped. */
  readonly hasEnded: boolean
  /** Continues with the process. Its output follows the position. */
  readonly attach: (command: SubprocessSpec, handlers: RunChildHandlers) => RunChild
}

// Stdin of a run's process. What is written before the process may read waits, and goes out with the protocol's opening.
//
// For a process that an earlier Edge started, the same texts are written again from the first one on, and the bytes that the process has
// received already are left out. So it receives each byte once, also if the earlier Edge ended within a text.

class RuntimeStdin {
  #child: RunChild | undefined
  #waiting: Array<string>
  /** Bytes that the process has received before. */
  #received: number

  constructor(opening: string, received = 0) {
    this.#waiting = [opening]
    this.#received = received
  }

  write(text: string): void {
    if (this.#child === undefined) this.#waiting.push(text)
    else if (this.#received === 0) this.#child.write(text)
    else this.#writeRest(this.#child, Buffer.from(text))
  }

  /** Writes the pending texts. Later texts go directly to the process. */
  open(child: RunChild, stdin: SubprocessSpec["stdin"]): void {
    this.#child = child
    const text = this.#waiting.join("")
    this.#waiting = []
    this.write(text)
    if (stdin === "once") child.closeInput()
  }

  #writeRest(child: RunChild, bytes: Buffer): void {
    const before = Math.min(this.#received, bytes.length)
    this.#received -= before
    if (before < bytes.length) child.write(bytes.subarray(before))
  }
}

export interface RunActorOptions {
  readonly recorder: RunRecorder
  readonly protocol: AnyProtocol
  /** Specification of the adapter. */
  readonly specificationVersion: 1 | 2
  readonly priceOf: CallPrice
  /** Waits until the run may start. Its resources are released when the run has ended. */
  readonly prepare: Effect.Effect<SubprocessSpec, RunFailure, Scope.Scope>
  /** Records the state of the workspace before the runtime receives its prompt. */
  readonly snapshot: Effect.Effect<void>
  /** Inputs about changes in the workspace. Runs when no process of the run is alive, before its last event. */
  readonly review: Effect.Effect<ReadonlyArray<RunMachineInput>>
  /** Takes back what the run left in the state of its runtime, when no process of it is alive. */
  readonly takeBackState?: Effect.Effect<void> | undefined
  readonly policy: RunPolicy
  /** Commits of its turns; only of a run in a worktree. */
  readonly commits: TurnCommits | undefined
  /** Watch over protected names; only of a confined run that may change files. */
  readonly protection: RunProtection | undefined
  /** Real path of the folder that the run works in. */
  readonly root: string
  readonly edgeId: string
  /** Search for processes that the run left. */
  readonly find?: FindSurvivors | undefined
  /** Conversation of the runtime that the run continues. */
  readonly continues: string | undefined
  readonly redaction: OutputRedaction
  readonly times: RunTimes
  readonly log: EdgeEventLog["Service"]
  readonly artifacts: Artifacts["Service"]
  /** The holder's part of the run, if the run outlives its Edge. */
  readonly hold?: RunHold | undefined
  /** The run's process, which an earlier Edge started. */
  readonly adopted?: AdoptedRun | undefined
  /** Records what the program prints, if the Edge keeps it. */
  readonly raw?: RawRun | undefined
  /** Called for each output of an unknown kind. */
  readonly onUnknown: (what: string, raw?: string) => void
}

export class RunSession {
  readonly options: RunActorOptions
  readonly kernel: RunKernel
  readonly turns: TurnLoop<RunMessage, StoreFailed, Scope.Scope>
  readonly stdout = new StdoutReader()
  readonly stdin: RuntimeStdin
  /** The terminal run, once it is on disk. Fails if the store failed. */
  readonly ended = Deferred.makeUnsafe<Run, StoreFailed>()
  /** Succeeds when the process has exited. Some of its output may still arrive. */
  readonly exited = Deferred.makeUnsafe<void>()
  /** Fiber that waits for the run's slot and workspace, until the process has started. */
  preparing: Fiber.Fiber<unknown> | undefined
  #process: RunProcess | undefined
  /** What the clocks follow; `undefined` before they start. */
  clocks: ClockState | undefined
  isStopping = false
  isLeaving = false
  /** Unix milliseconds. Set before the first turn. */
  now: () => number = notLive
  #isResuming = false

  constructor(
    options: RunActorOptions,
    begin: (session: RunSession, messages: ReadonlyArray<RunMessage>) => void
  ) {
    const { adopted, hold, protocol, times } = options
    this.options = options
    this.kernel = new RunKernel({
      ...options,
      adopted,
      approvalMs: times.approval,
      isHeld: hold !== undefined,
      holdKey: (inputId, privateKey) => hold?.keepKey(inputId, privateKey)
    })
    this.turns = new TurnLoop((messages) => begin(this, messages))
    this.stdin = new RuntimeStdin(protocol.open, adopted?.stdinBytes)
  }

  readonly post = (message: RunMessage): boolean => this.turns.post(message)

  get process(): RunProcess | undefined {
    return this.#process
  }

  started(process: RunProcess): void {
    this.preparing = undefined
    this.#process = process
    this.kernel.program = process
  }

  /** Whether the prompt is on the command line, so that the program starts to work before it reads stdin. */
  get hasPromptOnStart(): boolean {
    return this.options.protocol.open === ""
  }

  /** Whether the process has received the beginning of its prompt from an earlier Edge. */
  get hasPrompt(): boolean {
    return (this.options.adopted?.stdinBytes ?? 0) > 0
  }

  /** Whether stdout is paused because the runtime requests approvals faster than they are decided. */
  get isBackedUp(): boolean {
    return this.kernel.backlog.isWaiting && this.process?.isGone === false
  }

  /** Whether stdout is paused for now: for the backlog, or for the readers of the run. Accepts output again when the readers have room. */
  holdsOutput(): boolean {
    return this.isBackedUp || this.options.log.mustWait(this.options.recorder.run.id, this.#acceptOutput)
  }

  readonly #acceptOutput = (): void => this.stdout.processed(0, this.holdsOutput())

  /** Continues the backlog in a later turn, after turns of other runs. */
  resumeLater(): void {
    if (this.#isResuming) return
    this.#isResuming = true
    setImmediate(() => {
      this.#isResuming = false
      this.post({ _tag: "Resumed" })
    })
  }
}

const notLive = (): number => {
  throw new Error("the run is not live")
}
