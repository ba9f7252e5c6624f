/** `/web/agent-tasks`, `/client/tasks`: making, reading and cancelling tasks. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied, RunNotCancellable } from "@corral/domain/errors/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { TaskId } from "@corral/domain/identity/Ids"
import type { TaskState } from "@corral/domain/task/Task"
import { byId, pageOf } from "@corral/service/http/Paged"
import { replayed } from "@corral/service/http/Replayed"
import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { Dispatcher } from "../task/Dispatcher.ts"
import { Tasks } from "../task/Tasks.ts"
import { answered } from "./Answered.ts"
import { requireChatMode } from "./ChatMode.ts"
import { routed } from "./Routed.ts"

export const tasks = HttpApiBuilder.group(
  HubApi,
  "tasks",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const authority = yield* HubAuthority
    const dispatcher = yield* Dispatcher
    const idempotency = yield* HubIdempotency
    const router = yield* EdgeRouter
    const targets = yield* Targets
    const tasks = yield* Tasks

    /** A task that is known; whether the caller may see it is still to be found. */
    const known = Effect.fnUntraced(function* (id: TaskId) {
      return (yield* tasks.find(id)) ?? (yield* new PermissionDenied())
    })

    const waitingCancelled = Effect.fnUntraced(function* (proof: Proof<"run.cancel">, id: TaskId) {
      const cancelled = yield* tasks.cancelWaiting(proof, id)
      if (cancelled !== undefined) return cancelled
      const message = "The task has just been started, or is over."
      return yield* new RunNotCancellable({ message })
    })

    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ headers, payload }) {
        const principal = yield* CurrentPrincipal
        const { userId } = principal
        const proof = yield* authority.inProject("task.create", payload.projectId)
        const id = yield* tasks.newId
        const request = {
          scope: `${userId} POST /web/agent-tasks`,
          key: headers["idempotency-key"],
          request: payload
        }
        const deed = { action: "task.create" as const, resource: id, projectId: payload.projectId }
        const { body, replayed: again } = yield* idempotency.runOnce(
          request,
          audit.perform(
            deed,
            Effect.andThen(requireChatMode(principal, payload.mode), tasks.create(proof, id, payload))
          )
        )
        if (!again && body.state === "pending") yield* dispatcher.wake(body.targetId)
        return yield* replayed(
          HttpApiSchema.withHeaders({ body, headers: { location: `/client/tasks/${body.id}` } }),
          again
        )
      }, answered),

      list: Effect.fnUntraced(function* ({ query: { cursor, limit, projectId, sessionId, state } }) {
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
          byId,
          (before, limit) => tasks.list(userId, filter, before, limit)
        )
      }, answered),

      get: Effect.fnUntraced(function* ({ params }) {
        const task = yield* known(params.id)
        yield* authority.inProject("project.read", task.projectId, task.id)
        return task
      }, answered),

      cancel: Effect.fnUntraced(function* ({ params: { id } }) {
        const { userId } = yield* CurrentPrincipal
        const task = yield* known(id)
        const { projectId, runId, state, targetId } = task
        const proof = yield* authority.inProject("run.cancel", projectId, id)
        const deed = { action: "run.cancel" as const, resource: id, projectId }
        if (state === "cancelled") return task
        if (runId === undefined) return yield* audit.perform(deed, waitingCancelled(proof, id))
        // Nothing of the Hub's is held while the Edge is asked.
        const cancelled = isOver(state)
          ? Effect.fail(new RunNotCancellable())
          : router.cancel(targetId, { runId, by: userId }).pipe(routed(targets, task))
        yield* audit.perform(deed, yield* Effect.exit(cancelled))
        return yield* known(id)
      }, answered)
    })
  })
)

const isOver = (state: TaskState): boolean =>
  state === "completed" || state === "failed" || state === "cancelled" || state === "expired"
