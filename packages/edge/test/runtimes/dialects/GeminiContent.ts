/** `generateContent`, as Gemini CLI speaks it. */
import { arrayOf, objectOf, textOf, type JsonObject } from "@corral/adapters/text/Json"
import { afterScript } from "../Script.ts"
import {
  type Dialect,
  event,
  inputOf,
  inputOfAnswer,
  outputOfAnswer,
  pieces,
  propertiesOf,
  type ModelTurn
} from "./Dialect.ts"

const contentOf = (
  { id, model, tokens }: ModelTurn,
  parts: ReadonlyArray<JsonObject>,
  finishReason?: string
): JsonObject => ({
  candidates: [
    {
      content: { role: "model", parts },
      ...(finishReason === undefined ? {} : { finishReason }),
      index: 0
    }
  ],
  usageMetadata: {
    promptTokenCount: inputOfAnswer(tokens),
    cachedContentTokenCount: tokens.read,
    candidatesTokenCount: tokens.text,
    thoughtsTokenCount: tokens.reasoning,
    totalTokenCount: inputOfAnswer(tokens) + outputOfAnswer(tokens)
  },
  modelVersion: model,
  responseId: id
})

export const geminiContent: Dialect = {
  path: /:(stream)?generateContent$/i,
  key: "x-goog-api-key",
  reportsWrites: false,
  tools: ({ tools }) =>
    arrayOf(tools)
      .flatMap((tool) => arrayOf(objectOf(tool)["functionDeclarations"]))
      .map(objectOf)
      .map((tool) => ({
        name: textOf(tool["name"]) ?? "",
        parameters: propertiesOf(tool["parametersJsonSchema"] ?? tool["parameters"])
      })),
  results: ({ contents }) =>
    afterScript(arrayOf(contents))
      .flatMap((content) => arrayOf(objectOf(content)["parts"]))
      .filter((part) => "functionResponse" in objectOf(part)).length,
  stream: (reply) => {
    const { calls, id, text } = reply
    const called = calls.map((call, at) => ({
      functionCall: { id: `call_${id}_${at}`, name: call.name, args: inputOf(call) }
    }))
    return [
      ...pieces(text).map((piece) => contentOf(reply, [{ text: piece }])),
      ...(called.length === 0 ? [] : [contentOf(reply, called)]),
      contentOf(reply, [{ text: "" }], "STOP")
    ]
      .map((data) => event(data))
      .join("")
  },
  whole: (reply) => contentOf(reply, [{ text: reply.text }], "STOP"),
  // Not 401.
  refusal: {
    status: 400,
    body: {
      error: {
        code: 400,
        message: "API key not valid. Please pass a valid API key.",
        status: "INVALID_ARGUMENT",
        details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }]
      }
    }
  }
}
