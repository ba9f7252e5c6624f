/**
 * Form or address of an MCP server, as Claude Code passes it on, and the response to it.
 *
 * Guarantees: without an answer of a person the server receives `decline`.
 * Does not: open an address.
 */
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { contentOf, questionsOf } from "../form/FormQuestions.ts"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, textOf, type JsonObject } from "../text/Json.ts"

/** The request of an elicitation; `undefined` if a field of its form cannot be asked. */
export const toFormRequest = (elicitation: JsonObject): RequestedInput | undefined => {
  const message = textOf(elicitation["message"]) ?? "A tool asks for input."
  const title = titleLine(textOf(elicitation["title"]) ?? message)
  if (elicitation["mode"] === "url") {
    const url = textOf(elicitation["url"])
    return url === undefined ? undefined : { kind: "link", title, url }
  }
  const questions = questionsOf(elicitation["requested_schema"], message)
  if (questions === undefined) return undefined
  // The order of the server's schema, which an object's keys need not have.
  const order = arrayOf(elicitation["property_order"])
  const placeOf = (id: string): number => (order.includes(id) ? order.indexOf(id) : order.length)
  const ordered = questions.toSorted((a, b) => placeOf(a.id) - placeOf(b.id))
  return { kind: "question", title, questions: ordered }
}

export const declinedForm = { action: "decline" } as const

/** The response to the elicitation. */
export const toFormAnswer = (elicitation: JsonObject, response: InputResponse): object => {
  if (response._tag !== "Answered") return declinedForm
  if (elicitation["mode"] === "url") return { action: "accept" }
  const questions = questionsOf(elicitation["requested_schema"], "") ?? []
  return { action: "accept", content: contentOf(questions, response.answers) }
}
