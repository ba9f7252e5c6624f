/**
 * Display blocks of a run: one for each message, tool call, file, decision and so on, in the order in which they began. `RunView` creates them from
 * events.
 *
 * Texts are bounded: `BoundedText` says how much is missing and which events contain the whole.
 */
import type { ApprovalRequest, ApprovalState } from "../approval/Approval.ts"
import type { UnknownChangesReason } from "../changes/UnknownChanges.ts"
import type { InputState, RequestedInput } from "../input/InputRequest.ts"
import { charactersFrom, firstCharacters, joinEnds } from "../text/Cut.ts"
import type { KernelRefusal } from "./Confinement.ts"
import type { ProjectSettingsReport } from "./ProjectSettings.ts"
import type { ProtectedChanges, RepositoryChanged } from "./ProtectedChange.ts"
import type { ApprovalResolution, InputResolution } from "./Resolution.ts"
import type { RunFailure, Usage } from "./Run.ts"
import type { PayloadOf } from "./RunEvent.ts"
import type { Step, WorkEnd, WorkKind } from "./Work.ts"
import type { LeftOut } from "./Worktree.ts"

/** Bounded text of a display block: the stored part, and the events that contain the rest. */
export interface BoundedText {
  /** The stored part. */
  readonly text: string
  /** Length of the whole text in characters. */
  readonly size: number
  /** `seq` of the first and the last event that contain the whole text. */
  readonly from: number
  readonly to: number
  /** Characters missing before `text`. All other missing characters are after it. */
  readonly skipped: number
}

/** Stored characters of one text. A growing text can have up to 50 % more. */
export const MAX_KEPT_TEXT = 32_768

export const boundText = (text: string, seq: number, size = text.length): BoundedText => ({
  text: firstCharacters(text, MAX_KEPT_TEXT),
  size,
  from: seq,
  to: seq,
  skipped: 0
})

/** The end of a text, for outputs: what a program says last is what it came to. */
export const boundTextEnd = (bounded: BoundedText, most = MAX_KEPT_TEXT): BoundedText => {
  const text = charactersFrom(bounded.text, Math.max(0, bounded.text.length - most))
  return { ...bounded, text, skipped: bounded.skipped + bounded.text.length - text.length }
}

/** Units of both ends. An event has more of each, so they end before the line that is between its ends. */
const KEPT_START = 4_096
const KEPT_END = 20_480

/** Both ends of a text of `totalBytes` whose middle is left out in its event. */
export const boundTextEnds = (text: string, seq: number, totalBytes: number): BoundedText => {
  const shown =
    text.length <= MAX_KEPT_TEXT
      ? text
      : joinEnds(firstCharacters(text, KEPT_START), charactersFrom(text, text.length - KEPT_END), totalBytes)
  // A text that is cut is never as long as its whole.
  return { text: shown, size: Math.max(totalBytes, shown.length + 1), from: seq, to: seq, skipped: 0 }
}

/** Appends to a growing text. Readers follow its end, so a text that grows too long loses its start, up to the end of a line. */
export const appendText = (bounded: BoundedText, more: string, seq: number): BoundedText => {
  const text = bounded.text + more
  const size = bounded.size + more.length
  if (text.length <= MAX_KEPT_TEXT * 1.5) return { ...bounded, text, size, to: seq }
  const least = text.length - MAX_KEPT_TEXT
  const line = text.indexOf("\n", least)
  const cut = line === -1 || line - least > 2_048 ? least : line + 1
  const rest = charactersFrom(text, cut)
  return { ...bounded, text: rest, size, to: seq, skipped: bounded.skipped + text.length - rest.length }
}

/** The first few lines, for blocks far from the end of a long run. */
export const excerptOf = (bounded: BoundedText): BoundedText =>
  bounded.text.length <= EXCERPT ? bounded : { ...bounded, text: firstCharacters(bounded.text, EXCERPT) }

/** The last few lines, for outputs far from the end of a long run. */
export const excerptOfEnd = (bounded: BoundedText): BoundedText => boundTextEnd(bounded, EXCERPT)

const EXCERPT = 400

/** Whether a part of the text is missing here. */
export const isClipped = ({ size, text }: BoundedText): boolean => text.length < size

interface BlockStart {
  /** `seq` of the event that began the block: its key among the blocks of the run. */
  readonly seq: number
  /** ISO 8601. */
  readonly at: string
}

/** Block of what a sub-agent does. */
interface NestedBlock extends BlockStart {
  /** The tool call that started the sub-agent; absent if the agent itself did it. */
  readonly parentCallId?: string | undefined
}

export interface MessageBlock extends NestedBlock {
  readonly kind: "message"
  readonly messageId: string
  readonly role: "assistant" | "user" | "system"
  readonly channel: "text" | "reasoning"
  readonly body: BoundedText
  /** Whether the message is incomplete: still being written, or interrupted. */
  readonly partial: boolean
}

export interface ToolBlock extends NestedBlock {
  readonly kind: "tool"
  readonly callId: string
  readonly tool: string
  readonly label: string
  /** JSON text. */
  readonly input: BoundedText | undefined
  readonly status: "started" | "completed" | "failed" | "denied" | "cancelled"
  /** Whether the call waits for a pending approval. */
  readonly isWaiting: boolean
  /** JSON text of the input that ran instead of `input`, if a user edited it. */
  readonly allowedInput: BoundedText | undefined
  readonly output: BoundedText | undefined
  readonly exitCode: number | undefined
  readonly kernelRefusal?: KernelRefusal | undefined
  /** Artifact with the whole output, if the output was too long for an event. */
  readonly artifactId: string | undefined
  /** Images and other parts that `output` cannot show. */
  readonly content?: PayloadOf<"run.tool.result">["content"]
  readonly endedAt: string | undefined
}

export interface FileBlock extends NestedBlock {
  readonly kind: "file"
  readonly path: string
  readonly fromPath: string | undefined
  readonly change: "read" | "created" | "modified" | "deleted" | "renamed"
  /** The tool call that did it, if its runtime reports one. */
  readonly callId: string | undefined
}

export interface PatchBlock extends NestedBlock {
  readonly kind: "patch"
  readonly path: string
  readonly patch: BoundedText
  /** The tool call that proposes it, if its runtime reports one. */
  readonly callId: string | undefined
}

export interface DiffBlock extends BlockStart {
  readonly kind: "diff"
  readonly files: number
  readonly additions: number
  readonly deletions: number
  /** Files that could not be compared. */
  readonly leftOut?: LeftOut | undefined
}

/** Nothing is known about the changes of the run. */
export interface UnknownChangesBlock extends BlockStart {
  readonly kind: "unknown_changes"
  readonly reason: UnknownChangesReason
  readonly detail: string | undefined
}

export interface ArtifactBlock extends BlockStart {
  readonly kind: "artifact"
  readonly artifactId: string
  readonly name: string
  readonly mediaType: string
  readonly size: number
}

export interface PreviewBlock extends BlockStart {
  readonly kind: "preview"
  readonly previewId: string
  readonly title: string
  /** ISO 8601. */
  readonly expiresAt: string | undefined
}

export interface ApprovalBlock extends BlockStart {
  readonly kind: "approval"
  readonly approvalId: string
  readonly request: ApprovalRequest
  readonly expiresAt: string
  readonly state: ApprovalState
  /** `undefined` while the approval is pending. */
  readonly resolution: ApprovalResolution | undefined
}

export interface InputBlock extends NestedBlock {
  readonly kind: "input"
  readonly inputId: string
  readonly request: RequestedInput
  readonly expiresAt: string | undefined
  readonly state: InputState
  /** `undefined` while the question is open. */
  readonly resolution: InputResolution | undefined
}

/** Work in the background, from its start on. */
export interface WorkBlock extends NestedBlock {
  readonly kind: "work"
  readonly workId: string
  readonly work: WorkKind
  readonly title: string
  readonly state: "running" | WorkEnd
  readonly endedAt: string | undefined
}

/** The newest list of steps. It stays where the first list was. */
export interface StepsBlock extends NestedBlock {
  readonly kind: "steps"
  readonly steps: ReadonlyArray<Step>
}

export interface NoticeBlock extends NestedBlock {
  readonly kind: "notice"
  readonly notice: PayloadOf<"run.notice">
}

/** A further turn. */
export interface TurnBlock extends BlockStart {
  readonly kind: "turn"
  readonly turn: number
  readonly by: "message" | "program"
}

export interface WarningBlock extends BlockStart {
  readonly kind: "warning"
  readonly code: string
  readonly message: string
  /** Whether the end of the run has the same message. */
  readonly isRepeated: boolean
}

/** Changes of protected names that no approval names. */
export interface ProtectedBlock extends BlockStart {
  readonly kind: "protected"
  readonly changes: ProtectedChanges
}

/** Changes of the repository that no approved command explains. */
export interface RepositoryBlock extends BlockStart {
  readonly kind: "repository"
  readonly change: RepositoryChanged
}

/** A retried model call, or silence of the runtime. Further retries in a row replace the block. */
export interface RetryBlock extends BlockStart {
  readonly kind: "retry"
  readonly retry: PayloadOf<"runtime.retrying">
}

export interface StartBlock extends BlockStart {
  readonly kind: "start"
  readonly model: string | undefined
  readonly version: string | undefined
  readonly projectSettings: ProjectSettingsReport | undefined
  /** Why the run is not confined, although its device confines runs if it can. */
  readonly confinementFailure: string | undefined
  /** Whether the run ends with its Edge although runs outlive it. */
  readonly endsWithEdge: boolean
}

/** A pause by a user, or its end. `by` and `reason` as in the event. */
export interface PauseBlock extends BlockStart {
  readonly kind: "pause"
  readonly change: "paused" | "resumed"
  readonly by: string | undefined
  readonly reason: string | undefined
}

export interface EndBlock extends BlockStart {
  readonly kind: "end"
  readonly state: "completed" | "failed" | "cancelled"
  readonly error: RunFailure | undefined
  readonly reason: string | undefined
  readonly by: string | undefined
  readonly usage: Usage | undefined
  /** Titles of background work that a person stopped by finishing the run. */
  readonly stopped?: ReadonlyArray<string> | undefined
}

/** Events `from` to `to` are no longer available. */
export interface GapBlock extends BlockStart {
  readonly kind: "gap"
  readonly from: number
  readonly to: number
}

export type RunBlock =
  | MessageBlock
  | ToolBlock
  | FileBlock
  | PatchBlock
  | DiffBlock
  | UnknownChangesBlock
  | ArtifactBlock
  | PreviewBlock
  | ApprovalBlock
  | InputBlock
  | WorkBlock
  | StepsBlock
  | NoticeBlock
  | TurnBlock
  | WarningBlock
  | ProtectedBlock
  | RepositoryBlock
  | RetryBlock
  | StartBlock
  | PauseBlock
  | EndBlock
  | GapBlock
