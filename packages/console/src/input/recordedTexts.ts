/** Answers as a person reads them: labels of the chosen options, and texts. Pure. */
import type { Question } from "@corral/domain/input/InputRequest"
import { visibleText } from "../markdown/visible.ts"

interface AnswerWords {
  readonly yes: string
  readonly no: string
  readonly hidden: string
  readonly none: string
}

const partText = ({ options = [] }: Question, part: unknown): string => {
  if (typeof part === "object" && part !== null)
    return "other" in part && typeof part.other === "string" ? visibleText(part.other) : ""
  const label = options.find(({ id }) => id === part)?.label
  return visibleText(label ?? String(part))
}

/** Texts of the recorded answer to a question. A record has no content of a secret. */
export const recordedTexts = (
  question: Question,
  value: unknown,
  words: AnswerWords
): ReadonlyArray<string> => {
  if (question.secret === true) return [value === undefined ? words.none : words.hidden]
  if (value === undefined) return [words.none]
  if (typeof value === "boolean") return [value ? words.yes : words.no]
  return (Array.isArray(value) ? value : [value]).map((part) => partText(question, part))
}
