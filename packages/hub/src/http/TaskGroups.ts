/** `/client/task-groups`: candidates for one message, compared, stopped and paused together, and the one that is continued. */
import type { ChangedFile } from "@corral/domain/edge-api/ChangeSet"
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { MAX_LIMIT } from "@corral/domain/http/Page"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import {
  compareFiles,
  type ComparedCandidate,
  type GroupCandidate,
  GroupOutcome,
  MAX_COMPARED_FILES,
  MAX_COMPARED_PATHS
} from "@corral/domain/hub-api/TaskGroups"
import type { DeviceId, RunId, TaskGroupId, UserId } from "@corral/domain/identity/Ids"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import type { NamedAction, ProjectProof } from "../authority/ProjectProof.ts"
import { isOutcomeUnknown } from "../edges/CommandRoute.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { type CandidateTask, TaskGroups } from "../task/TaskGroups.ts"
import { Tasks } from "../task/Tasks.ts"
import { completingCommands, type HubRequest, requireRoute, withErrorObjects } from "./Handlers.ts"
import { performCommand } from "./Runs.ts"

/** Finds the place of a group. One that the caller may not see is indistinguishable from one that does not exist. */
const groupPlaces = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const groups = yield* TaskGroups
  return Effect.fnUntraced(function* <A extends NamedAction>(action: A, id: TaskGroupId) {
    const place = (yield* groups.locate(id)) ?? (yield* new PermissionDenied())
    return { ...place, proof: yield* authority.inProject(action, place.projectId, id) }
  })
})

const readHandlers = Effect.gen(function* () {
  const admitted = yield* groupPlaces
  const groups = yield* TaskGroups
  const router = yield* EdgeRouter
  const targets = yield* Targets

  return {
    get: Effect.fnUntraced(function* ({ params: { id } }: HubRequest<"taskGroups", "get">) {
      const { proof } = yield* admitted("project.read", id)
      return yield* groups.get(proof, id)
    }, withErrorObjects),

    comparison: Effect.fnUntraced(function* ({ params: { id } }: HubRequest<"taskGroups", "comparison">) {
      const place = yield* admitted("project.read", id)
      const { candidates } = yield* groups.get(place.proof, id)
      const read = yield* Effect.forEach(
        candidates,
        (candidate) => readCandidate(router, place.targetId, candidate),
        { concurrency: "unbounded" }
      ).pipe(requireRoute(targets, place))
      return {
        groupId: id,
        candidates: read.map(({ candidate }) => candidate),
        files: compareFiles(
          read.flatMap(({ candidate: { runId, state, taskId }, files }) =>
            state !== "compared" || runId === undefined ? [] : [{ taskId, runId, files }]
          )
        )
      }
    }, withErrorObjects)
  }
})

interface ReadCandidate {
  readonly candidate: ComparedCandidate
  readonly files: ReadonlyArray<ChangedFile>
}

/** Undecided files of a candidate, read at its Edge. */
const readCandidate = (
  router: EdgeRouter["Service"],
  targetId: DeviceId,
  { changes, removedAt, run, task }: GroupCandidate
) => {
  const taskId = task.id
  const none: ReadCandidate = { candidate: { taskId, state: "none" }, files: [] }
  const runId = changes?.runId ?? run?.id
  if (runId === undefined || removedAt !== undefined) return Effect.succeed(none)
  const failed = ({ message }: { readonly message: string }) =>
    Effect.succeed<ReadCandidate>({
      candidate: { taskId, runId, state: "failed", reason: message },
      files: []
    })
  return readFiles(router, targetId, runId).pipe(
    Effect.map(({ files, isCut, version }): ReadCandidate =>
      files.length === 0
        ? none
        : {
            candidate: { taskId, runId, state: "compared", version, ...(isCut ? { truncated: true } : {}) },
            files
          }
    ),
    Effect.catchTags({
      ChangesUnknown: failed,
      // The Edge does not have the run yet, or has removed its changes.
      NotFound: () => Effect.succeed(none),
      PayloadTooLarge: failed,
      WorkspaceOutsideAllowlist: failed
    })
  )
}

const readFiles = Effect.fnUntraced(function* (
  router: EdgeRouter["Service"],
  targetId: DeviceId,
  runId: RunId
) {
  const files: Array<ChangedFile> = []
  let after: { readonly after?: string } = {}
  let left = MAX_COMPARED_PATHS
  while (true) {
    const { items, next, set } = yield* router.readChanges(targetId, { runId, limit: MAX_LIMIT, ...after })
    const fitting = items.filter(({ fromPath = "", path }) => (left -= path.length + fromPath.length) >= 0)
    files.push(...fitting.slice(0, MAX_COMPARED_FILES - files.length))
    const isCut = left < 0 || (next !== null && files.length === MAX_COMPARED_FILES)
    if (next === null || isCut) return { files, isCut, version: set.version }
    after = { after: next }
  }
})

/** Sends a command for each candidate's task that is not over, and collects the refusals. */
const commandEach = <E extends Coded<ErrorCode> & { readonly message: string }, R>(
  tasks: ReadonlyArray<CandidateTask>,
  command: (task: CandidateTask["task"]) => Effect.Effect<unknown, E | SqlError.SqlError, R>
) =>
  Effect.map(
    Effect.forEach(
      tasks,
      ({ candidateId: taskId, task }) =>
        command(task).pipe(
          Effect.as([]),
          Effect.catch((error) =>
            error instanceof SqlError.SqlError
              ? Effect.fail(error)
              : Effect.succeed([{ taskId, code: error.code, message: error.message }])
          )
        ),
      { concurrency: "unbounded" }
    ),
    (refused) => refused.flat()
  )

/** Stops a task: in the queue, or its run. What is over needs nothing. */
const stopping = Effect.gen(function* () {
  const audit = yield* Audit
  const perform = yield* performCommand
  const router = yield* EdgeRouter
  const tasks = yield* Tasks

  const cancelRun = ({ id, projectId, targetId }: CandidateTask["task"], runId: RunId, by: UserId) =>
    perform(
      { action: "run.cancel", resource: id, projectId },
      Effect.catchTag(router.cancel(targetId, { runId, by }), "RunNotCancellable", () => Effect.void)
    )

  return Effect.fnUntraced(function* (proof: ProjectProof<"run.cancel">, task: CandidateTask["task"]) {
    const { userId } = yield* CurrentPrincipal
    const { id, projectId, runId } = task
    if (runId !== undefined) return yield* cancelRun(task, runId, userId)
    const cancelled = yield* tasks.cancelWaiting(proof, id)
    if (cancelled !== undefined)
      return yield* audit.perform({ action: "run.cancel", resource: id, projectId }, Effect.void)
    // It has just received its run, or has ended.
    const started = (yield* tasks.find(id))?.runId
    if (started !== undefined) return yield* cancelRun(task, started, userId)
  })
})

const commandHandlers = Effect.gen(function* () {
  const admitted = yield* groupPlaces
  const groups = yield* TaskGroups
  const perform = yield* performCommand
  const router = yield* EdgeRouter
  const stop = yield* stopping
  const targets = yield* Targets

  const outcomeOf = Effect.fnUntraced(function* (
    { id, proof }: { readonly id: TaskGroupId; readonly proof: Parameters<typeof groups.get>[0] },
    refused: GroupOutcome["refused"]
  ) {
    return { group: yield* groups.get(proof, id), refused }
  })

  const pauseHandler = (action: "run.pause" | "run.resume", command: "PauseRun" | "ResumeRun") =>
    Effect.fnUntraced(function* ({ params: { id } }: { readonly params: { readonly id: TaskGroupId } }) {
      const { userId: by } = yield* CurrentPrincipal
      const place = yield* admitted(action, id)
      const tasks = yield* groups.openTasks(id)
      const refused = yield* commandEach(tasks, ({ projectId, runId, targetId }) =>
        runId === undefined
          ? Effect.void
          : perform(
              { action, resource: runId, projectId },
              Effect.catchIf(
                router.changePause(targetId, command, { runId, by }),
                (error) => error._tag === "Conflict" && error.details?.["reason"] === "ended",
                () => Effect.void
              )
            )
      ).pipe(requireRoute(targets, place))
      return yield* outcomeOf(place, refused)
    }, withErrorObjects)

  return {
    stop: Effect.fnUntraced(function* ({ params: { id } }: HubRequest<"taskGroups", "stop">) {
      const place = yield* admitted("run.cancel", id)
      const tasks = yield* groups.openTasks(id)
      const refused = yield* commandEach(tasks, (task) => stop(place.proof, task)).pipe(
        requireRoute(targets, place)
      )
      return yield* outcomeOf(place, refused)
    }, withErrorObjects),

    pause: pauseHandler("run.pause", "PauseRun"),

    resume: pauseHandler("run.resume", "ResumeRun")
  }
})

const continueHandler = Effect.gen(function* () {
  const admitted = yield* groupPlaces
  const audit = yield* Audit
  const complete = yield* completingCommands
  const groups = yield* TaskGroups
  const idempotency = yield* HubIdempotency
  const stop = yield* stopping
  const targets = yield* Targets

  return {
    continue: Effect.fnUntraced(function* ({
      headers,
      params: { id },
      payload
    }: HubRequest<"taskGroups", "continue">) {
      const { userId } = yield* CurrentPrincipal
      const place = yield* admitted("session.write", id)
      const { proof: toStop } = yield* admitted("run.cancel", id)
      const { taskId } = payload
      const chosen = audit.perform(
        { action: "group.continue", resource: id, projectId: place.projectId },
        groups.continueWith(place.proof, id, taskId)
      )
      // No transaction is open while the Edge stops the others. Without that, the next pass over closed candidates does.
      const write = Effect.gen(function* () {
        yield* chosen
        const open = yield* groups.openTasks(id)
        const others = open.filter(({ candidateId }) => candidateId !== taskId)
        const refused = yield* commandEach(others, (task) => stop(toStop, task))
        return { group: yield* groups.get(place.proof, id), refused }
      }).pipe(requireRoute(targets, place))
      const scope = `${userId} POST /client/task-groups/${id}/continue`
      const request = { scope, key: headers["idempotency-key"], request: payload, response: GroupOutcome }
      const { body, replayed } = yield* complete(
        idempotency.runOnceRemotely(request, write, isOutcomeUnknown)
      )
      return yield* markReplayed(body, replayed)
    }, withErrorObjects)
  }
})

export const taskGroupEndpoints = HttpApiBuilder.group(
  HubApi,
  "taskGroups",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll({
      ...(yield* readHandlers),
      ...(yield* commandHandlers),
      ...(yield* continueHandler)
    })
  })
)
