/**
 * Router of requests to the Edge of one target. Never sends a request to another target.
 *
 * Guarantees: after a failure the Edge did not execute the request, except `target_offline` with `outcome: "unknown"`: the request was sent
 * and not answered.
 * Does not check permissions; callers hold them already.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { OpenedPreview } from "@corral/domain/device/Preview"
import type { FileEntry, FilePreview, FoundFiles } from "@corral/domain/device/Workspace"
import type { DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { Diff } from "@corral/domain/edge-api/Diff"
import {
  type ChangesUnknown,
  Conflict,
  type NotFound,
  type PayloadTooLarge,
  type PermissionDenied,
  type RunNotCancellable,
  type TargetOffline,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { DeviceId } from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import {
  CANDIDATES_FEATURE,
  type CommandName,
  type CommandPayload,
  type CommandSuccess,
  INPUTS_FEATURE
} from "@corral/domain/link/EdgeCommand"
import { findAgent } from "@corral/domain/offer/Offer"
import type { Artifact } from "@corral/domain/run/Artifact"
import type { Preset } from "@corral/domain/run/Preset"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import { finishRefusal, pauseRefusal } from "@corral/domain/run/RunRefusals"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { findBudgetRefusal } from "../device/DeviceRow.ts"
import { candidatesUnsupported, findOfferRefusal, type OfferRefusal } from "../run/OfferRefusal.ts"
import {
  changesCommandId,
  type CommandRequest,
  inputCommandId,
  presetCommandId,
  startCommandId
} from "./CommandRequest.ts"
import { CommandRoute, type Routed } from "./CommandRoute.ts"
import { Commands } from "./Commands.ts"
import {
  type AnswerRefusal,
  type ChangesDecisionRefusal,
  type ChangesReadRefusal,
  toAnswerRefusal,
  toChangesDecisionRefusal,
  toChangesReadRefusal,
  toDiffRefusal,
  toCancelRefusal,
  toDiscardRefusal,
  type DecisionRefusal,
  toDecisionRefusal,
  toFinishRefusal,
  toInputRefusal,
  toFindFilesRefusal,
  toListFilesRefusal,
  overloadRefusal,
  type PresetRefusal,
  toPauseRefusal,
  toPresetRefusal,
  toPreviewRefusal,
  toReadFileRefusal,
  type ReadRefusal,
  toRunReadRefusal,
  StartRefused,
  toStartRefusal
} from "./EdgeRefusal.ts"
import { Targets } from "./Targets.ts"

export class EdgeRouter extends Context.Service<
  EdgeRouter,
  {
    /** Fails unless the target is online and its last offer covers the run. */
    readonly checkOffer: (
      targetId: DeviceId,
      create: CreateRun
    ) => Effect.Effect<void, OfferRefusal | TargetOffline | SqlError.SqlError>
    /** Starts a run once, however often it is called. `onWritten` runs when the command has its position in the queue. */
    readonly start: (
      targetId: DeviceId,
      command: CommandPayload<"StartRun">,
      onWritten?: Effect.Effect<void>
    ) => Effect.Effect<Run, StartRefused | TargetOffline | SqlError.SqlError>
    readonly cancel: (
      targetId: DeviceId,
      command: CommandPayload<"CancelRun">
    ) => Routed<Run, RunNotCancellable>
    /** Pauses or resumes a run. Fails with `conflict` where the Edge is too old for that, or cannot pause the run. */
    readonly changePause: <N extends "PauseRun" | "ResumeRun">(
      targetId: DeviceId,
      name: N,
      command: CommandPayload<N>
    ) => Routed<Run, Conflict>
    /** Sends an input once per key. */
    readonly sendInput: (
      targetId: DeviceId,
      command: CommandPayload<"SendInput">,
      key?: string
    ) => Routed<Run, Conflict | PermissionDenied>
    readonly decide: (
      targetId: DeviceId,
      command: CommandPayload<"DecideApproval">
    ) => Routed<Approval, DecisionRefusal>
    /** Answers a question. Fails with `conflict` where the Edge is too old for that. */
    readonly answerInput: (
      targetId: DeviceId,
      command: CommandPayload<"AnswerInput">
    ) => Routed<InputRequest, AnswerRefusal>
    /** Ends the background work of a run. Fails with `conflict` where the Edge is too old for that, or the run is in a turn. */
    readonly finish: (targetId: DeviceId, command: CommandPayload<"FinishRun">) => Routed<Run, Conflict>
    readonly readDiff: (
      targetId: DeviceId,
      command: CommandPayload<"ReadDiff">
    ) => Routed<Diff, ChangesUnknown | PermissionDenied>
    /** Reads a page of the run's change set. Fails with `conflict` where the Edge is too old for that. */
    readonly readChanges: (
      targetId: DeviceId,
      command: CommandPayload<"ReadChanges">
    ) => Routed<CommandSuccess<"ReadChanges">, ChangesReadRefusal>
    /** Reads hunks of a changed file. Fails with `conflict` where the Edge is too old for that. */
    readonly readChangedFile: (
      targetId: DeviceId,
      command: CommandPayload<"ReadChangedFile">
    ) => Routed<CommandSuccess<"ReadChangedFile">, ChangesReadRefusal>
    /** Accepts or rejects changes once per key. Fails with `conflict` where the Edge is too old for that. */
    readonly decideChanges: (
      targetId: DeviceId,
      command: CommandPayload<"DecideChanges">,
      key?: string
    ) => Routed<DecidedChanges, ChangesDecisionRefusal>
    /** Removes what is undecided in the layer of an ended run. Fails with `conflict` where the Edge is too old for that, or a run of it is live. */
    readonly discardChanges: (
      targetId: DeviceId,
      command: CommandPayload<"DiscardChanges">
    ) => Routed<CommandSuccess<"DiscardChanges">, Conflict | NotFound>
    /** Undoes changes once per key. Fails with `conflict` where the Edge is too old for that. */
    readonly undoChanges: (
      targetId: DeviceId,
      command: CommandPayload<"UndoChanges">,
      key?: string
    ) => Routed<DecidedChanges, ChangesDecisionRefusal>
    readonly listArtifacts: (
      targetId: DeviceId,
      command: CommandPayload<"ListArtifacts">
    ) => Routed<ReadonlyArray<Artifact>, PermissionDenied>
    /** Reads bytes of an artifact from an offset. */
    readonly readArtifact: (
      targetId: DeviceId,
      command: CommandPayload<"ReadArtifact">
    ) => Routed<CommandSuccess<"ReadArtifact">, PermissionDenied>
    /** Opens the preview for a browser on the target itself. Fails with `conflict` where the Edge is too old for that. */
    readonly openPreview: (
      targetId: DeviceId,
      command: CommandPayload<"OpenPreview">
    ) => Routed<OpenedPreview, Conflict | NotFound>
    readonly listFiles: (
      targetId: DeviceId,
      command: CommandPayload<"ListFiles">
    ) => Routed<ReadonlyArray<FileEntry>, ReadRefusal>
    /** Fails with `conflict` where the Edge is too old for that. */
    readonly findFiles: (
      targetId: DeviceId,
      command: CommandPayload<"FindFiles">
    ) => Routed<FoundFiles, Conflict | WorkspaceOutsideAllowlist>
    readonly readFile: (
      targetId: DeviceId,
      command: CommandPayload<"ReadFile">
    ) => Routed<FilePreview, PayloadTooLarge | ReadRefusal>
    /** Fails with `conflict` where the Edge is too old for that. */
    readonly listPresets: (targetId: DeviceId) => Routed<ReadonlyArray<Preset>, Conflict>
    /** Changes a preset once per key. Fails with `conflict` where the Edge is too old for that. */
    readonly changePreset: (
      targetId: DeviceId,
      command: CommandPayload<"ChangePreset">,
      key?: string
    ) => Routed<CommandSuccess<"ChangePreset">, PresetRefusal>
  }
>()("corral/hub/EdgeRouter") {
  static readonly layer = Layer.effect(
    EdgeRouter,
    Effect.gen(function* () {
      const targets = yield* Targets
      const route = new CommandRoute(yield* Commands, targets)

      return EdgeRouter.of({
        checkOffer: Effect.fn("EdgeRouter.checkOffer")(function* (targetId, create) {
          const offer = yield* targets.lastOffer(targetId)
          if (offer === undefined) return yield* route.failOffline(targetId, false)
          const refusal = findOfferRefusal(offer, create, offer.isPresent)
          if (refusal !== undefined) return yield* refusal
          if (!offer.isPresent) return yield* route.failOffline(targetId, false)
        }),

        start: Effect.fnUntraced(function* (targetId, command, onWritten) {
          const { runId } = command
          const create = yield* supportedCreate(targets, targetId, command.create)
          const request = {
            ...writeRequest(targetId, "StartRun", { ...command, create }),
            ...(onWritten === undefined ? {} : { onWritten }),
            id: startCommandId(runId),
            isDurable: true,
            requiredRun: runId
          }
          return yield* route.send(request, toStartRefusal, ({ id }) => id === runId)
        }),

        cancel: (targetId, command) =>
          route.send(
            writeRequest(targetId, "CancelRun", command),
            toCancelRefusal,
            ({ id }) => id === command.runId
          ),

        changePause: changePause(route),

        sendInput: (targetId, command, key) => {
          const request = {
            ...writeRequest(targetId, "SendInput", command),
            ...(key === undefined ? {} : { id: inputCommandId(key) })
          }
          return route.send(request, toInputRefusal, ({ id }) => id === command.runId)
        },

        decide: (targetId, command) =>
          route.send(
            writeRequest(targetId, "DecideApproval", command),
            toDecisionRefusal,
            ({ id, runId }) => id === command.approvalId && runId === command.runId
          ),

        answerInput: answerInput(route),
        finish: finish(route),

        readDiff: (targetId, command) =>
          route.send(readRequest(targetId, "ReadDiff", command), toDiffRefusal),
        readChanges: readChanges(route),
        readChangedFile: readChangedFile(route),
        decideChanges: decideChanges(route),
        undoChanges: undoChanges(route),
        discardChanges: discardChanges(route),
        listArtifacts: (targetId, command) =>
          route.send(readRequest(targetId, "ListArtifacts", command), toRunReadRefusal),
        readArtifact: (targetId, command) =>
          route.send(
            readRequest(targetId, "ReadArtifact", command),
            toRunReadRefusal,
            ({ artifact }) => artifact.id === command.artifactId
          ),

        openPreview: openPreview(route),

        listFiles: (targetId, command) =>
          route.send(readRequest(targetId, "ListFiles", command), toListFilesRefusal),
        findFiles: findFiles(route),
        readFile: (targetId, command) =>
          route.send(readRequest(targetId, "ReadFile", command), toReadFileRefusal),
        listPresets: listPresets(route),
        changePreset: changePreset(route)
      })
    })
  )
}

/**
 * The request without limits that the target's Edge does not know. Fails for a budget that would have no effect there: the Edge can be another
 * version than at the creation of the task.
 */
const supportedCreate = Effect.fnUntraced(function* (
  targets: Targets["Service"],
  targetId: DeviceId,
  create: CreateRun
) {
  const { backgroundMs, inputTtlMs, ...supported } = create
  const { agentId, budget } = create
  if (backgroundMs === undefined && inputTtlMs === undefined && budget === undefined) return create
  const offer = yield* targets.lastOffer(targetId)
  const agent = findAgent(offer?.agents, agentId)
  const refusal = agent && findBudgetRefusal(agent, budget)
  if (refusal !== undefined) return yield* new StartRefused({ code: refusal.code, message: refusal.message })
  if (backgroundMs === undefined && inputTtlMs === undefined) return create
  return offer?.commands.includes(INPUTS_FEATURE) === true ? create : supported
})

const answerInput = (route: CommandRoute): EdgeRouter["Service"]["answerInput"] =>
  Effect.fn("EdgeRouter.answerInput")(function* (targetId, command) {
    yield* route.requireCommand(targetId, "AnswerInput", inputsUnsupported())
    const { inputId, runId } = command.answer
    return yield* route.send(
      writeRequest(targetId, "AnswerInput", command),
      toAnswerRefusal,
      (input) => input.id === inputId && input.runId === runId
    )
  })

const finish = (route: CommandRoute): EdgeRouter["Service"]["finish"] =>
  Effect.fn("EdgeRouter.finish")(function* (targetId, command) {
    yield* route.requireCommand(targetId, "FinishRun", finishRefusal("edge_outdated"))
    const request = writeRequest(targetId, "FinishRun", command)
    return yield* route.send(request, toFinishRefusal, ({ id }) => id === command.runId)
  })

const openPreview = (route: CommandRoute): EdgeRouter["Service"]["openPreview"] =>
  Effect.fn("EdgeRouter.openPreview")(function* (targetId, command) {
    yield* route.requireCommand(targetId, "OpenPreview", new Conflict({ message: PREVIEW_UNSUPPORTED }))
    return yield* route.send(
      readRequest(targetId, "OpenPreview", command),
      toPreviewRefusal,
      ({ id, runId }) => id === command.previewId && runId === command.runId
    )
  })

const readChanges = (route: CommandRoute): EdgeRouter["Service"]["readChanges"] =>
  Effect.fn("EdgeRouter.readChanges")(function* (targetId, command) {
    yield* route.requireCommand(targetId, "ReadChanges", changesUnsupported())
    return yield* route.send(readRequest(targetId, "ReadChanges", command), toChangesReadRefusal)
  })

const readChangedFile = (route: CommandRoute): EdgeRouter["Service"]["readChangedFile"] =>
  Effect.fn("EdgeRouter.readChangedFile")(function* (targetId, command) {
    yield* route.requireCommand(targetId, "ReadChangedFile", changesUnsupported())
    return yield* route.send(
      readRequest(targetId, "ReadChangedFile", command),
      toChangesReadRefusal,
      ({ file }) => file.id === command.fileId
    )
  })

const decideChanges = (route: CommandRoute): EdgeRouter["Service"]["decideChanges"] =>
  Effect.fn("EdgeRouter.decideChanges")(function* (targetId, command, key) {
    yield* route.requireCommand(targetId, "DecideChanges", changesUnsupported())
    const { comments, edits } = command.request
    // An older Edge would ignore them.
    if (comments !== undefined || edits !== undefined)
      yield* route.requireCommand(targetId, CANDIDATES_FEATURE, candidatesUnsupported())
    const request = {
      ...writeRequest(targetId, "DecideChanges", command),
      ...(key === undefined ? {} : { id: changesCommandId(key) })
    }
    return yield* route.send(
      request,
      toChangesDecisionRefusal,
      ({ decision }) => decision.kind === command.kind
    )
  })

const undoChanges = (route: CommandRoute): EdgeRouter["Service"]["undoChanges"] =>
  Effect.fn("EdgeRouter.undoChanges")(function* (targetId, command, key) {
    yield* route.requireCommand(targetId, "UndoChanges", changesUnsupported())
    const request = {
      ...writeRequest(targetId, "UndoChanges", command),
      ...(key === undefined ? {} : { id: changesCommandId(key) })
    }
    return yield* route.send(request, toChangesDecisionRefusal, ({ decision }) => decision.kind === "undo")
  })

const discardChanges = (route: CommandRoute): EdgeRouter["Service"]["discardChanges"] =>
  Effect.fn("EdgeRouter.discardChanges")(function* (targetId, command) {
    yield* route.requireCommand(targetId, "DiscardChanges", candidatesUnsupported())
    return yield* route.send(writeRequest(targetId, "DiscardChanges", command), toDiscardRefusal)
  })

const changesUnsupported = (): Conflict =>
  new Conflict({
    message: "The Edge of this device is too old to decide about changes from here. Update it.",
    details: { reason: "edge_outdated" }
  })

const findFiles = (route: CommandRoute): EdgeRouter["Service"]["findFiles"] =>
  Effect.fn("EdgeRouter.findFiles")(function* (targetId, command) {
    const outdated = new Conflict({
      message: "The Edge of this device is too old to search for files. Update it.",
      details: { reason: "edge_outdated" }
    })
    yield* route.requireCommand(targetId, "FindFiles", outdated)
    return yield* route.send(readRequest(targetId, "FindFiles", command), toFindFilesRefusal)
  })

const listPresets = (route: CommandRoute): EdgeRouter["Service"]["listPresets"] =>
  Effect.fn("EdgeRouter.listPresets")(function* (targetId) {
    yield* route.requireCommand(targetId, "ListPresets", presetsUnsupported())
    return yield* route.send(readRequest(targetId, "ListPresets", {}), overloadRefusal)
  })

const changePreset = (route: CommandRoute): EdgeRouter["Service"]["changePreset"] =>
  Effect.fn("EdgeRouter.changePreset")(function* (targetId, command, key) {
    yield* route.requireCommand(targetId, "ChangePreset", presetsUnsupported())
    const request = {
      ...writeRequest(targetId, "ChangePreset", command),
      ...(key === undefined ? {} : { id: presetCommandId(key) })
    }
    const { id } = command.change
    return yield* route.send(request, toPresetRefusal, ({ preset }) =>
      command.change._tag === "Remove" ? preset === undefined : preset?.id === id
    )
  })

const presetsUnsupported = (): Conflict =>
  new Conflict({
    message: "The Edge of this device is too old to manage profiles from here. Update it.",
    details: { reason: "edge_outdated" }
  })

const changePause = (route: CommandRoute): EdgeRouter["Service"]["changePause"] =>
  Effect.fn("EdgeRouter.changePause")(function* (targetId, name, command) {
    yield* route.requireCommand(targetId, name, pauseRefusal("edge_outdated"))
    const request = writeRequest(targetId, name, command)
    return yield* route.send(request, toPauseRefusal, ({ id }) => id === command.runId)
  })

const inputsUnsupported = (): Conflict =>
  new Conflict({
    message: "The Edge of this device is too old to take answers to questions. Update it.",
    details: { reason: "edge_outdated" }
  })

const READ_TIMEOUT_MS = 10_000
/** Less than the deadline of the requests that wait for it, which then say what is unknown. */
const WRITE_TIMEOUT_MS = 25_000

const PREVIEW_UNSUPPORTED =
  "The Edge of this device is too old to open previews from here. Update it, or open the preview on the device."

const writeRequest = <N extends CommandName>(
  targetId: DeviceId,
  name: N,
  payload: CommandPayload<N>
): CommandRequest<N> => ({ targetId, name, payload, answerTimeoutMs: WRITE_TIMEOUT_MS })

const readRequest = <N extends CommandName>(
  targetId: DeviceId,
  name: N,
  payload: CommandPayload<N>
): CommandRequest<N> => ({ targetId, name, payload, answerTimeoutMs: READ_TIMEOUT_MS })
