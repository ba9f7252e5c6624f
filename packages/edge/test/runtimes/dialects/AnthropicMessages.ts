/** The Messages API, as Claude Code speaks it. */
import { arrayOf, objectOf, textOf } from "@corral/adapters/text/Json"
import { afterScript } from "../Script.ts"
import {
  type AnswerTokens,
  type Dialect,
  event,
  inputOf,
  outputOfAnswer,
  pieces,
  propertiesOf,
  type ModelTurn
} from "./Dialect.ts"

const base = ({ id, model }: ModelTurn) => ({
  id: `msg_${id}`,
  type: "message",
  role: "assistant",
  model,
  stop_sequence: null
})

const promptOf = ({ fresh, read, written }: AnswerTokens) => ({
  input_tokens: fresh,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: written,
  cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 }
})

const answerOf = (tokens: AnswerTokens) => ({
  output_tokens: outputOfAnswer(tokens),
  output_tokens_details: { thinking_tokens: tokens.reasoning }
})

const named = (type: string, more: object = {}): string => event({ type, ...more }, type)

const block = (index: number, content: object, deltas: ReadonlyArray<object>): string =>
  [
    named("content_block_start", { index, content_block: content }),
    ...deltas.map((delta) => named("content_block_delta", { index, delta })),
    named("content_block_stop", { index })
  ].join("")

export const anthropicMessages: Dialect = {
  path: /\/messages$/,
  key: "x-api-key",
  reportsWrites: true,
  tools: ({ tools }) =>
    arrayOf(tools)
      .map(objectOf)
      .map((tool) => ({ name: textOf(tool["name"]) ?? "", parameters: propertiesOf(tool["input_schema"]) })),
  results: ({ messages }) =>
    afterScript(arrayOf(messages))
      .flatMap((message) => arrayOf(objectOf(message)["content"]))
      .filter((content) => objectOf(content)["type"] === "tool_result").length,
  stream: (reply) => {
    const { calls, id, text } = reply
    const usage = { ...promptOf(reply.tokens), output_tokens: 1 }
    const words = pieces(text).map((piece) => ({ type: "text_delta", text: piece }))
    return [
      named("message_start", { message: { ...base(reply), content: [], stop_reason: null, usage } }),
      block(0, { type: "text", text: "" }, words),
      ...calls.map((call, at) =>
        block(
          at + 1,
          { type: "tool_use", id: `toolu_${id}_${at}`, name: call.name, input: {} },
          pieces(JSON.stringify(inputOf(call))).map((piece) => ({
            type: "input_json_delta",
            partial_json: piece
          }))
        )
      ),
      named("message_delta", {
        delta: { stop_reason: calls.length === 0 ? "end_turn" : "tool_use", stop_sequence: null },
        usage: answerOf(reply.tokens)
      }),
      named("message_stop")
    ].join("")
  },
  whole: (reply) => ({
    ...base(reply),
    content: [{ type: "text", text: reply.text }],
    stop_reason: "end_turn",
    usage: { ...promptOf(reply.tokens), ...answerOf(reply.tokens) }
  }),
  refusal: {
    status: 401,
    body: { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } }
  }
}
