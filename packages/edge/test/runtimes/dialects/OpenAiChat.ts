/** The chat completions API, as OpenCode speaks it. */
import { arrayOf, objectOf, textOf } from "@corral/adapters/text/Json"
import { afterScript } from "../Script.ts"
import {
  type AnswerTokens,
  type Dialect,
  event,
  inputOf,
  inputOfAnswer,
  outputOfAnswer,
  pieces,
  propertiesOf,
  type ModelTurn,
  wrongKey
} from "./Dialect.ts"

const usageOf = (tokens: AnswerTokens) => {
  const [prompt_tokens, completion_tokens] = [inputOfAnswer(tokens), outputOfAnswer(tokens)]
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: tokens.read },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning }
  }
}

const base = ({ id, model }: ModelTurn, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: 1_790_000_000,
  model
})

export const openAiChat: Dialect = {
  path: /\/chat\/completions$/,
  key: "authorization",
  reportsWrites: false,
  tools: ({ tools }) =>
    arrayOf(tools)
      .map((tool) => objectOf(objectOf(tool)["function"]))
      .map((tool) => ({ name: textOf(tool["name"]) ?? "", parameters: propertiesOf(tool["parameters"]) })),
  results: ({ messages }) =>
    afterScript(arrayOf(messages)).filter((message) => objectOf(message)["role"] === "tool").length,
  stream: (reply) => {
    const { calls, id, text } = reply
    const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
      event({
        ...base(reply, "chat.completion.chunk"),
        choices: [{ index: 0, delta, finish_reason }],
        ...more
      })
    const toolCall = (index: number, more: object): string => chunk({ tool_calls: [{ index, ...more }] })
    return [
      chunk({ role: "assistant", content: "" }),
      ...pieces(text).map((content) => chunk({ content })),
      ...calls.flatMap((call, at) => [
        toolCall(at, {
          id: `call_${id}_${at}`,
          type: "function",
          function: { name: call.name, arguments: "" }
        }),
        ...pieces(JSON.stringify(inputOf(call))).map((piece) =>
          toolCall(at, { function: { arguments: piece } })
        )
      ]),
      chunk({}, calls.length === 0 ? "stop" : "tool_calls", { usage: usageOf(reply.tokens) }),
      "data: [DONE]\n\n"
    ].join("")
  },
  whole: (reply) => ({
    ...base(reply, "chat.completion"),
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: reply.text } }],
    usage: usageOf(reply.tokens)
  }),
  refusal: { status: 401, body: { error: wrongKey } }
}
