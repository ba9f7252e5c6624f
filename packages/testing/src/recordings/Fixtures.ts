/** Recordings of the adapters' tests in `fixtures/<adapter>/<scenario>/`, as the conformance kit reads them. */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { fileURLToPath } from "node:url"
import { loadRecording, loadRecordings, recordingFacts } from "@corral/conformance/Recordings"
import type { Recording } from "@corral/conformance/Replay"
import { makeJsonLines } from "@corral/adapters/JsonMapping"
import type { JsonMap } from "@corral/adapters/one-shot/MappedLines"
import { builtIn } from "@corral/adapters/Registry"
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import { makeText } from "@corral/adapters/Text"

export const fixtures = fileURLToPath(new URL("../../../adapters/test/fixtures/", import.meta.url))

/** Every line of a program that prints text means something. */
const withKind = (adapter: string, recording: Recording): Recording =>
  adapter === "text" ? { ...recording, isText: true } : recording

export const load = (adapter: string, name: string): Recording =>
  withKind(adapter, loadRecording(`${fixtures}${adapter}`, name))

/** What the recorded client wrote, if that was recorded. */
export const recordedStdin = (adapter: string, name: string): string | undefined => {
  const { stdin } = recordingFacts(`${fixtures}${adapter}/${name}`)
  return stdin.length === 0 ? undefined : stdin.join("\n")
}

/** Map of a program that uses every entry. */
const map: JsonMap = {
  type: "event",
  delta: { when: ["token"], text: "data.text" },
  reasoning: { when: ["thought"], text: "data.text" },
  message: { when: ["said"], text: "data.text" },
  toolCall: { when: ["tool.start"], id: "data.id", name: "data.tool", input: "data.args" },
  toolResult: {
    when: ["tool.end"],
    id: "data.id",
    output: "data.output",
    exitCode: "data.code",
    failed: "data.error"
  },
  fileChange: { when: ["file", "tool.end"], path: "data.files.0.path", change: "data.files.0.how" },
  usage: { when: ["cost", "done"], inputTokens: "tokens.in", outputTokens: "tokens.out", costUsd: "usd" },
  completed: { when: ["done"], text: "data.answer" },
  failed: { when: ["error"], message: "data.message" },
  ignore: ["ping"]
}

/** Map of a recorded program: Copilot CLI. Its adapter reads more of its output. */
const copilotMap: JsonMap = {
  type: "type",
  delta: { when: ["assistant.message_delta"], text: "data.deltaContent" },
  reasoning: { when: ["assistant.reasoning_delta"], text: "data.deltaContent" },
  message: { when: ["assistant.message"], text: "data.content" },
  toolCall: {
    when: ["tool.execution_start"],
    id: "data.toolCallId",
    name: "data.toolName",
    input: "data.arguments"
  },
  toolResult: {
    when: ["tool.execution_complete"],
    id: "data.toolCallId",
    output: "data.result.content",
    exitCode: "data.shellExecution.exitCode",
    failed: "data.error"
  },
  fileChange: { when: ["tool.execution_complete"], path: "data.fileEdits.0.path" },
  completed: { when: ["result"] },
  failed: { when: ["session.error"], message: "data.message" },
  ignore: [
    "user.message",
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.idle",
    "assistant.message_start",
    "assistant.tool_call_delta",
    "model.call_start",
    "model.call_finished",
    "model.call_final_result",
    "session.skills_loaded",
    "session.mcp_servers_loaded",
    "session.tools_updated",
    "session.background_tasks_changed",
    "session.info",
    "tool.execution_partial_result",
    "tool.shell_output"
  ]
}

const generic = { label: "A program", command: ["program", "{prompt}"], stdin: "none", install: "" } as const

/** The built-in adapters and the generic ones, each with its recordings. */
export const registry: ReadonlyMap<string, RuntimeAdapter> = new Map([
  ...builtIn({ node: process.execPath, scriptedProgram }),
  ["text", makeText(generic)],
  ["json-lines", makeJsonLines({ ...generic, map })],
  ["json-lines-copilot", makeJsonLines({ ...generic, map: copilotMap })]
])

export const recordings = (adapter: string): ReadonlyArray<Recording> =>
  loadRecordings(`${fixtures}${adapter}`).map((recording) => withKind(adapter, recording))
