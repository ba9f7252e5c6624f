/**
 * Elicitation of MCP and ACP, a form or an address, as an input request, and the response to it. Each program has its own names of the fields.
 *
 * Guarantees: without an answer of a person the response is `decline`.
 * Does not: open an address.
 */
import type { AnswerValue, InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { titleLine } from "../text/FirstLine.ts"
import { type JsonObject, arrayOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"

// Questions of an elicitation form, from its JSON schema, and the content of the response.
//
// Guarantees: order and labels are the agent's. A default is shown as text and never chosen. The content has only what a person answered.
// Does not: run a pattern of the schema. The agent checks what it receives.

/** Fields of a JSON object whose values are not checked. */
type Fields<Names extends string> = { readonly [Name in Names]?: unknown }

/** Schema of one field: those of ACP and of MCP, and the titles of an `enum` that both had before. */
type Property = Fields<
  | "anyOf"
  | "default"
  | "description"
  | "enum"
  | "enumNames"
  | "format"
  | "items"
  | "maxLength"
  | "maximum"
  | "minLength"
  | "minimum"
  | "oneOf"
  | "title"
  | "type"
  | "writeOnly"
>
type Options = NonNullable<Question["options"]>

/** Field next to a choice for a text of the person instead of an option. */
const OTHER = "_custom"

const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

/** Options of a schema: titled ones, or an `enum` with or without a list of titles. */
const optionsOf = (schema: unknown): Options | undefined => {
  const { anyOf, enum: values, enumNames, oneOf }: Property = objectOf(schema)
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined
  if (titled !== undefined)
    return titled.flatMap((entry) => {
      const { const: value, description, title }: Fields<"const" | "description" | "title"> = objectOf(entry)
      const id = textOf(value)
      if (id === undefined) return []
      return [{ id, label: textOf(title) ?? id, ...defined({ description: textOf(description) }) }]
    })
  if (!Array.isArray(values)) return undefined
  const titles = arrayOf(enumNames)
  return values.flatMap((value, at) =>
    typeof value === "string" ? [{ id: value, label: textOf(titles[at]) ?? value }] : []
  )
}

/** What the answer to a property is; `undefined` if its type is unknown. */
const kindOf = (property: Property): Omit<Question, "id" | "text"> | undefined => {
  switch (property.type) {
    case "boolean":
      return { kind: "boolean" }
    case "number":
    case "integer": {
      const [min, max] = [numberOf(property.minimum), numberOf(property.maximum)]
      const integer = property.type === "integer" ? true : undefined
      return { kind: "number", ...defined({ integer, min, max }) }
    }
    case "array": {
      const options = optionsOf(property.items)
      return options === undefined ? undefined : { kind: "choice", options, multiple: true }
    }
    case "string": {
      const options = optionsOf(property)
      if (options !== undefined) return { kind: "choice", options }
      const format = textOf(property.format)
      const secret = format === "password" || property.writeOnly === true ? true : undefined
      const [min, max] = [numberOf(property.minLength), numberOf(property.maxLength)]
      return { kind: "text", ...defined({ min, max, format, secret }) }
    }
    default:
      return undefined
  }
}

const defaultIn = ({ default: value }: Property): string =>
  value === undefined || value === null
    ? ""
    : ` (default: ${typeof value === "string" ? value : JSON.stringify(value)})`

/** Text and header of a question. */
const textsFor = (id: string, property: Property, message: string | undefined) => {
  const [title, description] = [textOf(property.title), textOf(property.description)]
  const text = [message, description].filter((part) => part !== undefined && part !== "").join("\n")
  const header = text === "" ? undefined : title
  return { text: `${text === "" ? (title ?? id) : text}${defaultIn(property)}`, ...defined({ header }) }
}

/** Names of the properties that hold a text instead of an option of the choice before them. */
const othersIn = (properties: JsonObject): ReadonlySet<string> =>
  new Set(
    Object.keys(properties).flatMap((id) => {
      const { items }: Property = objectOf(properties[id])
      const isChoice = optionsOf(properties[id]) !== undefined || optionsOf(items) !== undefined
      const { type }: Property = objectOf(properties[`${id}${OTHER}`])
      return isChoice && type === "string" ? [`${id}${OTHER}`] : []
    })
  )

const numberIn = (id: string): number => Number(/\d{1,4}$/.exec(id)?.[0] ?? Number.NaN)

/** Numbered fields in the order of their numbers, others as they are: the keys of an object have no order in JSON. */
const inOrder = (ids: ReadonlyArray<string>): ReadonlyArray<string> =>
  ids.some((id) => Number.isNaN(numberIn(id))) ? ids : ids.toSorted((a, b) => numberIn(a) - numberIn(b))

/** The questions of a form; `undefined` if one of its fields cannot be asked. */
const questionsOf = (schema: unknown, message: string): ReadonlyArray<Question> | undefined => {
  const { properties, required }: Fields<"properties" | "required"> = objectOf(schema)
  const fields = objectOf(properties)
  const others = othersIn(fields)
  const ids = inOrder(Object.keys(fields).filter((id) => !others.has(id)))
  const isRequired = new Set(arrayOf(required))
  // An agent may put the texts of all questions into the message, one a line.
  const lines = message.split("\n")
  const messages = ids.length === 1 ? [message] : lines.length === ids.length ? lines : []
  const questions: Array<Question> = []
  for (const [at, id] of ids.entries()) {
    const property: Property = objectOf(fields[id])
    const kind = kindOf(property)
    if (kind === undefined) return undefined
    const allowsOther = others.has(`${id}${OTHER}`) ? { allowsOther: true } : {}
    const optional = isRequired.has(id) ? {} : { required: false }
    const texts = textsFor(id, property, messages[at])
    questions.push({ id, ...texts, ...kind, ...allowsOther, ...optional })
  }
  return questions
}

type Content = Record<string, string | number | boolean | Array<string>>

type ContentEntry = readonly [field: string, value: Content[string]]

/** The fields of the answer to one question. */
const fieldsOf = (id: string, value: AnswerValue): ReadonlyArray<ContentEntry> => {
  if (Array.isArray(value)) {
    const parts: ReadonlyArray<unknown> = value
    const chosen = parts.filter((part) => typeof part === "string")
    const other = parts.find(isJsonObject)
    return [
      [id, chosen],
      ...(other === undefined ? [] : [[`${id}${OTHER}`, textOf(other["other"]) ?? ""] as const])
    ]
  }
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return [[id, value]]
  return "other" in value ? [[`${id}${OTHER}`, value.other]] : []
}

/** The content of a form, from the answers to its questions. */
const contentOf = (questions: ReadonlyArray<Question>, answers: InputAnswers): Content =>
  Object.fromEntries(
    questions.flatMap(({ id }) => {
      const value = Object.hasOwn(answers, id) ? answers[id] : undefined
      return value === undefined ? [] : fieldsOf(id, value)
    })
  )

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
