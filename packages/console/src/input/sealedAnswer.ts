/** Answer whose secrets are sealed for the Edge. Neither the Hub nor its stores see them. */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { AnswerValue, InputAnswer } from "@corral/domain/input/InputRequest"
import { sealValue } from "@corral/domain/input/Seal"

/** Questions whose answers are sealed. */
const secretIds = ({ questions = [] }: HubInput): ReadonlySet<string> =>
  new Set(questions.filter(({ secret }) => secret === true).map(({ id }) => id))

export const sealedAnswer = async (input: HubInput, answer: InputAnswer): Promise<InputAnswer> => {
  const secrets = secretIds(input)
  if (!("answers" in answer) || secrets.size === 0) return answer
  const { id, sealingKey } = input
  const entries = Object.entries(answer.answers).map(async ([question, value]) => {
    const isSecret = secrets.has(question) && typeof value === "string"
    // Without a key nothing is sent in the clear: the form offers no field then.
    if (isSecret && sealingKey === undefined) throw new Error("no key for secret answers")
    const sent: AnswerValue = isSecret ? await sealValue(sealingKey ?? "", id, value) : value
    return [question, sent] as const
  })
  return { ...answer, answers: Object.fromEntries(await Promise.all(entries)) }
}
