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
import type { ApprovalId, ArtifactId, InputRequestId } from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { ProjectSettingsReport } from "@corral/domain/run/ProjectSettings"
import { approvalResolution, inputResolution } from "@corral/domain/run/Resolution"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { draft, type DraftOf, type EventDraft } from "@corral/domain/run/RunEvent"
import { transition, type TransitionAction, type RunMachineInput } from "@corral/domain/run/RunMachine"
import { initial, liveFieldsOf, type RunState } from "@corral/domain/run/RunState"
import { SparseMap } from "@corral/domain/run/SparseMap"
import { putApproval, putInput, replaceApproval, replaceInput } from "../../store/EdgeRequestRows.ts"
import type { StoredArtifact, NewArtifact } from "../../artifact/Artifacts.ts"
import { ResultContents } from "../../artifact/ResultContents.ts"
import type { ResultRows } from "../../log/EdgeIdempotency.ts"
import { makeEventEncoder, type NewEvents } from "../../log/StoredEvents.ts"
import { cutText, fitPayload, mayExceed, wholeOutput } from "../../log/PayloadLimit.ts"
import { insertRun, updateRun } from "../../log/Runs.ts"
import type { Write } from "../../store/Store.ts"

/** Action that the actor performs once earlier events are durable. */
export type RunAction = Exclude<TransitionAction, { readonly _tag: "Append" }>

/** Rows of a run that wait for people, as a recorder needs them to continue. */
export interface PendingRows {
  readonly approvals: ReadonlyArray<Approval>
  readonly inputs: ReadonlyArray<InputRequest>
}

/** Held event. `artifact` is the artifact that it names, if any; `callId` the call whose result has the artifact. */
interface Held {
  readonly at: string
  readonly event: EventDraft
  readonly artifact: NewArtifact | undefined
  readonly callId: string | undefined
}

type RequestEvent = DraftOf<
  "run.approval.requested" | "run.approval.resolved" | "run.input.requested" | "run.input.resolved"
>

const isRequestEvent = (event: EventDraft): event is RequestEvent =>
  event.type.startsWith("run.approval.") || event.type.startsWith("run.input.")

/** Placeholder event of an artifact for the run machine. Its fields are known once the content is stored. */
const placeholder = draft("run.artifact.ready", {
  artifactId: "art_00000000000000000000000000" as ArtifactId, // never written
  name: "",
  mediaType: "",
  size: 0,
  sha256: ""
})

/** Notice about a file of the runtime that is not stored. */
const lossOf = (artifact: NewArtifact | undefined): EventDraft =>
  draft("run.notice", {
    kind: "warning",
    text: `The agent's file "${artifact?.name ?? ""}" was not kept: it is larger than 50 MiB, or the disk is nearly full.`
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
  private readonly approvals = new SparseMap<ApprovalId, Approval>()
  private readonly inputs = new SparseMap<InputRequestId, InputRequest>()
  private readonly answers = new SparseMap<InputRequestId, ResultRows<InputRequest>>()
  private readonly contents: ResultContents
  private seq = 0
  private lines: Array<string> = []
  private projections: Array<Write> = []
  private results: Array<ResultRows<Run>> = []
  private shownState: RunState = initial
  private now: string
  /** `undefined` while no event of this batch names an artifact. */
  private held: Array<Held> | undefined
  private making: { readonly artifact: NewArtifact; readonly callId: string | undefined } | undefined

  constructor(run: Run, contents = new ResultContents()) {
    this.run = run
    this.contents = contents
    this.now = run.createdAt
    this.encode = makeEventEncoder({ runId: run.id, sessionId: run.sessionId, agentId: run.agentId })
  }

  /** Continues a run whose log has `lastSeq` events that fold to `state`, with what waits for people and for results of calls. */
  static recovered(
    run: Run,
    state: RunState,
    { approvals, inputs }: PendingRows,
    contents: ResultContents
  ): RunRecorder {
    const recorder = new RunRecorder(run, contents)
    recorder.state = state
    recorder.shownState = state
    recorder.seq = run.lastSeq
    for (const approval of approvals) recorder.approvals.set(approval.id, approval)
    for (const input of inputs) recorder.inputs.set(input.id, input)
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

  /**
   * Adds an artifact of the runtime. Emits `run.artifact.ready` here if it is stored, nothing otherwise. With `callId`, the result of that call
   * names it.
   */
  addArtifact(name: string, mediaType: string, content: string | Uint8Array, callId?: string): void {
    this.held ??= []
    this.making = { artifact: this.toKeep(name, mediaType, content), callId }
    this.apply({ _tag: "EventEmitted", event: placeholder })
    this.making = undefined
  }

  /** Artifacts to store before `take`. Usually empty. */
  get pendingArtifacts(): ReadonlyArray<NewArtifact> {
    return this.held?.flatMap(({ artifact }) => artifact ?? []) ?? none
  }

  /** Releases the held events. `stored` has the stored artifacts. Of others, an output stays cut, and a notice names a lost file. */
  settle(stored: ReadonlyMap<NewArtifact, StoredArtifact>): void {
    const { held, now } = this
    if (held === undefined) return
    this.held = undefined
    for (const { at, event, artifact, callId } of held) {
      this.now = at
      const content = artifact === undefined ? undefined : stored.get(artifact)
      if (content === undefined && event === placeholder) this.pushFitting(lossOf(artifact))
      else this.release(event, content, callId)
    }
    this.now = now
  }

  /** Artifacts that tools and the program published so far, as the log of an earlier Edge says. */
  get publishedArtifacts(): number {
    return this.contents.published
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

  /** Adds rows about a question to the transaction of its answer, if it is answered before `take`. */
  addAnswer(inputId: InputRequestId, rows: ResultRows<InputRequest>): void {
    this.answers.set(inputId, rows)
  }

  /** Makes `run` visible after its batch is durable. */
  committed(run: Run): void {
    this.run = run
  }

  private write(original: EventDraft): void {
    const event = this.withReport(original)
    if (this.held === undefined) {
      const whole = this.contents.addTo(event)
      const line = this.encode(this.seq + 1, this.now, whole)
      if (!mayExceed(line)) this.push(line)
      else if (wholeOutput(event) === undefined) this.pushFitting(whole)
      else this.hold(event)
    } else {
      this.hold(event)
    }
    if (isRequestEvent(event)) this.project(event)
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
    const { artifact, callId } =
      event === placeholder && this.making !== undefined
        ? this.making
        : { artifact: this.wholeOf(event), callId: undefined }
    this.held.push({ at: this.now, event, artifact, callId })
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

  private release(event: EventDraft, stored: StoredArtifact | undefined, callId: string | undefined): void {
    const whole = this.contents.addTo(event)
    if (stored === undefined) return this.pushFitting(whole)
    const { id: artifactId, name, mediaType, size, sha256 } = stored.artifact
    const call = callId === undefined ? {} : { callId }
    const ready = draft("run.artifact.ready", { artifactId, name, mediaType, size, sha256, ...call })
    this.push(this.encode(this.seq + 1, this.now, ready))
    this.projections.push(stored.row)
    this.contents.read(ready)
    if (whole.type === "run.tool.result")
      this.pushFitting(draft(whole.type, { ...whole.payload, artifactId }))
  }

  private push(line: string): void {
    this.seq++
    this.lines.push(line)
  }

  private project(event: RequestEvent): void {
    switch (event.type) {
      case "run.approval.requested":
        return this.projectApproval(event.payload)
      case "run.approval.resolved":
        return this.resolveApproval(event.payload)
      case "run.input.requested":
        return this.projectInput(event.payload)
      case "run.input.resolved":
        return this.resolveInput(event.payload)
    }
  }

  private projectApproval({
    approvalId,
    expiresAt,
    request
  }: DraftOf<"run.approval.requested">["payload"]): void {
    const approval: Approval = {
      id: approvalId,
      ...this.placement,
      state: "pending",
      request,
      requestedAt: this.now,
      expiresAt
    }
    this.approvals.set(approvalId, approval)
    this.projections.push(putApproval(approval))
  }

  private resolveApproval(payload: DraftOf<"run.approval.resolved">["payload"]): void {
    const approval = this.approvals.get(payload.approvalId)
    if (approval === undefined) return
    this.approvals.delete(payload.approvalId)
    this.projections.push(replaceApproval({ ...approval, ...approvalResolution(payload, this.now) }))
  }

  private projectInput({ expiresAt, inputId, request }: DraftOf<"run.input.requested">["payload"]): void {
    const input: InputRequest = {
      id: inputId,
      ...this.placement,
      ...request,
      state: "pending",
      requestedAt: this.now,
      ...(expiresAt === undefined ? {} : { expiresAt })
    }
    this.inputs.set(inputId, input)
    this.projections.push(putInput(input))
  }

  private resolveInput(payload: DraftOf<"run.input.resolved">["payload"]): void {
    const input = this.inputs.get(payload.inputId)
    if (input === undefined) return
    this.inputs.delete(payload.inputId)
    const resolved = { ...input, ...inputResolution(payload, this.now) }
    const rows = this.answers.get(payload.inputId)
    this.answers.delete(payload.inputId)
    this.projections.push(replaceInput(resolved), ...(rows?.(resolved) ?? []))
  }

  private get placement(): Pick<Run, "agentId" | "workspace"> & { readonly runId: Run["id"] } {
    const { agentId, id: runId, workspace } = this.run
    return { runId, agentId, workspace }
  }

  private snapshot(): Run {
    const {
      status,
      pending,
      used,
      usage: logged,
      resultText,
      error,
      runtimeSessionId,
      model,
      paused,
      protectedChanges,
      changesUnknown
    } = this.state
    // Reports in the log are some seconds old, but the last event has the final figures.
    const usage = this.terminal ? logged : (used ?? logged)
    const { paused: _paused, turn: _turn, outstanding: _outstanding, ...run } = this.run
    return {
      ...run,
      ...liveFieldsOf(this.state),
      state: status ?? "created",
      ...(paused === undefined ? {} : { paused }),
      lastSeq: this.seq,
      pendingApprovals: pending.keys(),
      updatedAt: this.now,
      ...(runtimeSessionId === undefined ? {} : { runtimeSessionId }),
      ...(model === undefined ? {} : { model }),
      ...(usage === undefined ? {} : { usage }),
      ...(resultText === undefined ? {} : { resultText: cutText(resultText, RESULT_TEXT) }),
      ...(error === undefined ? {} : { error }),
      ...(protectedChanges === undefined ? {} : { protectedChanges }),
      ...(changesUnknown === undefined ? {} : { changesUnknown }),
      ...(this.terminal ? { endedAt: this.now } : {})
    }
  }
}

const none: ReadonlyArray<never> = []
const noneStored: ReadonlyMap<NewArtifact, StoredArtifact> = new Map()
