/**
 * What a run did, as people read it: one block per message, call, file, decision. The fold of its events makes them.
 *
 * Texts are bounded: `Kept` says how much there was and where the Hub has the whole.
 */
import type { ProjectSettingsReport } from "@corral/domain/run/ProjectSettings"
import type { ApprovalRequest, ApprovalState } from "@corral/domain/approval/Approval"
import type { ApprovalResolution } from "@corral/domain/run/Resolution"
import type { RunFailure, Usage } from "@corral/domain/run/Run"
import type { PayloadOf } from "@corral/domain/run/RunEvent"

/** A text, or so much of it as is kept here. */
export interface Kept {
  readonly text: string
  /** Characters in all. */
  readonly size: number
  /** The events that have the whole. */
  readonly from: number
  readonly to: number
  /** How many of the first characters are not in `text`; the others that are missing are missing at its end. */
  readonly skipped: number
}

interface Standing {
  /** Its name among the blocks of the run: the seq of the event that began it. */
  readonly seq: number
  /** ISO 8601. */
  readonly at: string
}

export interface MessageBlock extends Standing {
  readonly kind: "message"
  readonly messageId: string
  readonly role: "assistant" | "user" | "system"
  readonly channel: "text" | "reasoning"
  readonly body: Kept
  /** It is still being written, or its end never came. */
  readonly partial: boolean
}

export interface ToolBlock extends Standing {
  readonly kind: "tool"
  readonly callId: string
  readonly tool: string
  readonly label: string
  /** JSON text. */
  readonly input: Kept | undefined
  readonly status: "started" | "completed" | "failed" | "denied" | "cancelled"
  /** It has not run: its approval is pending. */
  readonly isWaiting: boolean
  /** JSON text of the input that ran instead of `input`, where a person edited it. */
  readonly allowedInput: Kept | undefined
  readonly output: Kept | undefined
  readonly exitCode: number | undefined
  /** The whole output, where it was too long for an event. */
  readonly artifactId: string | undefined
  readonly endedAt: string | undefined
}

export interface FileBlock extends Standing {
  readonly kind: "file"
  readonly path: string
  readonly fromPath: string | undefined
  readonly change: "read" | "created" | "modified" | "deleted" | "renamed"
}

export interface PatchBlock extends Standing {
  readonly kind: "patch"
  readonly path: string
  readonly patch: Kept
}

export interface DiffBlock extends Standing {
  readonly kind: "diff"
  readonly files: number
  readonly additions: number
  readonly deletions: number
}

export interface ArtifactBlock extends Standing {
  readonly kind: "artifact"
  readonly artifactId: string
  readonly name: string
  readonly mediaType: string
  readonly size: number
}

export interface PreviewBlock extends Standing {
  readonly kind: "preview"
  readonly previewId: string
  readonly title: string
  /** ISO 8601. */
  readonly expiresAt: string | undefined
}

export interface ApprovalBlock extends Standing {
  readonly kind: "approval"
  readonly approvalId: string
  readonly request: ApprovalRequest
  readonly expiresAt: string
  readonly state: ApprovalState
  /** How it ended; undefined while it is pending. */
  readonly resolution: ApprovalResolution | undefined
}

export interface WarningBlock extends Standing {
  readonly kind: "warning"
  readonly code: string
  readonly message: string
  /** The end of the run says the same. */
  readonly isRepeated: boolean
}

/** A model call that is tried again, or silence. Further ones in a row take its place. */
export interface RetryBlock extends Standing {
  readonly kind: "retry"
  readonly retry: PayloadOf<"runtime.retrying">
}

export interface StartBlock extends Standing {
  readonly kind: "start"
  readonly model: string | undefined
  readonly version: string | undefined
  readonly projectSettings: ProjectSettingsReport | undefined
}

export interface EndBlock extends Standing {
  readonly kind: "end"
  readonly state: "completed" | "failed" | "cancelled"
  readonly error: RunFailure | undefined
  readonly reason: string | undefined
  readonly by: string | undefined
  readonly usage: Usage | undefined
}

/** Events from `from` to `to` are not to be had any more. */
export interface GapBlock extends Standing {
  readonly kind: "gap"
  readonly from: number
  readonly to: number
}

export type Block =
  | MessageBlock
  | ToolBlock
  | FileBlock
  | PatchBlock
  | DiffBlock
  | ArtifactBlock
  | PreviewBlock
  | ApprovalBlock
  | WarningBlock
  | RetryBlock
  | StartBlock
  | EndBlock
  | GapBlock
