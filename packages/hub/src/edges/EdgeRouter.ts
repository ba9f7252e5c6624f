/**
 * The way from the Hub to the Edge of a target, and never to another one. Who may ask is found before; what comes of it is the Edge's answer.
 *
 * A failure says that the Edge did not do it, but for `target_offline` with `outcome: "unknown"`: it was asked and has not answered, and nobody guesses
 * what was done.
 */
import { type Approval, ApprovalState } from "@corral/domain/approval/Approval"
import type { Artifact } from "@corral/domain/run/Artifact"
import type { Diff } from "@corral/domain/edge-api/Diff"
import {
  type CommandId,
  type CommandName,
  type CommandPayload,
  type CommandSuccess,
  edgeCommands
} from "@corral/domain/link/EdgeCommand"
import { type ErrorCode, errorTable, isErrorCode } from "@corral/domain/errors/ErrorTable"
import {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  Conflict,
  NotFound,
  Overloaded,
  PayloadTooLarge,
  PermissionDenied,
  RunNotCancellable,
  SchemaValidationFailed,
  TargetOffline,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import { ApprovalId, type DeviceId } from "@corral/domain/identity/Ids"
import type { OpenedPreview } from "@corral/domain/device/Preview"
import type { CreateRun, Run, RunFailure } from "@corral/domain/run/Run"
import type { FileEntry, FilePreview } from "@corral/domain/device/Workspace"
import { fingerprintOf } from "@corral/service/Fingerprint"
import { Context, Data, Effect, Layer, Option, Schema } from "effect"
import type { SqlError } from "effect/sql"
import {
  type CommandRequest,
  Commands,
  isReadCommand,
  startCommandId,
  OUTCOME_UNKNOWN_MESSAGE
} from "./Commands.ts"
import { type OfferRefusal, findOfferRefusal } from "../run/OfferRefusal.ts"
import { Targets } from "./Targets.ts"

/** Why an Edge does not take a run: any code of the error table. */
export class StartRefused extends Data.TaggedError("StartRefused")<{
  readonly code: ErrorCode
  readonly message: string
}> {}

/** Nothing was done: the target is not there, or has too much to do. */
type NotDone = Overloaded | TargetOffline | SqlError.SqlError
type Routed<A, E> = Effect.Effect<A, E | NotDone>

export class EdgeRouter extends Context.Service<
  EdgeRouter,
  {
    /** Whether the target offers that, as far as it has told, and is there. */
    readonly checkOffer: (
      targetId: DeviceId,
      create: CreateRun
    ) => Effect.Effect<void, OfferRefusal | TargetOffline | SqlError.SqlError>
    /** Asked for the same run again, it is the same start. `onWritten` runs once it is in line: what is asked later comes later. */
    readonly start: (
      targetId: DeviceId,
      command: CommandPayload<"StartRun">,
      onWritten?: Effect.Effect<void>
    ) => Effect.Effect<Run, StartRefused | TargetOffline | SqlError.SqlError>
    readonly cancel: (
      targetId: DeviceId,
      command: CommandPayload<"CancelRun">
    ) => Routed<Run, RunNotCancellable>
    /** Sent under the same key again, it is the same input. */
    readonly sendInput: (
      targetId: DeviceId,
      command: CommandPayload<"SendInput">,
      key?: string
    ) => Routed<Run, Conflict | PermissionDenied>
    readonly decide: (
      targetId: DeviceId,
      command: CommandPayload<"DecideApproval">
    ) => Routed<Approval, DecisionRefusal>
    readonly readDiff: (
      targetId: DeviceId,
      command: CommandPayload<"ReadDiff">
    ) => Routed<Diff, PermissionDenied>
    readonly listArtifacts: (
      targetId: DeviceId,
      command: CommandPayload<"ListArtifacts">
    ) => Routed<ReadonlyArray<Artifact>, PermissionDenied>
    /** Bytes of one artifact, from an offset. */
    readonly readArtifact: (
      targetId: DeviceId,
      command: CommandPayload<"ReadArtifact">
    ) => Routed<CommandSuccess<"ReadArtifact">, PermissionDenied>
    /** An address of that preview for a browser on the target itself. `conflict`: the Edge is of a version that gives none. */
    readonly openPreview: (
      targetId: DeviceId,
      command: CommandPayload<"OpenPreview">
    ) => Routed<OpenedPreview, Conflict | NotFound>
    readonly listFiles: (
      targetId: DeviceId,
      command: CommandPayload<"ListFiles">
    ) => Routed<ReadonlyArray<FileEntry>, ReadRefusal>
    readonly readFile: (
      targetId: DeviceId,
      command: CommandPayload<"ReadFile">
    ) => Routed<FilePreview, PayloadTooLarge | ReadRefusal>
  }
>()("corral/hub/EdgeRouter") {
  static readonly layer = Layer.effect(
    EdgeRouter,
    Effect.gen(function* () {
      const commands = yield* Commands
      const targets = yield* Targets

      const offline = Effect.fnUntraced(function* (targetId: DeviceId, unknown: boolean) {
        const lastSeenAt = (yield* targets.find(targetId))?.lastSeenAt
        return yield* new TargetOffline({
          ...(unknown ? { message: OUTCOME_UNKNOWN_MESSAGE } : {}),
          details: {
            targetId,
            ...(lastSeenAt === undefined ? {} : { lastSeenAt }),
            ...(unknown ? { outcome: "unknown" as const } : {})
          }
        })
      })

      const broken = (name: CommandName, what: string) =>
        Effect.die(new Error(`An Edge has answered ${name} with ${what}.`))

      /** Asks, and judges the answer: `fits` says whether it is of what was asked, `refusal` what a code of the Edge's means here. */
      const route = Effect.fnUntraced(function* <N extends CommandName, E>(
        asking: CommandRequest<N>,
        refusal: (error: RunFailure) => E | undefined,
        fits: (value: CommandSuccess<N>) => boolean = () => true
      ) {
        const { name, targetId } = asking
        const asked = yield* commands.send(asking)
        if (asked._tag !== "Answered")
          return yield* offline(targetId, asked._tag === "Unknown" && !isReadCommand(name))
        const { outcome } = asked
        if (outcome._tag === "Refused") {
          const { code, details } = outcome.error
          const refused = refusal(outcome.error)
          if (refused !== undefined) return yield* Effect.fail(refused)
          if (code === "target_offline") return yield* offline(targetId, details?.["outcome"] === "unknown")
          return yield* broken(name, `a refusal that it does not have: ${code}`)
        }
        // The schema of that name, whose type is what its own decoder gives.
        const schema = edgeCommands[name].success as unknown as Schema.Codec<CommandSuccess<N>, unknown>
        const value = Schema.decodeUnknownOption(schema)(outcome.value)
        if (Option.isNone(value) || !fits(value.value)) return yield* broken(name, "something else")
        return value.value
      })

      const write = <N extends CommandName>(
        targetId: DeviceId,
        name: N,
        payload: CommandPayload<N>
      ): CommandRequest<N> => ({
        targetId,
        name,
        payload,
        answerTimeoutMs: WRITE_MS
      })
      const read = <N extends CommandName>(
        targetId: DeviceId,
        name: N,
        payload: CommandPayload<N>
      ): CommandRequest<N> => ({
        ...write(targetId, name, payload),
        answerTimeoutMs: READ_MS
      })

      return EdgeRouter.of({
        checkOffer: Effect.fnUntraced(function* (targetId, create) {
          const offer = yield* targets.lastOffer(targetId)
          if (offer === undefined) return yield* offline(targetId, false)
          const refusal = findOfferRefusal(offer, create, offer.isPresent)
          if (refusal !== undefined) return yield* refusal
          if (!offer.isPresent) return yield* offline(targetId, false)
        }),

        start: (targetId, command, onWritten) =>
          route(
            {
              ...write(targetId, "StartRun", command),
              ...(onWritten === undefined ? {} : { onWritten }),
              id: startCommandId(command.runId),
              isDurable: true,
              requiredRun: command.runId
            },
            ({ code, message }) =>
              code === "target_offline"
                ? undefined
                : isErrorCode(code)
                  ? new StartRefused({ code, message })
                  : new StartRefused({ code: "internal", message: errorTable.internal.message }),
            ({ id }) => id === command.runId
          ),

        cancel: (targetId, command) =>
          route(
            write(targetId, "CancelRun", command),
            refusedAs<Overloaded | RunNotCancellable>(
              ["run_not_cancellable", RunNotCancellable],
              // What an Edge does not have any more has ended long ago.
              ["not_found", RunNotCancellable],
              ["overloaded", Overloaded]
            ),
            ({ id }) => id === command.runId
          ),

        sendInput: (targetId, command, key) =>
          route(
            {
              ...write(targetId, "SendInput", command),
              ...(key === undefined ? {} : { id: inputOf(key) })
            },
            refusedAs<Conflict | Overloaded | PermissionDenied>(
              ["overloaded", Overloaded],
              ["conflict", Conflict],
              ["permission_denied", PermissionDenied],
              ["not_found", PermissionDenied]
            ),
            ({ id }) => id === command.runId
          ),

        decide: (targetId, command) =>
          route(
            write(targetId, "DecideApproval", command),
            decisionRefused,
            ({ id, runId }) => id === command.approvalId && runId === command.runId
          ),

        readDiff: (targetId, command) => route(read(targetId, "ReadDiff", command), notThere),
        listArtifacts: (targetId, command) => route(read(targetId, "ListArtifacts", command), notThere),
        readArtifact: (targetId, command) =>
          route(
            read(targetId, "ReadArtifact", command),
            notThere,
            ({ artifact }) => artifact.id === command.artifactId
          ),
        openPreview: Effect.fnUntraced(function* (targetId, command) {
          const offer = yield* targets.currentOffer(targetId)
          if (offer === undefined) return yield* offline(targetId, false)
          // An Edge that does not know a command takes it for nonsense, and ends the link.
          if (!offer.commands.includes("OpenPreview")) return yield* new Conflict({ message: TOO_OLD })
          return yield* route(
            read(targetId, "OpenPreview", command),
            previewRefused,
            ({ id, runId }) => id === command.previewId && runId === command.runId
          )
        }),
        listFiles: (targetId, command) =>
          route(read(targetId, "ListFiles", command), refusedAs<Overloaded | ReadRefusal>(...readRefusals)),
        readFile: (targetId, command) =>
          route(
            read(targetId, "ReadFile", command),
            refusedAs<Overloaded | PayloadTooLarge | ReadRefusal>(...readRefusals, [
              "payload_too_large",
              PayloadTooLarge
            ])
          )
      })
    })
  )
}

// A fingerprint is made of what ids are made of.
const inputOf = (key: string): CommandId => `input.${fingerprintOf(key)}` as CommandId

/** Whether a failure says that nobody knows what was done. */
export const isOutcomeUnknown = (error: { readonly _tag: string; readonly details?: unknown }): boolean =>
  error instanceof TargetOffline && error.details?.outcome === "unknown"

/** Milliseconds for which an answer is waited for. */
const READ_MS = 10_000
const WRITE_MS = 30_000

export type ReadRefusal = NotFound | PermissionDenied | WorkspaceOutsideAllowlist

type Refusal<E> = new (options: {
  readonly message?: string
  readonly details?: Readonly<Record<string, unknown>>
}) => E

/** The Edge's codes that mean something here, each as its failure. What is called otherwise here is told by the table's own sentence. */
const refusedAs = <E extends { readonly code: ErrorCode }>(
  ...known: ReadonlyArray<readonly [code: ErrorCode, as: Refusal<E>]>
) => {
  const byCode = new Map<string, Refusal<E>>(known)
  return ({ code, details, message }: RunFailure): E | undefined => {
    const Refused = byCode.get(code)
    if (Refused === undefined) return undefined
    const plain = new Refused({})
    return plain.code === code
      ? new Refused({ message, ...(details === undefined ? {} : { details }) })
      : plain
  }
}

const readRefusals = [
  ["overloaded", Overloaded],
  ["not_found", NotFound],
  ["permission_denied", PermissionDenied],
  ["workspace_outside_allowlist", WorkspaceOutsideAllowlist]
] as const

/** What an Edge does not have of a run is what nobody may see. */
const notThere = refusedAs<Overloaded | PermissionDenied>(
  ["not_found", PermissionDenied],
  ["permission_denied", PermissionDenied],
  ["overloaded", Overloaded]
)

const TOO_OLD =
  "The Edge of this device is too old to open previews from here. Update it, or open it at the device."

/** Whoever asks may see the run, and so that its preview is closed. */
const previewRefused = (error: RunFailure): NotFound | Overloaded | undefined =>
  error.code === "not_found"
    ? new NotFound({ message: "The preview is closed." })
    : refusedAs<Overloaded>(["overloaded", Overloaded])(error)

const decisionDetails = Schema.decodeUnknownOption(
  Schema.Struct({ approvalId: ApprovalId, state: ApprovalState })
)

/** Why an Edge does not take a decision. */
export type DecisionRefusal =
  | ApprovalAlreadyResolved
  | ApprovalExpired
  | PermissionDenied
  | SchemaValidationFailed

const decisionRefused = (error: RunFailure): DecisionRefusal | Overloaded | undefined => {
  const { code, details, message } = error
  if (code === "schema_validation_failed")
    return new SchemaValidationFailed({ details: { issues: [{ path: "updatedInput", message }] } })
  if (code !== "approval_already_resolved" && code !== "approval_expired") return notThere(error)
  const known = decisionDetails(details)
  if (Option.isNone(known)) return undefined
  const options = { message, details: known.value }
  return code === "approval_expired" ? new ApprovalExpired(options) : new ApprovalAlreadyResolved(options)
}
