/**
 * How one model service speaks: what a request holds, and how an answer, streamed or whole, and a refusal look. Pure: `FakeModels` does the I/O.
 */
import type { JsonObject } from "@corral/adapters/text/Json"
import type { Call, OfferedTool } from "../OfferedTools.ts"

/**
 * Tokens of one answer, as the model service counts them. The prompt has tokens that are new, read from a cache and written to it; the answer has
 * those of the text and of the reasoning.
 */
export interface AnswerTokens {
  readonly fresh: number
  readonly read: number
  readonly written: number
  readonly text: number
  readonly reasoning: number
}

/** Tokens of the prompt, and of the answer. */
export const inputOfAnswer = ({ fresh, read, written }: AnswerTokens): number => fresh + read + written
export const outputOfAnswer = ({ reasoning, text }: AnswerTokens): number => text + reasoning

/** What the model says in one turn. `id` is unique to it. */
export interface ModelTurn {
  readonly id: string
  readonly model: string
  readonly text: string
  /** Calls at the same time. */
  readonly calls: ReadonlyArray<Call>
  readonly tokens: AnswerTokens
}

export interface Dialect {
  /** Of the requests that ask the model. */
  readonly path: RegExp
  /** Header that carries the key. */
  readonly key: string
  readonly tools: (request: JsonObject) => ReadonlyArray<OfferedTool>
  /** Whether it reports which tokens were written to a cache. Otherwise they are new ones. */
  readonly reportsWrites: boolean
  /** How many tool results follow the last script of the conversation. */
  readonly results: (request: JsonObject) => number
  /** A body of server-sent events. */
  readonly stream: (reply: ModelTurn) => string
  /** The same without a stream: only ever text. */
  readonly whole: (reply: ModelTurn) => JsonObject
  /** How the service refuses a wrong key: not all of them with 401. */
  readonly refusal: { readonly status: number; readonly body: JsonObject }
}

/** One server-sent event. */
export const event = (data: JsonObject, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

/** A text as a model streams it. */
export const pieces = (text: string): ReadonlyArray<string> => text.match(/[\s\S]{1,12}/g) ?? []

/** The names in a JSON schema's properties. */
export const propertiesOf = (schema: unknown): ReadonlyArray<string> => {
  if (typeof schema !== "object" || schema === null || !("properties" in schema)) return []
  return Object.keys(schema.properties ?? {})
}

/** A call's input as JSON; a free-form one has none. */
export const inputOf = (call: Call): Readonly<Record<string, unknown>> => ("input" in call ? call.input : {})

/** The error of OpenAI's services for a key that they do not know. */
export const wrongKey: JsonObject = {
  type: "invalid_request_error",
  code: "invalid_api_key",
  message: "Incorrect API key provided: sk-wrong***0000."
}
