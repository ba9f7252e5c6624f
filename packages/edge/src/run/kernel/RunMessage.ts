/** Messages of a live run: everything that can happen to it. */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { StoredArtifact } from "../../artifact/Artifacts.ts"
import type { FoundArtifacts } from "../../attachment/ProgramArtifacts.ts"
import type { ApprovalRequest, DecisionOrigin } from "@corral/domain/approval/Approval"
import type {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  Conflict,
  NotFound,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { ApprovalId, InputRequestId, MessageId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputAnswers, InputRequest } from "@corral/domain/input/InputRequest"
import type { Budget } from "@corral/domain/run/Budget"
import type { Run, RunFailure } from "@corral/domain/run/Run"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type {
  AdapterEvent,
  AdapterOutput,
  ApprovalAnswer,
  ProcessEnd
} from "@corral/domain/run/RuntimeAdapter"
import { Data, type Deferred } from "effect"
import type { ResultRows } from "../../log/EdgeIdempotency.ts"
import type { ChildEnd } from "../../process/RunChild.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"

export type DecideFailure = ApprovalAlreadyResolved | ApprovalExpired | NotFound | SchemaValidationFailed

/** The question is not open. Its row has its state. */
export class AnswerRefused extends Data.TaggedError("AnswerRefused")<{}> {}

/** The person or policy that decides, and the place of the decision. An older Hub does not send the place. */
export interface Decider {
  readonly by: string
  readonly origin?: DecisionOrigin | undefined
}

/** A pause or a resume that a user requests. */
export interface PauseRequest {
  readonly by: string
  readonly reason: string | undefined
  readonly reply: Deferred.Deferred<void, Conflict>
}

export type RunMessage =
  /** The run has a slot and its workspace is ready. */
  | { readonly _tag: "Ready"; readonly command: SubprocessSpec }
  | { readonly _tag: "Unready"; readonly error: RunFailure }
  /** What the adapter decoded. `weight` goes back to the `StdoutReader`. */
  | { readonly _tag: "Decoded"; readonly outputs: ReadonlyArray<AdapterOutput>; readonly weight: number }
  /** The process has ended and its output is decoded. `reply`: the end as the adapter may see it. */
  | { readonly _tag: "Exited"; readonly end: ChildEnd; readonly reply: Deferred.Deferred<ProcessEnd> }
  | { readonly _tag: "DecodeFailed"; readonly message: string }
  /** The decoder has completed, after the process ended. */
  | { readonly _tag: "DecodingEnded" }
  /** The backlog may continue. */
  | { readonly _tag: "Resumed" }
  | { readonly _tag: "SpawnFailed"; readonly error: NodeJS.ErrnoException }
  /** No process of the run is alive. `review`: what the Edge found in the workspace afterwards. */
  | { readonly _tag: "Swept"; readonly review: ReadonlyArray<RunMachineInput> }
  | { readonly _tag: "Announced"; readonly event: AdapterEvent }
  /** An artifact whose content is on disk. */
  | {
      readonly _tag: "Published"
      readonly stored: StoredArtifact
      /** Rows to commit together with the artifact. */
      readonly keep: ResultRows<Artifact>
      readonly reply: Deferred.Deferred<void, Conflict>
    }
  /** Files that the program has put into its folder for artifacts. Their contents are on disk. */
  | ({ readonly _tag: "Collected" } & FoundArtifacts)
  /** A connection of a confined run needs a decision. `reply`: the answer; `undefined` if none can be requested now. */
  | {
      readonly _tag: "ConnectionRequested"
      /** Host and port. */
      readonly address: string
      readonly request: ApprovalRequest
      readonly reply: Deferred.Deferred<ApprovalAnswer | undefined>
    }
  /** The process of an earlier Edge continues. */
  | { readonly _tag: "Adopted" }
  /** Outputs that an earlier Edge read and did not apply. They are redacted. */
  | { readonly _tag: "Replayed"; readonly outputs: ReadonlyArray<AdapterOutput> }
  | { readonly _tag: "Spent"; readonly limit: keyof Budget; readonly used: number }
  | { readonly _tag: "ApprovalExpired"; readonly approvalId: ApprovalId }
  | { readonly _tag: "InputExpired"; readonly inputId: InputRequestId }
  /** No one has the key for secret answers to the question any longer. `key`: the runtime's id of the question. */
  | { readonly _tag: "KeyLost"; readonly inputId: InputRequestId; readonly key: string }
  | {
      readonly _tag: "TimedOut"
      readonly kind: PayloadOf<"runtime.timeout">["kind"]
      readonly afterMs: number
    }
  /** The background work of that turn has reached its limit. Without a turn: the holder has ended the process for it. */
  | { readonly _tag: "BackgroundEnded"; readonly turn: number | undefined; readonly afterMs: number }
  /** No further turn came in time. */
  | { readonly _tag: "Settled" }
  /** The log receives what the run has used. */
  | { readonly _tag: "UsageDue" }
  /** The runtime has printed nothing for that long. */
  | { readonly _tag: "Quiet"; readonly silentMs: number }
  | { readonly _tag: "Cancel"; readonly reason: string; readonly by: string }
  | {
      readonly _tag: "Finish"
      readonly by: string
      readonly reply: Deferred.Deferred<void, Conflict>
    }
  | ({ readonly _tag: "Pause" } & PauseRequest)
  | ({ readonly _tag: "Resume" } & PauseRequest)
  /** The freeze of a pause has ended. */
  | { readonly _tag: "FreezeEnded"; readonly isFrozen: boolean }
  | ({
      readonly _tag: "Decide"
      readonly approvalId: ApprovalId
      readonly answer: ApprovalAnswer
      readonly reply: Deferred.Deferred<void, DecideFailure>
    } & Decider)
  | ({
      readonly _tag: "AnswerInput"
      readonly inputId: InputRequestId
      /** Without seals. */
      readonly answer: InputAnswer
      /** Its answers with sealed secrets, for the journal. */
      readonly stored: InputAnswers | undefined
      /** Rows to commit together with the answer. */
      readonly keep: ResultRows<InputRequest> | undefined
      readonly reply: Deferred.Deferred<void, SchemaValidationFailed | AnswerRefused>
    } & Decider)
  | {
      readonly _tag: "Input"
      readonly text: string
      /** Id of the input in the log; a new one where it is absent. */
      readonly messageId: MessageId | undefined
      /** What only the runtime receives, after the text. */
      readonly note: string
      /** Rows to commit together with the input. */
      readonly keep: ResultRows<Run> | undefined
      readonly reply: Deferred.Deferred<void, Conflict>
    }

/** The message with that tag. */
export type RunMessageOf<Tag extends RunMessage["_tag"]> = Extract<RunMessage, { readonly _tag: Tag }>

/** Whether a message keeps its place in the order in which the runtime printed. */
export const isOutput = ({ _tag }: RunMessage): boolean =>
  _tag === "Decoded" ||
  _tag === "Replayed" ||
  _tag === "Exited" ||
  _tag === "DecodeFailed" ||
  _tag === "DecodingEnded" ||
  _tag === "Swept"
