/**
 * Recorder of one run: turns inputs of the run machine into event lines, projection rows and actions.
 *
 * Synchronous and without I/O; one per live run, used only by its actor. It has two states: the newest, and the one that is on disk. Readers
 * see only the latter.
 *
 * An artifact, or the whole of a cut output, must be on disk before the event that names it. Such an event and all later ones are held
 * until `settle` receives the stored artifacts.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { ApprovalId, ArtifactId } from "@corral/domain/identity/Ids"
import type { ProjectSettingsReport } from "@corral/domain/run/ProjectSettings"
import { approvalResolution } from "@corral/domain/run/Resolution"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { transition, type TransitionAction, type RunMachineInput } from "@corral/domain/run/RunMachine"
import { initial, type RunState } from "@corral/domain/run/RunState"
import { putApproval, replaceApproval } from "../approval/Approvals.ts"
import type { StoredArtifact, NewArtifact } from "../artifact/Artifacts.ts"
import type { ResultRows } from "../log/EdgeIdempotency.ts"
import type { NewEvents } from "../log/StoredBatch.ts"
import { makeEventEncoder } from "../log/EventEncoder.ts"
import { cutText, fitPayload, mayExceed, wholeOutput } from "./PayloadLimit.ts"
import { insertRun, updateRun } from "../log/Runs.ts"
import type { Write } from "../store/Store.ts"

/** Action that the actor performs once earlier events are durable. */
export type RunAction = Exclude<TransitionAction, { readonly _tag: "Append" }>

/** Held event. `artifact` is the artifact that it names, if any. */
interface Held {
  readonly at: string
  readonly event: EventDraft
  readonly artifact: NewArtifact | undefined
}

/** Placeholder event of an artifact for the run machine. Its fields are known once the content is stored. */
const placeholder = draft("run.artifact.ready", {
  artifactId: "art_00000000000000000000000000" as ArtifactId, // never written
  name: "",
  mediaType: "",
  size: 0,
  sha256: ""
})

/** 64 KiB of text, and its quotes. */
const RESULT_TEXT = 65_538

export class RunRecorder {
  /** The run in its state on disk. */
  run: Run
  state: RunState = initial
  /** Report about the project's settings, for `run.started`. */
  projectSettings: ProjectSettingsReport | undefined
  private readonly encode: ReturnType<typeof makeEventEncoder>
  private readonly approvals = new Map<ApprovalId, Approval>()
  private seq = 0
  private lines: Array<string> = []
  private projections: Array<Write> = []
  private results: Array<ResultRows<Run>> = []
  private shownState: RunState = initial
  private now: string
  /** `undefined` while no event of this batch names an artifact. */
  private held: Array<Held> | undefined
  private making: NewArtifact | undefined

  constructor(run: Run) {
    this.run = run
    this.now = run.createdAt
    this.encode = makeEventEncoder({ runId: run.id, sessionId: run.sessionId, agentId: run.agentId })
  }

  /** Continues a run whose log has `lastSeq` events that fold to `state`, with its pending approvals. */
  static recovered(run: Run, state: RunState, pending: ReadonlyArray<Approval>): RunRecorder {
    const recorder = new RunRecorder(run)
    recorder.state = state
    recorder.shownState = state
    recorder.seq = run.lastSeq
    for (const approval of pending) recorder.approvals.set(approval.id, approval)
    return recorder
  }

  /** Sets the time of the next events, ISO 8601. */
  at(now: string): void {
    this.now = now
  }

  /** Applies an input to the run machine. Collects its events for `take` and returns its actions. */
  apply(input: RunMachineInput): ReadonlyArray<RunAction> {
    const [state, actions] = transition(this.state, input)
    this.state = state
    let rest: Array<RunAction> | undefined
    for (const action of actions) {
      if (action._tag === "Append") this.write(action.event)
      else (rest ??= []).push(action)
    }
    return rest ?? none
  }

  /** Adds an artifact of the runtime. Emits `run.artifact.ready` here if it is stored, nothing otherwise. */
  addArtifact(name: string, mediaType: string, content: string | Uint8Array): void {
    this.held ??= []
    this.making = this.toKeep(name, mediaType, content)
    this.apply({ _tag: "EventEmitted", event: placeholder })
    this.making = undefined
  }

  /** Artifacts to store before `take`. Usually empty. */
  get pendingArtifacts(): ReadonlyArray<NewArtifact> {
    return this.held?.flatMap(({ artifact }) => artifact ?? []) ?? none
  }

  /** Releases the held events. `stored` has the stored artifacts. Others are left out of the log: an output stays cut, an artifact has no event. */
  settle(stored: ReadonlyMap<NewArtifact, StoredArtifact>): void {
    const { held, now } = this
    if (held === undefined) return
    this.held = undefined
    for (const { at, event, artifact } of held) {
      this.now = at
      this.release(event, artifact === undefined ? undefined : stored.get(artifact))
    }
    this.now = now
  }

  get terminal(): boolean {
    return this.state.status !== undefined && isTerminal(this.state.status)
  }

  /** Whether there is something to append. */
  get hasChanges(): boolean {
    return (
      this.lines.length > 0 ||
      this.projections.length > 0 ||
      this.results.length > 0 ||
      this.held !== undefined ||
      this.state.status !== this.shownState.status
    )
  }

  /**
   * Batch to append; `undefined` if nothing changed. A batch without events has a row for a state without an event, such as `starting`.
   * `outputs`: as in `NewEvents`.
   */
  take(
    outputs?: number
  ):
    | { readonly events: NewEvents; readonly projections: ReadonlyArray<Write>; readonly run: Run }
    | undefined {
    this.settle(noneStored)
    if (!this.hasChanges) return undefined
    const events: NewEvents = {
      runId: this.run.id,
      firstSeq: this.seq - this.lines.length + 1,
      count: this.lines.length,
      lines: this.lines.join("\n"),
      terminal: this.terminal,
      outputs
    }
    const run = this.snapshot()
    const isNew = events.firstSeq === 1
    // Streamed text changes no row.
    if (isNew || this.state !== this.shownState) {
      this.projections.push(isNew ? insertRun(run) : updateRun(run))
      this.shownState = this.state
    }
    const projections = [...this.projections, ...this.results.flatMap((rows) => rows(run))]
    this.lines = []
    this.projections = []
    this.results = []
    return { events, projections, run }
  }

  /** Adds rows to the transaction of the next events. */
  addRows(writes: ReadonlyArray<Write>): void {
    this.projections.push(...writes)
  }

  /** Adds rows about the run as the next events leave it to their transaction. */
  addResult(rows: ResultRows<Run>): void {
    this.results.push(rows)
  }

  /** Makes `run` visible after its batch is durable. */
  committed(run: Run): void {
    this.run = run
  }

  private write(original: EventDraft): void {
    const event = this.withReport(original)
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
    for (const fitting of fitPayload(event)) this.push(this.encode(this.seq + 1, this.now, fitting))
  }

  private hold(event: EventDraft): void {
    this.held ??= []
    this.held.push({
      at: this.now,
      event,
      artifact: event === placeholder ? this.making : this.wholeOf(event)
    })
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

  private release(event: EventDraft, stored: StoredArtifact | undefined): void {
    if (stored === undefined) return event === placeholder ? undefined : this.pushFitting(event)
    const { id: artifactId, name, mediaType, size, sha256 } = stored.artifact
    const ready = draft("run.artifact.ready", { artifactId, name, mediaType, size, sha256 })
    this.push(this.encode(this.seq + 1, this.now, ready))
    this.projections.push(stored.row)
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
    const approval = this.approvals.get(approvalId)
    if (approval === undefined) return
    this.approvals.delete(approvalId)
    this.projections.push(replaceApproval({ ...approval, ...approvalResolution(event.payload, this.now) }))
  }

  private snapshot(): Run {
    const {
      status,
      pending,
      used,
      usage = used,
      resultText,
      error,
      runtimeSessionId,
      model,
      paused,
      protectedChanges
    } = this.state
    const { paused: _, ...run } = this.run
    return {
      ...run,
      state: status ?? "created",
      ...(paused === undefined ? {} : { paused }),
      lastSeq: this.seq,
      pendingApprovals: pending,
      updatedAt: this.now,
      ...(runtimeSessionId === undefined ? {} : { runtimeSessionId }),
      ...(model === undefined ? {} : { model }),
      ...(usage === undefined ? {} : { usage }),
      ...(resultText === undefined ? {} : { resultText: cutText(resultText, RESULT_TEXT) }),
      ...(error === undefined ? {} : { error }),
      ...(protectedChanges === undefined ? {} : { protectedChanges }),
      ...(this.terminal ? { endedAt: this.now } : {})
    }
  }
}

const none: ReadonlyArray<never> = []
const noneStored: ReadonlyMap<NewArtifact, StoredArtifact> = new Map()
