/** The Responses API, as Codex speaks it. */
import { arrayOf, objectOf, textOf, type JsonObject } from "@corral/adapters/text/Json"
import type { Call, OfferedTool } from "../OfferedTools.ts"
import { afterScript } from "../Script.ts"
import {
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

const withNamespace = (namespace: string | undefined) => (namespace === undefined ? {} : { namespace })

/** A script that calls a tool and returns its result. */
const scriptOf = (call: Call): string => {
  const input = "text" in call ? call.text : inputOf(call)
  return `const result = await tools.${call.name}(${JSON.stringify(input)}); text(result)`
}

const itemOf = (id: string, call: Call): JsonObject => {
  if (call.runner !== undefined)
    return itemOf(id, { ...withNamespace(call.namespace), name: call.runner, text: scriptOf(call) })
  const base = {
    call_id: `call_${id}`,
    name: call.name,
    status: "completed",
    ...withNamespace(call.namespace)
  }
  return "text" in call
    ? { ...base, type: "custom_tool_call", id: `ctc_${id}`, input: call.text }
    : { ...base, type: "function_call", id: `fc_${id}`, arguments: JSON.stringify(inputOf(call)) }
}

const response = (
  { id, model, tokens }: ModelTurn,
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
    input_tokens: inputOfAnswer(tokens),
    input_tokens_details: { cached_tokens: tokens.read, cache_write_tokens: tokens.written },
    output_tokens: outputOfAnswer(tokens),
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: inputOfAnswer(tokens) + outputOfAnswer(tokens)
  }
})

const messageOf = ({ id, text }: ModelTurn): JsonObject => ({
  type: "message",
  id: `msg_${id}`,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }]
})

/** Tools that a script can call, as the description of the tool that runs scripts declares them. */
const toolsOfScripts = (tool: JsonObject, namespace: string | undefined): ReadonlyArray<OfferedTool> =>
  (textOf(tool["description"]) ?? "").split(/^### `/m).flatMap((section, at) => {
    const name = /^(\w+)`/.exec(section)?.[1]
    if (at === 0 || name === undefined) return []
    const parameters = [...section.matchAll(/^ {2}(\w+)\??:/gm)].map(([, parameter = ""]) => parameter)
    const runner = textOf(tool["name"]) ?? ""
    return [
      { name, parameters, freeform: section.includes("(input: string)"), runner, ...withNamespace(namespace) }
    ]
  })

/** A tool, or those of a group. */
const toolsIn = (tool: JsonObject, namespace?: string): ReadonlyArray<OfferedTool> => {
  if (tool["type"] === "namespace")
    return arrayOf(tool["tools"]).flatMap((each) => toolsIn(objectOf(each), textOf(tool["name"])))
  const name = textOf(tool["name"]) ?? ""
  const freeform = tool["type"] === "custom"
  return [
    { name, parameters: propertiesOf(tool["parameters"]), freeform, ...withNamespace(namespace) },
    ...(freeform && name === "exec" ? toolsOfScripts(tool, namespace) : [])
  ]
}

/** Newer models have their tools in an item of the conversation. */
const toolsOfItems = (input: unknown): ReadonlyArray<unknown> =>
  arrayOf(input)
    .map(objectOf)
    .filter(({ type }) => type === "additional_tools")
    .flatMap(({ tools }) => arrayOf(tools))

export const openAiResponses: Dialect = {
  path: /\/responses$/,
  key: "authorization",
  reportsWrites: true,
  tools: ({ input, tools }) =>
    [...arrayOf(tools), ...toolsOfItems(input)].flatMap((tool) => toolsIn(objectOf(tool))),
  results: ({ input }) =>
    afterScript(arrayOf(input)).filter((item) => (textOf(objectOf(item)["type"]) ?? "").endsWith("_output"))
      .length,
  stream: (reply) => {
    const { calls, id, text } = reply
    const message = messageOf(reply)
    const output = [message, ...calls.map((call, at) => itemOf(`${id}_${at}`, call))]
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
