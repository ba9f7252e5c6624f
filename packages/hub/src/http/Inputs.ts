/** `/client/inputs`: questions and plans, and answers to them. The Edge determines which answer was first. */
import {
  InputAlreadyResolved,
  InputExpired,
  PermissionDenied,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HubInput } from "@corral/domain/hub-api/HubRun"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { answerIssues, plainSecretIssues } from "@corral/domain/input/AnswerCheck"
import type { InputAnswer } from "@corral/domain/input/InputRequest"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority, requireChatMode } from "../authority/HubAuthority.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { Inputs } from "../run/RunRequests.ts"
import {
  completingCommands,
  type HubRequest,
  keyedWrite,
  requireRoute,
  withErrorObjects
} from "./Handlers.ts"
import { decisionOriginOf } from "./Approvals.ts"

export const inputEndpoints = HttpApiBuilder.group(
  HubApi,
  "inputs",
  Effect.fnUntraced(function* (handlers) {
    const authority = yield* HubAuthority
    const inputs = yield* Inputs

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit, projectId, runId, state } }) {
        const { userId } = yield* CurrentPrincipal
        if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
        const filter = { projectId, runId, state }
        const named = JSON.stringify([projectId, runId, state])
        return yield* pageOf(
          { filter: `inputs ${named}`, principal: userId, cursor, limit },
          idPosition,
          (after, limit) => inputs.list(userId, filter, after, limit)
        )
      }, withErrorObjects),

      get: Effect.fnUntraced(function* ({ params: { id } }) {
        const input = (yield* inputs.find(id)) ?? (yield* new PermissionDenied())
        yield* authority.inProject("project.read", input.projectId, id)
        return input
      }, withErrorObjects),

      answer: yield* inputAnswer
    })
  })
)

type AnswerHeaders = HubRequest<"inputs", "answer">["headers"]

/** Handler of an answer. */
export const inputAnswer = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const idempotency = yield* HubIdempotency
  const inputs = yield* Inputs
  const router = yield* EdgeRouter
  const targets = yield* Targets
  const writeOnce = yield* keyedWrite
  const complete = yield* completingCommands

  /** No transaction is open while the Edge decides which answer was first. */
  const send = Effect.fnUntraced(function* (input: HubInput, answer: InputAnswer, headers: AnswerHeaders) {
    const { kind, userId } = yield* CurrentPrincipal
    const { id: inputId, projectId, runId, targetId } = input
    if (input.state !== "pending") return yield* resolvedRefusal(input)
    const issues = yield* inputs.findPlanModeIssues(input, answer)
    if (issues.length > 0) return yield* new SchemaValidationFailed({ details: { issues } })
    if ("approve" in answer && answer.approve) yield* inputs.recordApproval(inputId, userId, answer)
    const command = {
      answer: { runId, inputId, ...answer },
      by: userId,
      origin: decisionOriginOf(kind, headers)
    }
    const answered: HubInput = { ...(yield* router.answerInput(targetId, command)), projectId, targetId }
    return answered
  })

  return Effect.fnUntraced(function* ({ headers, params: { id }, payload }: HubRequest<"inputs", "answer">) {
    const principal = yield* CurrentPrincipal
    const input = (yield* inputs.find(id)) ?? (yield* new PermissionDenied())
    yield* authority.overInput(id, input.kind)
    if ("approve" in payload && payload.mode !== undefined) yield* requireChatMode(principal, payload.mode)
    const issues = [...answerIssues(input, payload), ...plainSecretIssues(input, payload)]
    if (issues.length > 0) return yield* new SchemaValidationFailed({ details: { issues } })
    const scope = `${principal.userId} POST /client/inputs/${id}/answer`
    const key = headers["idempotency-key"]
    const response = HubInput
    const stored = yield* idempotency.findAnswer({ scope, key, request: payload, response })
    if (stored !== undefined) return yield* markReplayed(stored, true)
    const auditedAction = { action: "input.answer", resource: id, projectId: input.projectId } as const
    return yield* complete(
      Effect.flatMap(
        Effect.exit(send(input, payload, headers).pipe(requireRoute(targets, input))),
        (outcome) => writeOnce({ scope, headers, payload, response }, audit.perform(auditedAction, outcome))
      )
    )
  }, withErrorObjects)
})

/** Why a question that is not open takes no answer, also one that is equal to its answer: the answer may be secret. */
const resolvedRefusal = ({ answeredBy, id: inputId, state }: HubInput) => {
  const details = { inputId, state, ...(answeredBy === undefined ? {} : { answeredBy }) }
  return state === "expired" ? new InputExpired({ details }) : new InputAlreadyResolved({ details })
}
