/**
 * Handlers of Hub commands: each calls the service that the local API calls, with the same policies and refusals. Also the outcome of a command as
 * the link sends it.
 *
 * Guarantees: a Hub reaches only the runs that it started as this device.
 */
import type { DecisionScope } from "@corral/domain/approval/Approval"
import {
  type CommandAttachments,
  type CommandName,
  type CommandOutcome,
  type CommandPayload,
  type CommandSuccess,
  type EdgeCommand,
  MAX_CHUNK_BYTES,
  edgeCommands
} from "@corral/domain/link/EdgeCommand"
import {
  type ChangesUnknown,
  Conflict,
  type Failure,
  NotFound,
  PayloadTooLarge,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type {
  ArtifactId,
  AttachmentId,
  DeviceId,
  RequestId,
  RunId,
  SessionId
} from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { Run } from "@corral/domain/run/Run"
import { Effect, Schema, Stream } from "effect"
import { Artifacts } from "../artifact/Artifacts.ts"
import { attachmentNote, Attachments, type TurnAttachments } from "../attachment/Attachments.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { Previews } from "../preview/Previews.ts"
import { Changes } from "../change/Changes.ts"
import { Checks } from "../check/Checks.ts"
import { Presets } from "../runtime/Presets.ts"
import { diffOfRun, diffFolder } from "../layer/LayerReads.ts"
import { Layers } from "../layer/Layers.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Store } from "../store/Store.ts"
import { FileSearch } from "../workspace/FileSearch.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { listFolder, previewFile } from "../workspace/WorkspaceFiles.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { findRow } from "../workspace/WorktreeRows.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { HubAttachments } from "./HubAttachments.ts"
import { executeOnChanges } from "./HubChanges.ts"
import { insertHubRun, isOwned } from "./HubRuns.ts"
import type { Diff, FileDiff } from "@corral/domain/edge-api/Diff"
import { MAX_LIMIT } from "@corral/domain/http/Page"
import { MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"

// Outcome of a Hub command on the wire: its encoded value, or the reason for its refusal.

/** Maximum size of an answer, in bytes of JSON. */
export const MAX_ANSWER_BYTES = MAX_FRAME_BYTES / 2

/** Encodes the result of a command. Fails if it is too large to send. */
export const encodeOutcome = (
  name: CommandName,
  value: unknown
): Effect.Effect<CommandOutcome, PayloadTooLarge> =>
  // The value comes from the command's service, so it matches the schema.
  Effect.orDie(Schema.encodeUnknownEffect(edgeCommands[name].success)(value)).pipe(
    Effect.filterOrFail(
      (json) => Buffer.byteLength(JSON.stringify(json)) <= MAX_ANSWER_BYTES,
      () => new PayloadTooLarge({ message: "The answer is too large to be sent." })
    ),
    Effect.map((json) => ({ _tag: "Done", value: json }))
  )

/** Outcome of a refused command. */
export const refusedOutcome = ({
  code,
  details,
  message
}: Pick<Failure, "code" | "message"> & { readonly details?: object | undefined }): CommandOutcome => ({
  _tag: "Refused",
  error: { code, message, ...(details === undefined ? {} : { details: { ...details } }) }
})

// A run's diff in one piece, read page by page, up to the size that can be sent.

type WholeDiff = Omit<Diff, "runId" | "nextCursor" | "requestId">

/** Up to `maxBytes` of JSON. */
const wholeDiff = Effect.fn("CommandHandlers.readDiff")(function* (
  services: Pick<Services, "layers" | "snapshots">,
  run: Run,
  root: string,
  maxBytes: number
): Effect.fn.Return<WholeDiff, ChangesUnknown | PayloadTooLarge> {
  const items: Array<FileDiff> = []
  let size = 0
  for (;;) {
    const position = items.at(-1)?.path
    const page = yield* diffOfRun(services, { run, root, position, limit: MAX_LIMIT })
    items.push(...page.items)
    size += Buffer.byteLength(JSON.stringify(page.items))
    if (size > maxBytes) return yield* new PayloadTooLarge({ message: "The diff is too large to be sent." })
    if (page.items.length < MAX_LIMIT) return { ...page, items }
  }
})

// Chunk of an artifact for one answer.

/** The chunk from `offset`; empty at or beyond the end. Artifacts of other runs are not found. */
const readChunk = Effect.fn("CommandHandlers.readArtifact")(function* (
  artifacts: Artifacts["Service"],
  runId: RunId,
  artifactId: ArtifactId,
  offset: number
): Effect.fn.Return<CommandSuccess<"ReadArtifact">, NotFound> {
  const { artifact, bytes } = yield* artifacts.open(artifactId)
  if (artifact.runId !== runId) return yield* new NotFound()
  const { size } = artifact
  const end = Math.min(offset + MAX_CHUNK_BYTES, size) - 1
  const parts = offset >= size ? [] : yield* Stream.runCollect(bytes({ start: offset, end }))
  return { artifact, base64: Buffer.concat([...parts]).toString("base64"), size }
})

/** Maximum number of entries of a folder, or artifacts of a run. A longer list is too large for an answer. */
const MAX_ITEMS = 10_000

/** A command of one device, with its trace. */
export interface CommandCall {
  readonly deviceId: DeviceId
  readonly command: EdgeCommand
  readonly traceparent: string | undefined
}

/** Services that commands use. */
const services = Effect.all({
  artifacts: Artifacts,
  files: FileSearch,
  attachments: Attachments,
  changes: Changes,
  checks: Checks,
  hubAttachments: HubAttachments,
  idempotency: EdgeIdempotency,
  presets: Presets,
  previews: Previews,
  runs: RunSupervisor,
  layers: Layers,
  snapshots: Snapshots,
  store: Store,
  workspaces: Workspaces,
  worktrees: Worktrees
})
type Services = Effect.Success<typeof services>

/** Executes a command once. Idempotency and the size of the answer are the caller's. */
export const commandHandler = Effect.map(
  services,
  (services) => (call: CommandCall) => executeCommand(services, call)
)

const executeCommand = (
  services: Services,
  { command, deviceId, traceparent }: CommandCall
): Effect.Effect<unknown, Failure> => {
  const { artifacts, files, previews, runs, store, workspaces } = services
  const onOwnRun = <N extends CommandName>(
    _: N,
    runId: RunId,
    answer: Effect.Effect<CommandSuccess<N>, Failure>
  ): Effect.Effect<CommandSuccess<N>, Failure> => Effect.andThen(requireOwned(store, deviceId, runId), answer)
  switch (command.name) {
    case "StartRun":
      return startRun(services, deviceId, command.payload, traceparent)
    case "CancelRun": {
      const { by, reason = "cancelled by the user", runId } = command.payload
      return onOwnRun(command.name, runId, runs.cancel(runId, reason, by))
    }
    case "PauseRun":
    case "ResumeRun": {
      const { by, reason, runId } = command.payload
      const change = command.name === "PauseRun" ? runs.pause : runs.resume
      return onOwnRun(command.name, runId, change(runId, by, reason))
    }
    case "SendInput":
      return onOwnRun(command.name, command.payload.runId, sendInput(services, command))
    case "DecideApproval":
      return onOwnRun(command.name, command.payload.runId, decideApproval(services, command.payload))
    case "AnswerInput":
      return onOwnRun(command.name, command.payload.answer.runId, answerInput(services, command))
    case "FinishRun": {
      const { by, runId } = command.payload
      return onOwnRun(command.name, runId, runs.finish(runId, by))
    }
    case "ReadDiff": {
      // Both ids have the same shape.
      const requestId = (command.requestId ?? command.commandId) as string as RequestId
      const { runId } = command.payload
      return onOwnRun(command.name, runId, readDiff(services, runId, requestId))
    }
    case "ReadChanges":
    case "ReadChangedFile":
    case "DecideChanges":
    case "UndoChanges":
      return onOwnRun(command.name, command.payload.runId, executeOnChanges(services, command))
    case "DiscardChanges":
      return onOwnRun(command.name, command.payload.runId, discardChanges(services, command.payload.runId))
    case "ListArtifacts": {
      const { runId } = command.payload
      const list = Effect.suspend(() => requireFew(artifacts.page(runId, undefined, MAX_ITEMS + 1)))
      return onOwnRun(command.name, runId, list)
    }
    case "ReadArtifact": {
      const { artifactId, offset, runId } = command.payload
      return onOwnRun(command.name, runId, readChunk(artifacts, runId, artifactId, offset))
    }
    case "OpenPreview": {
      const { previewId, runId } = command.payload
      return onOwnRun(command.name, runId, previews.open(previewId, runId))
    }
    case "ListFiles": {
      const { path, workspace } = command.payload
      return workspaces.open(workspace).pipe(
        Effect.flatMap((root) => listFolder(root.path, path, undefined, MAX_ITEMS + 1)),
        Effect.flatMap(requireFew)
      )
    }
    case "FindFiles": {
      const { limit, query, workspace } = command.payload
      return Effect.flatMap(workspaces.open(workspace), (root) => files.find(root.path, query, limit))
    }
    case "ReadFile": {
      const { path, workspace } = command.payload
      return Effect.flatMap(workspaces.open(workspace), (root) => previewFile(root.path, path))
    }
    case "ListPresets":
      return services.presets.listRemotely
    case "ChangePreset":
      return changePreset(services, command)
  }
}

const requireOwned = (
  store: Store["Service"],
  deviceId: DeviceId,
  runId: RunId
): Effect.Effect<void, NotFound> =>
  Effect.suspend(() => (isOwned(store, deviceId, runId) ? Effect.void : Effect.fail(new NotFound())))

const startRun = Effect.fn("CommandHandlers.startRun")(function* (
  services: Services,
  deviceId: DeviceId,
  { attachments, create, runId }: CommandPayload<"StartRun">,
  traceparent: string | undefined
) {
  const { runs, store } = services
  if (create.resume !== undefined && !isOwned(store, deviceId, create.resume)) {
    const issues = [{ path: "resume", message: "There is no such run." }]
    return yield* new SchemaValidationFailed({ details: { issues } })
  }
  const start = (placed?: TurnAttachments) =>
    runs.start(create, () => [insertHubRun(deviceId, runId)], traceparent, runId, placed)
  // A run that is on disk has received its files.
  const run = yield* isOwned(store, deviceId, runId)
    ? start()
    : withFiles(services, { runId, sessionId: create.sessionId, attachments }, start)
  if (!isOwned(store, deviceId, runId)) return yield* new Conflict({ message: "This id is another run's." })
  return run
})

/** Receives the files of a command, then runs `use` with them. */
const withFiles = <A, E>(
  { attachments: files, hubAttachments }: Services,
  { attachments, runId, sessionId }: CommandFiles,
  use: (placed?: TurnAttachments) => Effect.Effect<A, E>
): Effect.Effect<A, E | Failure> => {
  if (attachments === undefined) return use()
  if (sessionId === undefined) {
    const issues = [{ path: "sessionId", message: "Expected a session with attachments" }]
    return Effect.fail(new SchemaValidationFailed({ details: { issues } }))
  }
  const read = (id: AttachmentId, offset: number) => hubAttachments.read(runId, id, offset)
  return hubAttachments.admit(files.whilePlaced(sessionId, runId, attachments, read, use))
}

interface CommandFiles {
  readonly runId: RunId
  readonly sessionId: SessionId | undefined
  readonly attachments: CommandAttachments | undefined
}

const sendInput = Effect.fnUntraced(function* (
  services: Services,
  { commandId, payload }: Extract<EdgeCommand, { readonly name: "SendInput" }>
) {
  const { idempotency, runs } = services
  const { attachments, input, messageId, runId } = payload
  const { sessionId } = yield* runs.get(runId)
  const request = { scope: "hub", key: commandId, request: payload }
  const send = (placed?: TurnAttachments) => {
    const note = placed && attachmentNote(placed)
    return idempotency.once(request, (keep: ResultRows<Run>) =>
      runs.input(runId, input.text, messageId, note, keep)
    )
  }
  const { body } = yield* withFiles(services, { runId, sessionId, attachments }, send)
  return body
})

const decideApproval = (
  { runs }: Services,
  {
    approvalId,
    by,
    decision,
    origin,
    reason,
    runId,
    scope = "once",
    updatedInput
  }: CommandPayload<"DecideApproval">
) =>
  runs.decide(runId, approvalId, { decision, scope: narrowed(scope), reason, updatedInput }, { by, origin })

/** The command's receipt is stored with the answer: a repeated command finds it. */
const answerInput = Effect.fnUntraced(function* (
  { idempotency, runs }: Services,
  { commandId, payload }: Extract<EdgeCommand, { readonly name: "AnswerInput" }>
) {
  const {
    answer: { inputId, runId, ...answer },
    by,
    origin
  } = payload
  const request = { scope: "hub", key: commandId, request: payload }
  const { body } = yield* idempotency.once(request, (keep: ResultRows<InputRequest>) =>
    runs.answer(runId, inputId, { answer, by, origin, allowsPlain: false, keep })
  )
  return body
})

/** The command's receipt is stored after the change: a repeated command finds it. */
const changePreset = Effect.fnUntraced(function* (
  { idempotency, presets, store }: Services,
  { commandId, payload }: Extract<EdgeCommand, { readonly name: "ChangePreset" }>
) {
  const request = { scope: "hub", key: commandId, request: payload }
  const { body } = yield* idempotency.once(request, (keep: ResultRows<CommandSuccess<"ChangePreset">>) =>
    Effect.tap(presets.changeRemotely(payload.change, payload.by), (result) =>
      Effect.orDie(store.commit(keep(result)))
    )
  )
  return body
})

/** Removes what the run and those before it have written, and no person has decided. */
const discardChanges = Effect.fnUntraced(function* (
  { checks, layers, runs, store, worktrees }: Services,
  runId: RunId
): Effect.fn.Return<CommandSuccess<"DiscardChanges">, NotFound | Conflict> {
  const run = yield* runs.get(runId)
  const owner = run.layer?.owner ?? run.worktree
  if (owner === undefined) return { removed: false }
  const place = run.layer === undefined ? worktrees : layers
  const removed =
    run.layer === undefined ? (findRow(store, owner)?.state ?? "removed") !== "removed" : layers.has(owner)
  if (!removed) return { removed }
  yield* checks.stop(run)
  yield* place.remove(owner, true)
  return { removed }
})

/** A remote user can't allow anything here for longer than a session: only the device's owner sets a lasting grant. */
const narrowed = (scope: DecisionScope): DecisionScope => (scope === "always" ? "session" : scope)

const readDiff = Effect.fn("CommandHandlers.readDiff")(function* (
  services: Services,
  runId: RunId,
  requestId: RequestId
) {
  const run = yield* services.runs.get(runId)
  const root = yield* diffFolder(services, run)
  const found = yield* wholeDiff(services, run, root, MAX_ANSWER_BYTES)
  return { ...found, runId, nextCursor: null, requestId }
})

const requireFew = <A>(items: ReadonlyArray<A>): Effect.Effect<ReadonlyArray<A>, PayloadTooLarge> =>
  items.length > MAX_ITEMS
    ? Effect.fail(new PayloadTooLarge({ message: "The list is too long." }))
    : Effect.succeed(items)
