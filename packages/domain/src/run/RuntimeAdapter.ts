/**
 * The adapter specification, version 1: what a coding-agent runtime must tell Corral to be run by it.
 *
 * An adapter is a value. It says how its program is started, turns raw output into outputs, and turns decisions, inputs and cancels
 * into bytes for stdin. It has no lifecycle, no clock, no ids and does no I/O: the run's actor owns all of those.
 */
import type { Effect, Stream } from "effect"
import type { ApprovalRequest, Decision, DecisionScope } from "../approval/Approval.ts"
import type { EventDraft } from "./RunEvent.ts"
import type { ProjectSettings, ProjectSettingsUse } from "./ProjectSettings.ts"
import type { RunFailure, RunMode, Usage } from "./Run.ts"

export interface Capabilities {
  /** Prints text as it is made. */
  readonly deltas: boolean
  /** Asks before it acts and takes the answer on stdin. */
  readonly approvals: boolean
  /** Takes an edited tool input with an approval. */
  readonly editInput: boolean
  readonly resume: boolean
  /** The runtime has a read-only mode. The Edge enforces it too. */
  readonly readOnly: boolean
  /** Has a protocol message that cancels. */
  readonly cancel: boolean
  /** Takes further user messages while it runs. */
  readonly input: boolean
}

/** What a run asks of an adapter. */
export interface RunStart {
  readonly prompt: string
  readonly mode: RunMode
  /** Absolute real path of the workspace, which is the child's working directory. */
  readonly workspacePath: string
  readonly model?: string | undefined
  /** The runtime's own conversation id of the run that is resumed. */
  readonly resumeSessionId?: string | undefined
  /** Whether files of the project may execute something. Absent means `ignored`. */
  readonly projectSettings?: ProjectSettingsUse | undefined
  /** Rules of the project that forbid, as `denyRules` read them. Empty where project settings are enabled. */
  readonly denyRules?: ReadonlyArray<string> | undefined
}

/** A settings file of one run, which the Edge writes into the run's temporary folder before the start. */
export interface SettingsFile {
  /** The variable that names the file to the runtime. */
  readonly env: string
  readonly name: string
  readonly content: string
}

/** How the program is started. The Edge adds its scrubbed environment, PWD, HOME and TMPDIR. */
export interface RuntimeCommand {
  /** A program name looked up on PATH, or an absolute path. */
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly settingsFiles?: ReadonlyArray<SettingsFile> | undefined
  /**
   * `ignore`: the child reads end-of-file at once. `once`: it reads the protocol's `open`, then end-of-file. `pipe`: the protocol
   * continues to write, and the outcome closes it.
   */
  readonly stdin: "ignore" | "once" | "pipe"
}

/** How a run ended, as the runtime tells it. The actor may know better: a run that we cancelled is cancelled. */
export type Outcome =
  | { readonly _tag: "Completed"; readonly text?: string | undefined; readonly usage?: Usage | undefined }
  | { readonly _tag: "Failed"; readonly error: RunFailure; readonly usage?: Usage | undefined }
  | { readonly _tag: "Cancelled"; readonly reason?: string | undefined; readonly usage?: Usage | undefined }

/** Events that an adapter may say; approvals, creation and the terminal event are made by the actor. */
export type AdapterEvent = Exclude<
  EventDraft,
  {
    readonly type:
      | "run.created"
      | "run.completed"
      | "run.failed"
      | "run.cancelled"
      | "run.approval.requested"
      | "run.approval.resolved"
      | `integration.${string}`
      | `identity.${string}`
  }
>

/** One thing a runtime's output means, in the order it was printed. */
export type AdapterOutput =
  | { readonly _tag: "Event"; readonly event: AdapterEvent }
  /** The runtime waits for a decision. `key` is the runtime's own name for the request. */
  | { readonly _tag: "Approval"; readonly key: string; readonly request: ApprovalRequest }
  /** The runtime no longer waits for that request. */
  | { readonly _tag: "ApprovalWithdrawn"; readonly key: string; readonly reason: string }
  /** Something the runtime made to be kept: a report, a screenshot. `mediaType` as in `Content-Type`; at most 50 MiB. */
  | {
      readonly _tag: "Artifact"
      readonly name: string
      readonly mediaType: string
      readonly content: string | Uint8Array
    }
  /** Bytes the protocol must send back by itself. */
  | { readonly _tag: "Reply"; readonly text: string }
  /** What the run has used so far, where the runtime tells it before the end. Counts only grow. */
  | { readonly _tag: "Usage"; readonly usage: Usage }
  /** The turn is over. The first one counts; the process is then asked to leave. */
  | { readonly _tag: "Outcome"; readonly outcome: Outcome }
  /** Something this adapter has no name for; counted, never fatal. `raw` is what was printed, cut, where it is the first of its kind. */
  | { readonly _tag: "Unknown"; readonly what: string; readonly raw?: string | undefined }

/** How the process ended, when it did. `stderr` is the last 16 KiB. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
  readonly stderr: string
}

export interface ApprovalAnswer {
  readonly decision: Decision
  readonly scope: DecisionScope
  readonly reason?: string | undefined
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined
}

/** What Corral writes to the runtime's stdin during one run. No function throws on any input. */
export interface ProtocolInput {
  /** Written to stdin as soon as the process runs. */
  readonly open: string
  /** The answer to an approval, or `undefined` if the runtime does not accept one. */
  readonly answer: (key: string, answer: ApprovalAnswer) => string | undefined
  /** A further user message, or `undefined` if the runtime does not accept one. */
  readonly input: (text: string) => string | undefined
  /** The protocol's own cancel, or `undefined` if it has none: then only signals end the run. */
  readonly cancel: () => string | undefined
}

/**
 * Synchronous decoder of one run's stdout. It never throws on any input.
 *
 * The same bytes give the same outputs, however they are cut into chunks. `outputDecoder` of `@corral/adapters` makes it a `Stream`.
 */
export interface StepDecoder {
  /** Decodes one read of stdout. Copy the bytes you keep: their memory is released when this returns. */
  readonly step: (chunk: Uint8Array) => ReadonlyArray<AdapterOutput>
  /** Decodes the rest after stdout and the process have ended. Returns an Outcome unless `step` returned one before. */
  readonly end: (end: ProcessEnd) => ReadonlyArray<AdapterOutput>
}

/** Why a decoder cannot continue. The run fails with `message`. */
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

/** Decoder that is a Stream transformer itself. */
export interface StreamDecoder {
  readonly decode: OutputDecoder
}

/** One run's conversation with its runtime, decoded by synchronous steps. The adapters of this repository are of this kind. */
export interface Protocol extends ProtocolInput, StepDecoder {
  readonly decode?: undefined
}

/** One run's conversation with its runtime, decoded by a Stream transformer. */
export interface StreamProtocol extends ProtocolInput, StreamDecoder {
  readonly step?: undefined
  readonly end?: undefined
}

/** A protocol has exactly one decoder: either `step` with `end`, or `decode`. */
export type AnyProtocol = Protocol | StreamProtocol

/** What a probe's call printed, each at most 64 KiB. `code` is `null` where a signal ended it. */
export interface ProbeResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A command that reports whether the user is signed in, without a model call. It must finish within 10 s. */
export interface SignInProbe {
  readonly args: ReadonlyArray<string>
  /** `undefined` where the answer tells neither: an older version that does not know the call. */
  readonly read: (result: ProbeResult) => boolean | undefined
}

/** How an installed program is found and recognised. `versionArgs` must answer within 10 s. */
export interface Probe {
  readonly command: string
  readonly versionArgs: ReadonlyArray<string>
  /** Runs in the environment of a run. Without a probe the sign-in is unknown before a run. */
  readonly signedIn?: SignInProbe | undefined
  /** What to tell a person whose machine lacks the program. */
  readonly install: string
  /** What to tell a person who is not signed in. */
  readonly signIn?: string | undefined
}

/** An adapter. Its protocols have a synchronous decoder unless the type says otherwise. */
export interface RuntimeAdapter<P extends AnyProtocol = Protocol> {
  readonly specificationVersion: 1
  readonly id: string
  readonly label: string
  readonly capabilities: Capabilities
  readonly probe: Probe
  /** Names of the Edge's own environment that this runtime may see, `*` at the end for a prefix. Nothing else of it reaches the child. */
  readonly passEnv?: ReadonlyArray<string> | undefined
  /** Files of a project that execute something. `command` starts the runtime without them unless `start.projectSettings` is `enabled`. */
  readonly projectSettings?: ProjectSettings | undefined
  readonly command: (start: RunStart) => RuntimeCommand
  readonly protocol: (start: RunStart) => P
}

/** An adapter with either kind of decoder, as the Edge runs it. */
export type AnyRuntimeAdapter = RuntimeAdapter<AnyProtocol>
