/** The Responses API, as Codex speaks it. */
import { arrayOf, objectOf, textOf, type JsonObject } from "@corral/adapters/text/Json"
import type { Call } from "../Tools.ts"
import { type Dialect, event, inputOf, pieces, propertiesOf, type ModelTurn, wrongKey } from "./Dialect.ts"

const itemOf = (id: string, call: Call): JsonObject => {
  const base = { call_id: `call_${id}`, name: call.name, status: "completed" }
  return "text" in call
    ? { ...base, type: "custom_tool_call", id: `ctc_${id}`, input: call.text }
    : { ...base, type: "function_call", id: `fc_${id}`, arguments: JSON.stringify(inputOf(call)) }
}

const response = (
  { id, model }: ModelTurn,
  status: string,
  output: ReadonlyArray<JsonObject>
): JsonObject => ({
  id: `resp_${id}`,
  object: "response",
  created_at: 1_790_000_000,
  model,
  status,
  output,
  usage: {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 42,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 142
  }
})

const messageOf = ({ id, text }: ModelTurn): JsonObject => ({
  type: "message",
  id: `msg_${id}`,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }]
})

export const openAiResponses: Dialect = {
  path: /\/responses$/,
  key: "authorization",
  tools: ({ tools }) =>
    arrayOf(tools)
      .map(objectOf)
      .map((tool) => ({
        name: textOf(tool["name"]) ?? "",
        parameters: propertiesOf(tool["parameters"]),
        freeform: tool["type"] === "custom"
      })),
  results: ({ input }) =>
    arrayOf(input).filter((item) => (textOf(objectOf(item)["type"]) ?? "").endsWith("_output")).length,
  stream: (reply) => {
    const { call, id, text } = reply
    const message = messageOf(reply)
    const output = call === undefined ? [message] : [message, itemOf(id, call)]
    const events: ReadonlyArray<JsonObject> = [
      { type: "response.created", response: response(reply, "in_progress", []) },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...message, status: "in_progress", content: [] }
      },
      ...pieces(text).map((delta) => ({
        type: "response.output_text.delta",
        item_id: message["id"],
        output_index: 0,
        content_index: 0,
        delta
      })),
      ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
      { type: "response.completed", response: response(reply, "completed", output) }
    ]
    return events
      .map((data, sequence_number) => event({ ...data, sequence_number }, String(data["type"])))
      .join("")
  },
  whole: (reply) => response(reply, "completed", [messageOf(reply)]),
  refusal: { status: 401, body: { error: wrongKey } }
}
