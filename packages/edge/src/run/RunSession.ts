/** State that the fibers of one live run share. Owned by the run's actor. */
import type { Fiber, Effect, Scope } from "effect"
import { Deferred } from "effect"
import type { Run, RunFailure } from "@corral/domain/run/Run"
import type { Input } from "@corral/domain/run/RunMachine"
import type { AnyProtocol } from "@corral/domain/run/RuntimeAdapter"
import { OpenApprovals } from "../approval/OpenApprovals.ts"
import type { RunPolicy } from "../approval/RunPolicy.ts"
import type { Artifacts } from "../artifact/Artifacts.ts"
import type { RunTimes } from "../config/RunTimes.ts"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { StoreFailed } from "../store/Store.ts"
import { Backlog } from "./Backlog.ts"
import { Mailbox } from "./Mailbox.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { RunProcess } from "./RunProcess.ts"
import type { RunRecorder } from "./RunRecorder.ts"
import { RuntimeStdin } from "./RuntimeStdin.ts"
import type { RunMessage } from "./RunMessage.ts"
import { StdoutReader } from "./StdoutReader.ts"

export interface RunActorOptions {
  readonly recorder: RunRecorder
  readonly protocol: AnyProtocol
  /** Waits until the run may start. What it holds is released when the run has ended. */
  readonly prepare: Effect.Effect<SubprocessSpec, RunFailure, Scope.Scope>
  /** Takes the workspace as it is before the runtime receives its prompt. */
  readonly snapshot: Effect.Effect<void>
  /** What became of the workspace. Runs when no process of the run is alive, before its last event. */
  readonly review: Effect.Effect<ReadonlyArray<Input>>
  readonly policy: RunPolicy
  /** Real path of the folder that the run works in. */
  readonly root: string
  readonly edgeId: string
  readonly redaction: OutputRedaction
  readonly times: RunTimes
  readonly log: EdgeEventLog["Service"]
  readonly artifacts: Artifacts["Service"]
  /** Called for each output that the adapter has no name for. */
  readonly onUnknown: (what: string, raw?: string) => void
}

/** Maximum number of messages that wait. Output stops earlier, at `StdoutReader`'s limit; the others are commands of people. */
const MAILBOX_CAPACITY = 65_536

export class RunSession {
  readonly options: RunActorOptions
  readonly mailbox = new Mailbox<RunMessage>(MAILBOX_CAPACITY)
  readonly approvals = new OpenApprovals()
  readonly backlog = new Backlog<RunMessage>()
  readonly stdout = new StdoutReader()
  readonly stdin: RuntimeStdin
  /** The terminal run, once it is on disk; fails where the store failed. */
  readonly ended = Deferred.makeUnsafe<Run, StoreFailed>()
  /** Succeeds when the process is gone and its output is processed. */
  readonly exited = Deferred.makeUnsafe<void>()
  /** Waits for the run's slot and workspace. */
  preparing: Fiber.Fiber<unknown> | undefined
  process: RunProcess | undefined
  isStopping = false
  isLeaving = false
  #isResuming = false

  constructor(options: RunActorOptions) {
    this.options = options
    this.stdin = new RuntimeStdin(options.protocol.open)
  }

  readonly post = (message: RunMessage): boolean => this.mailbox.post(message)

  /** The prompt is on the command line: the program starts to work before anything is written to it. */
  get hasPromptOnStart(): boolean {
    return this.options.protocol.open === ""
  }

  /** A runtime that asks faster than it is answered waits, like one that prints too much. */
  get holdsBack(): boolean {
    return this.backlog.isWaiting && this.process?.child.gone === false
  }

  /** Continues the backlog in a later batch, after the other runs had theirs. */
  resumeLater(): void {
    if (this.#isResuming) return
    this.#isResuming = true
    setImmediate(() => {
      this.#isResuming = false
      this.post({ _tag: "Resumed" })
    })
  }
}
