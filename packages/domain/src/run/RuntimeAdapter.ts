/**
 * Adapter specification, versions 1 and 2: what Corral needs to run a coding-agent runtime.
 *
 * Version 2 adds work in the background, further turns, and questions. A run of a version 1 adapter ends at its first outcome.
 *
 * An adapter is a value. It describes how its program is started, decodes stdout into outputs, and encodes decisions, messages and cancels
 * for stdin.
 * Does not: have a lifecycle, a clock, ids or I/O. The run's actor owns these.
 */
import type { Effect, Stream } from "effect"
import type { ApprovalRequest, Decision, DecisionScope } from "../approval/Approval.ts"
import type { InputAnswers, RequestedInput } from "../input/InputRequest.ts"
import type { CountedLimit } from "./Budget.ts"
import type { Continuation } from "./Continuation.ts"
import type { EventDraft } from "./RunEvent.ts"
import type { ProjectSettings, ProjectSettingsUse } from "./ProjectSettings.ts"
import type { RunFailure, RunMode, Usage } from "./Run.ts"
import type { RuntimeFolders } from "./RuntimeFolders.ts"
import type { RuntimeNetwork } from "./RuntimeNetwork.ts"
import type { WorkEnd, WorkKind } from "./Work.ts"

/** Features of a runtime. */
export interface Capabilities {
  /** Streams text while the model writes it. */
  readonly deltas: boolean
  /** Requests approvals and accepts decisions on stdin. */
  readonly approvals: boolean
  /** Accepts an edited tool input with a decision. */
  readonly editInput: boolean
  readonly resume: boolean
  /** The runtime has a read-only mode. The Edge enforces it too. */
  readonly readOnly: boolean
  /** The protocol has a message that cancels the run. */
  readonly cancel: boolean
  /** Accepts further user messages during a run. */
  readonly input: boolean
}

/** An image that belongs to the user's message. */
export interface RunImage {
  /** Absolute path of a file that the runtime can read. */
  readonly path: string
  /** As in `Content-Type`: `image/png`. */
  readonly mediaType: string
  readonly base64: string
}

/** Parameters of a run for its adapter. */
export interface RunStart {
  readonly prompt: string
  readonly mode: RunMode
  /** Absolute real path of the workspace: the working directory of the program. */
  readonly workspacePath: string
  readonly model?: string | undefined
  /** The runtime's conversation id of the resumed run. */
  readonly resumeSessionId?: string | undefined
  /** Whether files of the project may execute something. Default: `ignored`. */
  readonly projectSettings?: ProjectSettingsUse | undefined
  /** Deny rules of the project, as `denyRules` read them. Empty if project settings are enabled. */
  readonly denyRules?: ReadonlyArray<string> | undefined
  /** Images of the message, for an adapter whose `images` is `native`. */
  readonly images?: ReadonlyArray<RunImage> | undefined
  /** Absolute real path of a folder outside the workspace with files of the conversation, which the prompt names. The run may read it. */
  readonly attachmentFolder?: string | undefined
  /** Whether the Edge limits the files and the network of the run. A runtime cannot start a sandbox with user namespaces then, and needs none. */
  readonly isConfined?: boolean | undefined
}

/** A settings file of one run, which the Edge writes into the run's temporary folder before the start. */
export interface SettingsFile {
  /** Environment variable that receives the path of the file. */
  readonly env: string
  readonly name: string
  readonly content: string
}

/** Command that starts the program. The Edge adds its filtered environment, PWD, HOME and TMPDIR. */
export interface RuntimeCommand {
  /** A program name looked up on PATH, or an absolute path. */
  readonly file: string
  readonly args: ReadonlyArray<string>
  /** Program with its first arguments that starts `file`: the path of `file` and `args` follow. Absolute paths. */
  readonly bridge?: readonly [string, ...ReadonlyArray<string>] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly settingsFiles?: ReadonlyArray<SettingsFile> | undefined
  /**
   * `ignore`: stdin is empty. `once`: stdin has the protocol's `open`, then ends. `pipe`: stdin stays open for further input until the
   * outcome.
   */
  readonly stdin: "ignore" | "once" | "pipe"
}

/** Outcome of a turn as the runtime reports it. The actor can override it: a run that the user cancelled is cancelled. */
export type Outcome =
  | {
      readonly _tag: "Completed"
      readonly text?: string | undefined
      readonly usage?: Usage | undefined
      /** Titles of work that a person stopped by finishing the run. Only the Edge sets them. */
      readonly stopped?: ReadonlyArray<string> | undefined
    }
  | { readonly _tag: "Failed"; readonly error: RunFailure; readonly usage?: Usage | undefined }
  | { readonly _tag: "Cancelled"; readonly reason?: string | undefined; readonly usage?: Usage | undefined }

/** Events that an adapter can emit. The actor creates the others: creation, approvals and the terminal event. */
export type AdapterEvent = Exclude<
  EventDraft,
  {
    readonly type:
      | "run.created"
      | "run.completed"
      | "run.failed"
      | "run.cancelled"
      | "run.paused"
      | "run.resumed"
      | `run.approval.${string}`
      | `run.input.${string}`
      | `run.work.${string}`
      | `run.turn.${string}`
      | `integration.${string}`
      | `identity.${string}`
  }
>

/** Tokens of a call to a model, for its price. All tokens that are read from or written to a cache are part of `inputTokens`. */
export interface ModelCall {
  /** Default: the model of the run. */
  readonly model?: string | undefined
  readonly inputTokens: number
  /** With those of the reasoning. */
  readonly outputTokens: number
  readonly cachedInputTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  /** Part of `cacheWriteTokens`: those that are cached for an hour. */
  readonly longCacheWriteTokens?: number | undefined
  /** How many calls these are together. A long prompt costs more in one call than in several. Default: 1. */
  readonly count?: number | undefined
}

/**
 * What a run has used so far, if the runtime reports it before the end. Counts never decrease. `usage.costUsd` is the program's figure for all of it:
 * leave it out while it is of less. Then the Edge adds prices.
 */
export interface UsageReport {
  readonly usage: Usage
  /** Calls since the last report. Default: the difference of the counts, as one call of the run's model. */
  readonly calls?: ReadonlyArray<ModelCall> | undefined
  /** The tokens are paid by a subscription, so that they have no cost. */
  readonly subscription?: boolean | undefined
}

/** Decoded output of a runtime. Outputs keep the order of the raw output. */
export type AdapterOutput =
  | { readonly _tag: "Event"; readonly event: AdapterEvent }
  /** The runtime waits for a decision. `key` is the runtime's id of the request. */
  | { readonly _tag: "Approval"; readonly key: string; readonly request: ApprovalRequest }
  /** The runtime no longer waits for that request. */
  | { readonly _tag: "ApprovalWithdrawn"; readonly key: string; readonly reason: string }
  /**
   * The runtime asks a person, and waits for `respond`. `key` is the runtime's id of the request. Without `sealingKey`: the Edge adds it.
   */
  | { readonly _tag: "InputRequested"; readonly key: string; readonly request: RequestedInput }
  /** The runtime no longer waits for that answer; `self_answered`: because it continued without one. */
  | {
      readonly _tag: "InputWithdrawn"
      readonly key: string
      readonly state: "withdrawn" | "self_answered"
    }
  /** Work in the background that began or ended. `id` is unique in the run. The first output of a work has its title. */
  | {
      readonly _tag: "Work"
      readonly id: string
      readonly kind: WorkKind
      readonly title: string
      readonly parentCallId?: string | undefined
      readonly state: "running" | Exclude<WorkEnd, "unfinished">
      /** Of ended work: the runtime starts a turn because of it. An outcome then waits for that turn, for a few seconds. */
      readonly continues?: boolean | undefined
    }
  /**
   * The runtime has started a turn by itself, or because of a message. An outcome that waits is discarded. `ended`: outcome of the turn before,
   * if this turn followed without a pause, so that no `Outcome` was emitted.
   */
  | {
      readonly _tag: "TurnStarted"
      readonly by?: "message" | undefined
      readonly ended?: Outcome | undefined
    }
  /** A file that the runtime produced, such as a report or a screenshot. `mediaType` as in `Content-Type`; at most 50 MiB. */
  | {
      readonly _tag: "Artifact"
      readonly name: string
      readonly mediaType: string
      readonly content: string | Uint8Array
      /** The call whose result the file belongs to: its `run.tool.result` names the artifact in `content`. */
      readonly callId?: string | undefined
    }
  /** Text that the protocol requires as an immediate reply on stdin. */
  | { readonly _tag: "Reply"; readonly text: string }
  | ({ readonly _tag: "Usage" } & UsageReport)
  /**
   * The turn has ended. The newest outcome replaces earlier ones. It ends the run when no work is outstanding and no further turn follows; the
   * process is then asked to exit.
   */
  | { readonly _tag: "Outcome"; readonly outcome: Outcome }
  /** Output that the adapter does not recognize. Counted, never fatal. `raw` is the truncated output of the first one of its kind. */
  | { readonly _tag: "Unknown"; readonly what: string; readonly raw?: string | undefined }

/** Exit of the process. `stderr` has its last 16 KiB. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
  readonly stderr: string
}

/** Decision on an approval, as it is sent to the runtime. */
export interface ApprovalAnswer {
  readonly decision: Decision
  readonly scope: DecisionScope
  readonly reason?: string | undefined
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined
}

/** Answer to an input request, as it is sent to the runtime. `answers` are valid for the request; secrets are open. */
export type InputResponse =
  | { readonly _tag: "Answered"; readonly answers: InputAnswers; readonly comment?: string | undefined }
  /** No one answered, for the reason in `reason`: the runtime must not receive a choice. */
  | { readonly _tag: "Unanswered"; readonly reason: string }
  | {
      readonly _tag: "PlanApproved"
      readonly mode?: RunMode | undefined
      readonly comment?: string | undefined
      /** The run ends with the plan. The work follows in the next run of the conversation. */
      readonly endsRun: boolean
    }
  | { readonly _tag: "PlanReturned"; readonly comment?: string | undefined }

/** What Corral writes to the runtime's stdin during one run. No function throws on any input. */
export interface ProtocolInput {
  /** Written to stdin when the process has started. */
  readonly open: string
  /** The decision on an approval as text, or `undefined` if the runtime does not accept one. */
  readonly answer: (key: string, answer: ApprovalAnswer) => string | undefined
  /** The answer to an input request as text, or `undefined` if nothing is written. Required if the decoder emits `InputRequested`. */
  readonly respond?: ((key: string, response: InputResponse) => string | undefined) | undefined
  /** A further user message as text, or `undefined` if the runtime does not accept one. */
  readonly input: (text: string) => string | undefined
  /** The cancel message of the protocol, or `undefined` if it has none. Only signals end the run then. */
  readonly cancel: () => string | undefined
}

/**
 * Synchronous decoder of one run's stdout. It never throws on any input.
 *
 * The same bytes give the same outputs, regardless of their division into chunks. `outputDecoder` of `@corral/adapters` converts it to a
 * `Stream`.
 */
export interface StepDecoder {
  /** Decodes one read of stdout. Copy bytes that you keep: their memory is released when the call returns. */
  readonly step: (chunk: Uint8Array) => ReadonlyArray<AdapterOutput>
  /** Decodes the rest after stdout and the process have ended. Returns an Outcome unless `step` returned one before and no work was outstanding. */
  readonly end: (end: ProcessEnd) => ReadonlyArray<AdapterOutput>
}

/** Reason why a decoder cannot continue. The run fails with `message`. */
export interface DecodeFailure {
  readonly _tag: "DecodeFailure"
  readonly message: string
}

/**
 * Stream transformer from one run's stdout to its outputs.
 *
 * `stdout` completes when the process has ended and its output is read; only then does `exit` succeed. The outputs include an Outcome.
 * The Edge stops reading the runtime's output while earlier outputs wait, so pull `stdout` only when outputs are pulled.
 */
export type OutputDecoder = <E, R>(
  stdout: Stream.Stream<Uint8Array, E, R>,
  exit: Effect.Effect<ProcessEnd, E, R>
) => Stream.Stream<AdapterOutput, E | DecodeFailure, R>

/** Decoder that is a Stream transformer. */
export interface StreamDecoder {
  readonly decode: OutputDecoder
}

/** Protocol of one run with a synchronous decoder. All adapters of this repository have one. */
export interface Protocol extends ProtocolInput, StepDecoder {
  readonly decode?: undefined
}

/** Protocol of one run with a Stream transformer as decoder. */
export interface StreamProtocol extends ProtocolInput, StreamDecoder {
  readonly step?: undefined
  readonly end?: undefined
}

/** A protocol has exactly one decoder: either `step` with `end`, or `decode`. */
export type AnyProtocol = Protocol | StreamProtocol

/** Result of a probe. Outputs are at most 64 KiB each. `code` is `null` if a signal ended the process. */
export interface ProbeResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A command that reports whether the user is signed in, without a model call. It must finish within 10 s. */
export interface SignInProbe {
  readonly args: ReadonlyArray<string>
  /** Whether the user is signed in; `undefined` if the result does not show it, such as from an older version. */
  readonly read: (result: ProbeResult) => boolean | undefined
}

/** How the Edge detects an installed program. The command with `versionArgs` must finish within 10 s. */
export interface Probe {
  readonly command: string
  readonly versionArgs: ReadonlyArray<string>
  /** Runs in the environment of a run. Without it the sign-in is unknown before a run. */
  readonly signedIn?: SignInProbe | undefined
  /** Hint for a user whose machine does not have the program. */
  readonly install: string
  /** Hint for a user who is not signed in. */
  readonly signIn?: string | undefined
}

/** An adapter. Its protocols have a synchronous decoder unless the type says otherwise. */
export interface RuntimeAdapter<P extends AnyProtocol = Protocol> {
  readonly specificationVersion: 1 | 2
  readonly id: string
  readonly label: string
  readonly capabilities: Capabilities
  /** What the decoder counts in `Usage` outputs while the model works, so that a budget can limit it. `cost`: the figure, or the calls. Default: nothing. */
  readonly counts?: ReadonlyArray<CountedLimit> | undefined
  /** The program reports what it costs, so that tokens without a figure have no cost. The Edge then estimates only with prices of its owner. */
  readonly reportsCost?: boolean | undefined
  /** What a resumed run may change. Without it a change of model or mode is left to the runtime. */
  readonly continuation?: Continuation | undefined
  /** `native`: the model receives `start.images`. `path`, the default: a message can only name a file. */
  readonly images?: "native" | "path" | undefined
  readonly probe: Probe
  /** Environment variables of the Edge that the runtime receives; `*` at the end matches a prefix. It receives no others. */
  readonly passEnv?: ReadonlyArray<string> | undefined
  /** Project files that can execute something. `command` starts the runtime without them unless `start.projectSettings` is `enabled`. */
  readonly projectSettings?: ProjectSettings | undefined
  /** Folders outside the workspace for confined runs. Without them a confined run has no state of the runtime, and so no sign-in. */
  readonly folders?: RuntimeFolders | undefined
  /** Hosts that a confined run reaches in every mode. Without them it reaches what the user allows. */
  readonly network?: RuntimeNetwork | undefined
  readonly command: (start: RunStart) => RuntimeCommand
  readonly protocol: (start: RunStart) => P
}

/** An adapter with either kind of decoder. */
export type AnyRuntimeAdapter = RuntimeAdapter<AnyProtocol>
