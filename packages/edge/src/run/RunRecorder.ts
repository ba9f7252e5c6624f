/**
 * What one run writes down: inputs go through the run machine, and come out as event lines, projection rows and actions to take.
 *
 * Synchronous and without I/O; one per live run, used by its actor alone. It keeps two states: the newest, and the one that is known
 * to be on disk, which is the only one shown to anybody.
 *
 * What a run makes to be kept (an artifact, the whole of an output that is cut) must be on disk before the event that names it. From such
 * an event on, events are held as they are; `settle` says what was kept, and they become lines.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { ApprovalId, ArtifactId } from "@corral/domain/identity/Ids"
import type { ProjectSettingsReport } from "@corral/domain/run/ProjectSettings"
import { approvalResolution } from "@corral/domain/run/Resolution"
import { isTerminal, type Run } from "@corral/domain/run/Run"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { transition, type TransitionAction, type Input } from "@corral/domain/run/RunMachine"
import { initial, type RunState } from "@corral/domain/run/RunState"
import { putApproval, replaceApproval } from "../approval/Approvals.ts"
import type { KeptArtifact, NewArtifact } from "../artifact/Artifacts.ts"
import type { NewEvents } from "../log/StoredBatch.ts"
import { encoder } from "../log/EventEncoder.ts"
import { cutText, fit, mayExceed, wholeOutput } from "./PayloadLimit.ts"
import { insertRun, updateRun } from "../log/Runs.ts"
import type { Write } from "../store/Store.ts"

/** Something for the actor to do once the events before it are durable. */
export type RunAction = Exclude<TransitionAction, { readonly _tag: "Append" }>

/** An event that waits for what it names; `made` is that, where it names something. */
interface Held {
  readonly at: string
  readonly event: EventDraft
  readonly made: NewArtifact | undefined
}

/** What the machine sees of an artifact: the event's place. What it says is known when the content is kept. */
const unkept = draft("run.artifact.ready", {
  artifactId: "art_00000000000000000000000000" as ArtifactId, // never written
  name: "",
  mediaType: "",
  size: 0,
  sha256: ""
})

/** 64 KiB of text, and its quotes. */
const RESULT_TEXT = 65_538

export class RunRecorder {
  /** The run as it is on disk. */
  run: Run
  state: RunState = initial
  /** What `run.started` reports of the project's settings. */
  projectSettings: ProjectSettingsReport | undefined
  private readonly encode: ReturnType<typeof encoder>
  private readonly approvals = new Map<ApprovalId, Approval>()
  private seq = 0
  private lines: Array<string> = []
  private projections: Array<Write> = []
  private shownState: RunState = initial
  private now: string
  /** `undefined` as long as no event of this batch names something that must be kept first. */
  private held: Array<Held> | undefined
  private making: NewArtifact | undefined

  constructor(run: Run) {
    this.run = run
    this.now = run.createdAt
    this.encode = encoder({ runId: run.id, sessionId: run.sessionId, agentId: run.agentId })
  }

  /** Continues a run whose log holds `lastSeq` events that fold to `state`, with the approvals that still wait. */
  static recovered(run: Run, state: RunState, pending: ReadonlyArray<Approval>): RunRecorder {
    const recorder = new RunRecorder(run)
    recorder.state = state
    recorder.shownState = state
    recorder.seq = run.lastSeq
    for (const approval of pending) recorder.approvals.set(approval.id, approval)
    return recorder
  }

  /** The time of what comes next, ISO 8601. */
  at(now: string): void {
    this.now = now
  }

  /** Feeds the machine; its events are kept for `take`, its actions given back. */
  apply(input: Input): ReadonlyArray<RunAction> {
    const [state, actions] = transition(this.state, input)
    this.state = state
    let rest: Array<RunAction> | undefined
    for (const action of actions) {
      if (action._tag === "Append") this.write(action.event)
      else (rest ??= []).push(action)
    }
    return rest ?? none
  }

  /** Something the runtime made: `run.artifact.ready` comes here if it is kept, and nothing if it is not. */
  make(name: string, mediaType: string, content: string | Uint8Array): void {
    this.held ??= []
    this.making = this.toKeep(name, mediaType, content)
    this.apply({ _tag: "Said", event: unkept })
    this.making = undefined
  }

  /** What is to be kept before `take`. Empty as a rule. */
  get toBeKept(): ReadonlyArray<NewArtifact> {
    return this.held?.flatMap(({ made }) => made ?? []) ?? none
  }

  /** Releases the held events. `kept`: the part of `toBeKept` that is on disk. The rest is left out of the log: its output stays cut, its artifact has no event. */
  settle(kept: ReadonlyMap<NewArtifact, KeptArtifact>): void {
    const { held, now } = this
    if (held === undefined) return
    this.held = undefined
    for (const { at, event, made } of held) {
      this.now = at
      this.release(event, made === undefined ? undefined : kept.get(made))
    }
    this.now = now
  }

  get terminal(): boolean {
    return this.state.status !== undefined && isTerminal(this.state.status)
  }

  /**
   * What is to be appended now, or `undefined` where nothing happened that is written down. No events and a row: the state moved and no
   * event tells it, as from `created` to `starting`.
   */
  take():
    | { readonly events: NewEvents; readonly projections: ReadonlyArray<Write>; readonly run: Run }
    | undefined {
    this.settle(nothingKept)
    const moved = this.state.status !== this.shownState.status
    if (this.lines.length === 0 && !moved) return undefined
    const events: NewEvents = {
      runId: this.run.id,
      firstSeq: this.seq - this.lines.length + 1,
      lines: this.lines,
      terminal: this.terminal
    }
    const run = this.snapshot()
    const isNew = events.firstSeq === 1
    // Text that only flows changes no row: the log has it.
    if (isNew || this.state !== this.shownState) {
      this.projections.push(isNew ? insertRun(run) : updateRun(run))
      this.shownState = this.state
    }
    const projections = this.projections
    this.lines = []
    this.projections = []
    return { events, projections, run }
  }

  /** Rows that belong to the events of this turn: one transaction, all or nothing. */
  alongside(writes: ReadonlyArray<Write>): void {
    this.projections.push(...writes)
  }

  /** The batch that gave `run` is durable: show it. */
  committed(run: Run): void {
    this.run = run
  }

  private write(said: EventDraft): void {
    const event = this.withReport(said)
    if (this.held === undefined) {
      const line = this.encode(this.seq + 1, this.now, event)
      if (!mayExceed(line)) this.push(line)
      else if (wholeOutput(event) === undefined) this.pushFitting(event)
      else this.hold(event)
    } else {
      this.hold(event)
    }
    if (event.type === "run.approval.requested" || event.type === "run.approval.resolved") this.project(event)
  }

  private withReport(event: EventDraft): EventDraft {
    const { projectSettings } = this
    return event.type === "run.started" && projectSettings !== undefined
      ? draft(event.type, { ...event.payload, projectSettings })
      : event
  }

  private pushFitting(event: EventDraft): void {
    for (const fitting of fit(event)) this.push(this.encode(this.seq + 1, this.now, fitting))
  }

  private hold(event: EventDraft): void {
    this.held ??= []
    this.held.push({ at: this.now, event, made: event === unkept ? this.making : this.wholeOf(event) })
  }

  private wholeOf(event: EventDraft): NewArtifact | undefined {
    const output = wholeOutput(event)
    return event.type === "run.tool.result" && output !== undefined
      ? this.toKeep(`${event.payload.tool} output.txt`, "text/plain; charset=utf-8", output)
      : undefined
  }

  private toKeep(name: string, mediaType: string, content: string | Uint8Array): NewArtifact {
    return { runId: this.run.id, name, mediaType, content, createdAt: this.now }
  }

  private release(event: EventDraft, kept: KeptArtifact | undefined): void {
    if (kept === undefined) return event === unkept ? undefined : this.pushFitting(event)
    const { id: artifactId, name, mediaType, size, sha256 } = kept.artifact
    const ready = draft("run.artifact.ready", { artifactId, name, mediaType, size, sha256 })
    this.push(this.encode(this.seq + 1, this.now, ready))
    this.projections.push(kept.row)
    if (event.type === "run.tool.result") {
      this.pushFitting(draft(event.type, { ...event.payload, artifactId }))
    }
  }

  private push(line: string): void {
    this.seq++
    this.lines.push(line)
  }

  private project(
    event: Extract<EventDraft, { readonly type: "run.approval.requested" | "run.approval.resolved" }>
  ): void {
    const { approvalId } = event.payload
    if (event.type === "run.approval.requested") {
      const approval: Approval = {
        id: approvalId,
        runId: this.run.id,
        agentId: this.run.agentId,
        workspace: this.run.workspace,
        state: "pending",
        request: event.payload.request,
        requestedAt: this.now,
        expiresAt: event.payload.expiresAt
      }
      this.approvals.set(approvalId, approval)
      this.projections.push(putApproval(approval))
      return
    }
    const asked = this.approvals.get(approvalId)
    if (asked === undefined) return
    this.approvals.delete(approvalId)
    this.projections.push(replaceApproval({ ...asked, ...approvalResolution(event.payload, this.now) }))
  }

  private snapshot(): Run {
    const { status, pending, used, usage = used, resultText, error, runtimeSessionId, model } = this.state
    return {
      ...this.run,
      state: status ?? "created",
      lastSeq: this.seq,
      pendingApprovals: pending,
      updatedAt: this.now,
      ...(runtimeSessionId === undefined ? {} : { runtimeSessionId }),
      ...(model === undefined ? {} : { model }),
      ...(usage === undefined ? {} : { usage }),
      ...(resultText === undefined ? {} : { resultText: cutText(resultText, RESULT_TEXT) }),
      ...(error === undefined ? {} : { error }),
      ...(this.terminal ? { endedAt: this.now } : {})
    }
  }
}

const none: ReadonlyArray<never> = []
const nothingKept: ReadonlyMap<NewArtifact, KeptArtifact> = new Map()
