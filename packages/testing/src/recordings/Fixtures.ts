/** Recordings of the adapters' tests in `fixtures/<adapter>/<scenario>/`, as the conformance suite reads them. */
import type { RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Recording } from "@corral/adapters/conformance/Replay"
import { makeJsonLines } from "@corral/adapters/JsonMapping"
import type { JsonMap } from "@corral/adapters/one-shot/JsonMap"
import { builtIn } from "@corral/adapters/Registry"
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import { makeText } from "@corral/adapters/Text"

export const fixtures = fileURLToPath(new URL("../../../adapters/test/fixtures/", import.meta.url))

const json = <A>(file: string): A => JSON.parse(readFileSync(file, "utf8"))

export const load = (adapter: string, name: string): Recording => {
  const folder = `${fixtures}${adapter}/${name}`
  return {
    name,
    start: json<RunStart>(`${folder}/start.json`),
    inputs: existsSync(`${folder}/inputs.json`) ? json(`${folder}/inputs.json`) : [],
    stdout: readFileSync(`${folder}/stdout.jsonl`),
    chunkSizes: json(`${folder}/chunks.json`),
    exit: {
      ...json<{ code: number | null; signal: string | null }>(`${folder}/exit.json`),
      stderr: readFileSync(`${folder}/stderr.txt`, "utf8")
    },
    expected: existsSync(`${folder}/expected.json`)
      ? json(`${folder}/expected.json`)
      : { outcome: "Completed" }
  }
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
  readdirSync(`${fixtures}${adapter}`)
    .sort()
    .map((name) => load(adapter, name))
