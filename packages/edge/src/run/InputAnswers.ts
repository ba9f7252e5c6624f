/** Answers to open questions. The first valid answer wins; later ones are refused. */
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import type { InputAnswer, RequestedInput } from "@corral/domain/input/InputRequest"
import { Deferred } from "effect"
import { secretTexts, shownAnswers } from "../input/SecretAnswers.ts"
import type { BatchState } from "./BatchState.ts"
import { AnswerRefused, type RunMessageOf } from "./RunMessage.ts"

export const applyAnswer = (batch: BatchState, message: RunMessageOf<"AnswerInput">): void => {
  const { recorder, redaction } = batch.context
  const { answer, by, inputId, keep, origin, reply, stored } = message
  const request = recorder.state.pendingInputs.get(inputId)
  const issues = request === undefined ? [] : answerIssues(request, answer)
  if (issues.length > 0) {
    batch.replies.push(Deferred.fail(reply, new SchemaValidationFailed({ details: { issues } })))
    return
  }
  if (request !== undefined) {
    if ("answers" in answer) redaction.learn(secretTexts(request, answer.answers))
    if (keep !== undefined) recorder.addAnswer(inputId, keep)
    if (stored !== undefined) batch.storedAnswers.set(inputId, stored)
  }
  const actions = recorder.apply({
    _tag: "InputAnswered",
    inputId,
    answer,
    shown: redaction.value(request === undefined ? {} : shownOf(request, answer)),
    by,
    origin,
    endsRun: request?.kind === "plan" && endsWithPlan(recorder.run.mode)
  })
  if (actions.some(({ _tag }) => _tag === "Refuse")) {
    batch.replies.push(Deferred.fail(reply, new AnswerRefused()))
    return
  }
  batch.act(actions)
  batch.replies.push(Deferred.succeed(reply, undefined))
}

const shownOf = (request: RequestedInput, answer: InputAnswer) => ({
  ...("answers" in answer ? { answers: shownAnswers(request, answer.answers) } : {}),
  ...(answer.comment === undefined ? {} : { comment: answer.comment })
})
