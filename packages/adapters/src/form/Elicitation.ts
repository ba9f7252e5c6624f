/**
 * Elicitation of MCP and ACP, a form or an address, as an input request, and the response to it. Each program has its own names of the fields.
 *
 * Guarantees: without an answer of a person the response is `decline`.
 * Does not: open an address.
 */
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, textOf } from "../text/Json.ts"
import { contentOf, questionsOf, type Content } from "./FormQuestions.ts"

/** Fields of an elicitation, of which only `message` is checked. */
interface ElicitationFields {
  readonly message: string
  readonly title?: unknown
  readonly mode: unknown
  readonly url: unknown
  readonly schema: unknown
  /** Names of the properties in the server's order, which the keys of an object need not have. */
  readonly order?: unknown
}

export interface Elicitation {
  readonly request: RequestedInput
  readonly toResponse: (response: InputResponse) => ElicitationResponse
}

/** `content` only of a form. */
export type ElicitationResponse =
  | { readonly action: "accept"; readonly content?: Content }
  | { readonly action: "decline" }

export const declined = { action: "decline" } as const

/** The elicitation; `undefined` without the address of a link, or if a field of its form cannot be unordered. */
export const readElicitation = (fields: ElicitationFields): Elicitation | undefined => {
  const { message, mode, schema } = fields
  const title = titleLine(textOf(fields.title) ?? message)
  if (mode === "url") {
    const url = textOf(fields.url)
    if (url === undefined) return undefined
    return {
      request: { kind: "link", title, url },
      toResponse: ({ _tag }) => (_tag === "Answered" ? { action: "accept" } : declined)
    }
  }
  const unordered = questionsOf(schema, message)
  if (unordered === undefined) return undefined
  const order = arrayOf(fields.order)
  const placeOf = (id: string): number => (order.includes(id) ? order.indexOf(id) : order.length)
  const questions = unordered.toSorted((a, b) => placeOf(a.id) - placeOf(b.id))
  return {
    request: { kind: "question", title, questions },
    toResponse: (response) =>
      response._tag === "Answered"
        ? { action: "accept", content: contentOf(questions, response.answers) }
        : declined
  }
}
