/** State that the fibers of one live run share. Owned by the run's actor. */
import { Deferred, type Effect, type Fiber, type Scope } from "effect"
import type { Run, RunFailure } from "@corral/domain/run/Run"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AnyProtocol } from "@corral/domain/run/RuntimeAdapter"
import { OpenApprovals } from "../approval/PendingRequests.ts"
import type { RunPolicy } from "../approval/RunPolicy.ts"
import { OpenInputs } from "../input/OpenInputs.ts"
import type { ProtectedWatch } from "../confinement/ProtectedWatch.ts"
import type { Artifacts } from "../artifact/Artifacts.ts"
import type { RunTimes } from "../config/RunTimes.ts"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { FindSurvivors } from "../process/SharedSearch.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { StoreFailed } from "../store/Store.ts"
import { Backlog } from "./Backlog.ts"
import { Mailbox } from "./Mailbox.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { RunProcess } from "./RunProcess.ts"
import type { RunRecorder } from "./RunRecorder.ts"
import type { RunMessage } from "./RunMessage.ts"
import { StdoutReader } from "./StdoutReader.ts"
import type { TurnCommits } from "./TurnCommits.ts"
import { RunJournal } from "../journal/RunJournal.ts"
import { OutputPosition } from "../journal/OutputPosition.ts"
import type { RunReported } from "./BatchState.ts"
import type { ClockState } from "./RunClocks.ts"
import type { AdoptedRun } from "./AdoptedRun.ts"
import type { RunHold } from "./RunHold.ts"
import type { RunChild } from "../process/RunChild.ts"

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
  readonly protection: ProtectedWatch | undefined
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
  /** Called for each output of an unknown kind. */
  readonly onUnknown: (what: string, raw?: string) => void
}

/** Maximum number of pending messages. Output stops earlier, at `StdoutReader`'s limit; the rest is for commands. */
const MAILBOX_CAPACITY = 65_536

export class RunSession {
  readonly options: RunActorOptions
  readonly mailbox = new Mailbox<RunMessage>(MAILBOX_CAPACITY)
  readonly approvals = new OpenApprovals()
  readonly inputs = new OpenInputs()
  readonly backlog = new Backlog<RunMessage>()
  readonly stdout = new StdoutReader()
  readonly stdin: RuntimeStdin
  readonly position: OutputPosition
  /** Only of a run that outlives its Edge. */
  readonly journal: RunJournal | undefined
  readonly reported: RunReported
  /** The terminal run, once it is on disk. Fails if the store failed. */
  readonly ended = Deferred.makeUnsafe<Run, StoreFailed>()
  /** Succeeds when the process has exited. Some of its output may still arrive. */
  readonly exited = Deferred.makeUnsafe<void>()
  /** Fiber that waits for the run's slot and workspace, until the process has started. */
  preparing: Fiber.Fiber<unknown> | undefined
  process: RunProcess | undefined
  /** What the clocks follow; `undefined` before they start. */
  clocks: ClockState | undefined
  isStopping = false
  isLeaving = false
  #isResuming = false

  constructor(options: RunActorOptions) {
    const { adopted, hold, protocol, recorder } = options
    this.options = options
    this.stdin = new RuntimeStdin(protocol.open, adopted?.stdinBytes)
    this.position = adopted?.position ?? new OutputPosition()
    this.journal =
      hold === undefined ? undefined : new RunJournal(recorder.run.id, this.position, adopted?.journal.next)
    this.reported = adopted?.reported ?? { diff: undefined, isOver: undefined, isCancelled: false }
  }

  readonly post = (message: RunMessage): boolean => this.mailbox.post(message)

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
    return this.backlog.isWaiting && this.process?.child.isGone === false
  }

  /** Whether stdout is paused for now: for the backlog, or for the readers of the run. Accepts output again when the readers have room. */
  holdsOutput(): boolean {
    return this.isBackedUp || this.options.log.mustWait(this.options.recorder.run.id, this.#acceptOutput)
  }

  readonly #acceptOutput = (): void => this.stdout.processed(0, this.holdsOutput())

  /** Continues the backlog in a later batch, after batches of other runs. */
  resumeLater(): void {
    if (this.#isResuming) return
    this.#isResuming = true
    setImmediate(() => {
      this.#isResuming = false
      this.post({ _tag: "Resumed" })
    })
  }
}
