/**
 * Executes what a Hub asks, as the local API would: the same policies, the same allowlist, the same refusals.
 *
 * Owns that a command has its effect once. One that arrives while it runs joins it; one that arrives later finds what it did: a run by
 * its id, a cancel and a decision by how the run stands, an input by its receipt. A Hub reaches the runs that it started as this device
 * and no others. What a broken link did not carry away is answered anew when the Hub asks again.
 */
import type { DecisionScope } from "@corral/domain/approval/Approval"
import {
  type CommandOutcome,
  type EdgeCommand,
  edgeCommands,
  type CommandName,
  type CommandPayload,
  type CommandSuccess
} from "@corral/domain/link/EdgeCommand"
import { MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import { errorTable } from "@corral/domain/errors/ErrorTable"
import {
  Conflict,
  type Failure,
  NotFound,
  PayloadTooLarge,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { DeviceId, RequestId, RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { traceparentOf } from "@corral/domain/http/TraceContext"
import { CurrentTraces } from "@corral/service/telemetry/Traces"
import { Cause, Context, Deferred, Effect, Layer, Schema } from "effect"
import { Artifacts } from "../artifact/Artifacts.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { Previews } from "../preview/Previews.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Store } from "../store/Store.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { listFolder, previewFile } from "../workspace/WorkspaceFiles.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { readChunk } from "./ArtifactChunk.ts"
import { isOwned, ownedBy } from "./HubRuns.ts"
import { wholeDiff } from "./WholeDiff.ts"

export class HubCommands extends Context.Service<
  HubCommands,
  {
    /** Never fails, and goes on where its caller does not wait any more. */
    readonly execute: (deviceId: DeviceId, command: EdgeCommand) => Effect.Effect<CommandOutcome>
  }
>()("corral/edge/link/HubCommands") {
  static readonly layer = Layer.effect(
    HubCommands,
    Effect.suspend(() => make())
  )
}

const MAX_ANSWER_BYTES = MAX_FRAME_BYTES / 2
/** Entries of a folder and artifacts of a run; more are too large an answer. */
const MAX_ITEMS = 10_000

const make = Effect.fnUntraced(function* () {
  const artifacts = yield* Artifacts
  const idempotency = yield* EdgeIdempotency
  const previews = yield* Previews
  const runs = yield* RunSupervisor
  const snapshots = yield* Snapshots
  const store = yield* Store
  const workspaces = yield* Workspaces
  const worktrees = yield* Worktrees
  const traces = yield* CurrentTraces
  const scope = yield* Effect.scope
  const running = new Map<string, Deferred.Deferred<CommandOutcome>>()

  const own = (deviceId: DeviceId, runId: RunId): Effect.Effect<void, NotFound> =>
    Effect.suspend(() => (isOwned(store, deviceId, runId) ? Effect.void : Effect.fail(new NotFound())))

  const start = Effect.fnUntraced(function* (
    deviceId: DeviceId,
    { create, runId }: CommandPayload<"StartRun">,
    traceparent: string | undefined
  ) {
    if (create.resume !== undefined && !isOwned(store, deviceId, create.resume)) {
      const issues = [{ path: "resume", message: "There is no such run." }]
      return yield* new SchemaValidationFailed({ details: { issues } })
    }
    const run = yield* runs.start(create, () => [ownedBy(deviceId, runId)], traceparent, runId)
    if (!isOwned(store, deviceId, runId)) return yield* new Conflict({ message: "This id is another run's." })
    return run
  })

  const input = ({ commandId, payload }: Extract<EdgeCommand, { readonly name: "SendInput" }>) => {
    const request = { scope: "hub", key: commandId, request: payload }
    const say = (keep: ResultRows<Run>) =>
      runs
        .input(payload.runId, payload.input.text)
        .pipe(Effect.tap((run) => Effect.orDie(store.commit(keep(run)))))
    return Effect.map(idempotency.once(request, say), ({ body }) => body)
  }

  const decide = ({
    approvalId,
    by,
    decision,
    origin,
    reason,
    runId,
    scope = "once",
    updatedInput
  }: CommandPayload<"DecideApproval">) =>
    runs.decide(runId, approvalId, { decision, scope: narrowed(scope), reason, updatedInput }, { by, origin })

  const diff = Effect.fnUntraced(function* (runId: RunId, requestId: RequestId) {
    const run = yield* runs.get(runId)
    const workspace = yield* workspaces.open(run.workspace)
    const root = run.worktree === undefined ? workspace.path : worktrees.pathOf(run.worktree)
    const found = yield* wholeDiff(snapshots, runId, root, MAX_ANSWER_BYTES)
    return { ...found, runId, nextCursor: null, requestId }
  })

  const perform = (
    deviceId: DeviceId,
    command: EdgeCommand,
    traceparent: string | undefined
  ): Effect.Effect<unknown, Failure> => {
    const ofOwn = <N extends CommandName>(
      _: N,
      runId: RunId,
      answer: Effect.Effect<CommandSuccess<N>, Failure>
    ): Effect.Effect<CommandSuccess<N>, Failure> => Effect.andThen(own(deviceId, runId), answer)
    switch (command.name) {
      case "StartRun":
        return start(deviceId, command.payload, traceparent)
      case "CancelRun": {
        const { by, reason = "cancelled by the user", runId } = command.payload
        return ofOwn(command.name, runId, runs.cancel(runId, reason, by))
      }
      case "SendInput":
        return ofOwn(command.name, command.payload.runId, input(command))
      case "DecideApproval":
        return ofOwn(command.name, command.payload.runId, decide(command.payload))
      case "ReadDiff": {
        // Both are ids of the same shape.
        const requestId = (command.requestId ?? command.commandId) as string as RequestId
        return ofOwn(command.name, command.payload.runId, diff(command.payload.runId, requestId))
      }
      case "ListArtifacts": {
        const { runId } = command.payload
        return ofOwn(
          command.name,
          runId,
          Effect.suspend(() => few(artifacts.page(runId, undefined, MAX_ITEMS + 1)))
        )
      }
      case "ReadArtifact": {
        const { artifactId, offset, runId } = command.payload
        return ofOwn(command.name, runId, readChunk(artifacts, runId, artifactId, offset))
      }
      case "OpenPreview": {
        const { previewId, runId } = command.payload
        return ofOwn(command.name, runId, previews.open(previewId, runId))
      }
      case "ListFiles": {
        const { path, workspace } = command.payload
        return Effect.flatMap(workspaces.open(workspace), (root) =>
          Effect.flatMap(listFolder(root.path, path, undefined, MAX_ITEMS + 1), few)
        )
      }
      case "ReadFile": {
        const { path, workspace } = command.payload
        return Effect.flatMap(workspaces.open(workspace), (root) => previewFile(root.path, path))
      }
    }
  }

  const answer = (
    deviceId: DeviceId,
    command: EdgeCommand,
    traceparent: string | undefined
  ): Effect.Effect<CommandOutcome> =>
    perform(deviceId, command, traceparent).pipe(
      Effect.flatMap((value) => encoded(command.name, value)),
      Effect.map((value): CommandOutcome => ({ _tag: "Done", value })),
      Effect.catch((failure) => Effect.succeed(refused(failure))),
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logError(`the command ${command.name} failed`, Cause.squash(cause)),
          refused({ code: "internal", message: errorTable.internal.message })
        )
      ),
      Effect.annotateLogs({ commandId: command.commandId, requestId: command.requestId ?? "" })
    )

  /** The command as a span, of the trace that it came with. */
  const traced = (deviceId: DeviceId, command: EdgeCommand): Effect.Effect<CommandOutcome> =>
    Effect.suspend(() => {
      const parent = traceparentOf(command.traceparent)
      const span = traces.start(`command ${command.name}`, "server", parent, {
        "corral.command.id": command.commandId,
        "corral.request_id": command.requestId ?? ""
      })
      const answered = answer(deviceId, command, span?.traceparent ?? parent)
      if (span === undefined) return answered
      return Effect.tap(answered, (outcome) =>
        Effect.sync(() => {
          const refusal = outcome._tag === "Refused" ? { "corral.error": outcome.error.code } : {}
          span.end({ "corral.command.outcome": outcome._tag, ...refusal }, false)
        })
      )
    })

  return HubCommands.of({
    execute: (deviceId, command) =>
      Effect.suspend(() => {
        // One run is started once, whatever its commands are called.
        const key = command.name === "StartRun" ? command.payload.runId : command.commandId
        const found = running.get(key)
        if (found !== undefined) return Deferred.await(found)
        const done = Deferred.makeUnsafe<CommandOutcome>()
        running.set(key, done)
        const work = traced(deviceId, command).pipe(
          Effect.onExit((exit) =>
            Effect.suspend(() => {
              running.delete(key)
              return Deferred.done(done, exit)
            })
          )
        )
        return Effect.andThen(Effect.forkIn(work, scope, { startImmediately: true }), Deferred.await(done))
      })
  })
})

const few = <A>(items: ReadonlyArray<A>): Effect.Effect<ReadonlyArray<A>, PayloadTooLarge> =>
  items.length > MAX_ITEMS
    ? Effect.fail(new PayloadTooLarge({ message: "The list is too long." }))
    : Effect.succeed(items)

const encoded = (name: CommandName, value: unknown): Effect.Effect<unknown, PayloadTooLarge> =>
  // What a command answers is what its own service gave: it fits.
  Effect.orDie(Schema.encodeUnknownEffect(edgeCommands[name].success)(value)).pipe(
    Effect.filterOrFail(
      (json) => Buffer.byteLength(JSON.stringify(json)) <= MAX_ANSWER_BYTES,
      () => new PayloadTooLarge({ message: "The answer is too large to be sent." })
    )
  )

const refused = ({
  code,
  details,
  message
}: Pick<Failure, "code" | "message"> & { readonly details?: object | undefined }): CommandOutcome => ({
  _tag: "Refused",
  error: { code, message, ...(details === undefined ? {} : { details: { ...details } }) }
})

/** Somebody who is not at this machine allows nothing here for longer than a session: a lasting grant is its owner's to give. */
const narrowed = (scope: DecisionScope): DecisionScope => (scope === "always" ? "session" : scope)
