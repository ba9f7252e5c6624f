/** The open question that a text of the composer can answer. Pure. */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { Question } from "@corral/domain/input/InputRequest"
import { allowsText } from "./FormDraft.ts"

export interface TextQuestion {
  readonly input: HubInput
  readonly question: Question
}

/** Undefined unless exactly one question allows a text, and the text answers all that its request requires. */
export const openTextQuestion = (inputs: ReadonlyArray<HubInput>): TextQuestion | undefined => {
  const found = inputs.flatMap((input) =>
    (input.questions ?? []).filter(allowsText).map((question) => ({ input, question }))
  )
  const [only] = found
  if (only === undefined || found.length > 1) return undefined
  const others = (only.input.questions ?? []).filter(({ id }) => id !== only.question.id)
  return others.every(({ required }) => required === false) ? only : undefined
}
