/**
 * Answer to a question for a Hub, with its secrets sealed: the Edge that runs the agent can open them, and the Hub cannot.
 *
 * Does not: check the answer. An Edge also accepts plain secrets, over its own address only.
 */
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import { sealValue } from "@corral/domain/input/Seal"
import { CorralError } from "../http/CorralError.ts"

/** Parts of a request that name its secrets. */
export type Sealable = Pick<InputRequest, "questions" | "sealingKey"> & { readonly id: string }

/** The answer, with each plain text of a secret question sealed. Fails with `conflict` if the device can't receive secrets over a Hub. */
export const sealSecrets = async (
  { id, questions = [], sealingKey }: Sealable,
  answer: InputAnswer
): Promise<InputAnswer> => {
  if (!("answers" in answer)) return answer
  const secrets = questions.flatMap((question) => {
    const value = answer.answers[question.id]
    return question.secret === true && typeof value === "string" ? [[question.id, value] as const] : []
  })
  if (secrets.length === 0) return answer
  if (sealingKey === undefined)
    throw new CorralError("conflict", {
      message: "The device can't receive secret answers over a Hub. Answer on the device itself."
    })
  const sealed = await Promise.all(
    secrets.map(async ([question, text]) => [question, await sealValue(sealingKey, id, text)] as const)
  )
  return { ...answer, answers: { ...answer.answers, ...Object.fromEntries(sealed) } }
}
