/** The chat completions API, as OpenCode speaks it. */
import { arrayOf, objectOf, textOf } from "@corral/adapters/text/Json"
import { afterScript } from "../Script.ts"
import { type Dialect, event, inputOf, pieces, propertiesOf, type ModelTurn, wrongKey } from "./Dialect.ts"

const usage = { prompt_tokens: 100, completion_tokens: 42, total_tokens: 142 }

const base = ({ id, model }: ModelTurn, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: 1_790_000_000,
  model
})

export const openAiChat: Dialect = {
  path: /\/chat\/completions$/,
  key: "authorization",
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
      chunk({}, calls.length === 0 ? "stop" : "tool_calls", { usage }),
      "data: [DONE]\n\n"
    ].join("")
  },
  whole: (reply) => ({
    ...base(reply, "chat.completion"),
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: reply.text } }],
    usage
  }),
  refusal: { status: 401, body: { error: wrongKey } }
}
