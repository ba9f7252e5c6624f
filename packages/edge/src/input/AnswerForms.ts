/**
 * The forms of an answer that arrives: open for the runtime, sealed for the journal.
 *
 * Guarantees: a sealed answer that does not open, and a plain secret from a remote caller, are refused before the question is resolved.
 */
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputAnswers, RequestedInput } from "@corral/domain/input/InputRequest"
import type { SealingKeyPair } from "@corral/domain/input/Seal"
import { Effect } from "effect"
import { isSealed, openedAnswers, secretQuestions, storedAnswers } from "./SecretAnswers.ts"

export interface AnswerForms {
  /** Without seals. */
  readonly answer: InputAnswer
  /** Its answers with sealed secrets. */
  readonly stored: InputAnswers | undefined
}

export interface SealableQuestion {
  readonly id: InputRequestId
  readonly request: RequestedInput
  readonly sealing: SealingKeyPair | undefined
}

const refused = (ids: ReadonlyArray<string>, message: string) =>
  new SchemaValidationFailed({
    details: { issues: ids.map((id) => ({ path: `answers.${id}`, message })) }
  })

/** `allowsPlain`: whether secret answers may arrive without a seal, as they do from this machine. */
export const answerForms = Effect.fnUntraced(function* (
  { id, request, sealing }: SealableQuestion,
  answer: InputAnswer,
  allowsPlain: boolean
): Effect.fn.Return<AnswerForms, SchemaValidationFailed> {
  if (!("answers" in answer)) return { answer, stored: undefined }
  const { answers } = answer
  const plain = secretQuestions(request).filter(
    (one) => Object.hasOwn(answers, one) && !isSealed(answers[one])
  )
  if (plain.length > 0 && !allowsPlain) return yield* refused(plain, "Seal this answer.")
  const opened = yield* Effect.promise(() => openedAnswers(sealing, id, request, answers))
  if (opened.unopened.length > 0)
    return yield* refused(
      opened.unopened,
      "This answer was sealed for another question. Load the question again."
    )
  const stored = yield* Effect.promise(() => storedAnswers(sealing, id, request, answers))
  return { answer: { ...answer, answers: opened.answers }, stored }
})
