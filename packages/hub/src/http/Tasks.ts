/** `/web/agent-tasks`, `/client/tasks`: tasks, created, read and cancelled. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied, RunNotCancellable } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { TaskId } from "@corral/domain/identity/Ids"
import { isTaskOver, Task } from "@corral/domain/task/Task"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import type { ProjectProof } from "../authority/ProjectProof.ts"
import { HubAuthority, requireChatMode } from "../authority/HubAuthority.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { Dispatcher } from "../task/Dispatcher.ts"
import { type CreateGroup, hasCandidates } from "../task/GroupCreation.ts"
import { Tasks } from "../task/Tasks.ts"
import { completingCommands, type HubRequest, requireRoute, withErrorObjects } from "./Handlers.ts"

/** Finds a task. The caller's access is checked afterwards: a missing task and a forbidden one get the same answer. */
const taskLookup = Effect.map(Tasks, (tasks) =>
  Effect.fnUntraced(function* (id: TaskId) {
    return (yield* tasks.find(id)) ?? (yield* new PermissionDenied())
  })
)

const createHandler = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const dispatcher = yield* Dispatcher
  const idempotency = yield* HubIdempotency
  const targets = yield* Targets
  const tasks = yield* Tasks

  /** The records of the first task and of the others are those of single tasks. */
  const createGroup = Effect.fnUntraced(function* (
    principal: Principal,
    proof: ProjectProof<"task.create">,
    id: TaskId,
    group: CreateGroup
  ) {
    const { projectId } = group
    for (const { mode = group.mode } of group.candidates) yield* requireChatMode(principal, mode)
    const { isNewSession, sessionId, tasks: created } = yield* tasks.createGroup(proof, id, group)
    const record = {
      actor: principal.userId,
      projectId,
      requestId: yield* CurrentRequestId,
      outcome: "allowed",
      code: null
    } as const
    if (isNewSession) yield* audit.record({ ...record, action: "session.write", resource: sessionId })
    const [first, ...others] = created
    for (const other of others) yield* audit.record({ ...record, action: "task.create", resource: other.id })
    return first
  })

  return {
    create: Effect.fnUntraced(function* ({ headers, payload }: HubRequest<"tasks", "create">) {
      const principal = yield* CurrentPrincipal
      const { userId } = principal
      const proof = yield* authority.inProject("task.create", payload.projectId)
      const id = yield* tasks.newId
      const request = {
        scope: `${userId} POST /web/agent-tasks`,
        key: headers["idempotency-key"],
        request: payload,
        response: Task
      }
      const auditedAction = { action: "task.create" as const, resource: id, projectId: payload.projectId }
      const { body, replayed: again } = yield* idempotency.runOnce(
        request,
        audit.perform(
          auditedAction,
          hasCandidates(payload)
            ? createGroup(principal, proof, id, payload)
            : Effect.andThen(requireChatMode(principal, payload.mode), tasks.create(proof, id, payload))
        )
      )
      // A task with a run is on its way. A target that came online meanwhile has looked for tasks before this one was visible.
      const waits = !again && body.runId === undefined
      const isOnline =
        waits && (body.state === "pending" || (yield* targets.currentOffer(body.targetId)) !== undefined)
      if (isOnline) yield* dispatcher.wake(body.targetId)
      return yield* markReplayed(
        HttpApiSchema.withHeaders({ body, headers: { location: `/client/tasks/${body.id}` } }),
        again
      )
    }, withErrorObjects)
  }
})

const readHandlers = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const findTask = yield* taskLookup
  const tasks = yield* Tasks

  return {
    list: Effect.fnUntraced(function* ({
      query: { cursor, limit, projectId, sessionId, state }
    }: HubRequest<"tasks", "list">) {
      const { userId } = yield* CurrentPrincipal
      if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
      const filter = { projectId, sessionId, state }
      return yield* pageOf(
        {
          filter: `tasks ${JSON.stringify([projectId, sessionId, state])}`,
          principal: userId,
          cursor,
          limit
        },
        idPosition,
        (before, limit) => tasks.list(userId, filter, before, limit)
      )
    }, withErrorObjects),

    get: Effect.fnUntraced(function* ({ params }: HubRequest<"tasks", "get">) {
      const task = yield* findTask(params.id)
      yield* authority.inProject("project.read", task.projectId, task.id)
      return task
    }, withErrorObjects)
  }
})

const cancelHandler = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const findTask = yield* taskLookup
  const router = yield* EdgeRouter
  const targets = yield* Targets
  const tasks = yield* Tasks
  const complete = yield* completingCommands

  const cancelWaiting = Effect.fnUntraced(function* (proof: Proof<"run.cancel">, id: TaskId) {
    const cancelled = yield* tasks.cancelWaiting(proof, id)
    if (cancelled !== undefined) return cancelled
    const message = "The task has just started, or has ended."
    return yield* new RunNotCancellable({ message })
  })

  return {
    cancel: Effect.fnUntraced(function* ({ params: { id } }: HubRequest<"tasks", "cancel">) {
      const { userId } = yield* CurrentPrincipal
      const task = yield* findTask(id)
      const { projectId, runId, state, targetId } = task
      const proof = yield* authority.inProject("run.cancel", projectId, id)
      const auditedAction = { action: "run.cancel" as const, resource: id, projectId }
      if (state === "cancelled") return task
      if (runId === undefined) return yield* audit.perform(auditedAction, cancelWaiting(proof, id))
      // No transaction is open while the Edge handles the command.
      const cancelled = isTaskOver(state)
        ? Effect.fail(new RunNotCancellable())
        : router.cancel(targetId, { runId, by: userId }).pipe(requireRoute(targets, task))
      yield* complete(
        Effect.flatMap(Effect.exit(cancelled), (outcome) => audit.perform(auditedAction, outcome))
      )
      return yield* findTask(id)
    }, withErrorObjects)
  }
})

export const taskEndpoints = HttpApiBuilder.group(
  HubApi,
  "tasks",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll({
      ...(yield* createHandler),
      ...(yield* readHandlers),
      ...(yield* cancelHandler)
    })
  })
)
