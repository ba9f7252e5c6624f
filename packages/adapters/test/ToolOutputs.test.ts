/** Everything that a tool gave back in a recording is in the events: its text, and the exit code of a command. */
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { arrayOf, isJsonObject, parseObject, type JsonObject } from "../src/text/Json.ts"
import { splitLines } from "@corral/conformance/Hostile"
import { replay } from "@corral/conformance/Replay"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"

/** Fields in which programs print what a tool gave back. */
const TEXTS = new Set(["output", "content", "text", "data", "aggregated_output", "aggregatedOutput"])
const CODES = new Set(["exit_code", "exitCode", "exit"])

/** The lines that are about the result of a tool call, by what programs call them. */
const isResult = (line: JsonObject): boolean => {
  const text = JSON.stringify(line)
  return (
    /"(tool_result|tool_use|tool_execution_end|tool\.execution_complete)"/.test(text) ||
    (/"tool_call_update"/.test(text) && /"status":"(completed|failed)"/.test(text)) ||
    (/"item[./]completed"/.test(text) && /"(command_?[eE]xecution|mcp_?[tT]ool_?[cC]all)"/.test(text))
  )
}

/** Fields that repeat the result for the program's own screen, are what went in, or are the bytes of an image, which becomes a file. */
const REPEATED =
  /^(input|rawInput|arguments|args|parameters|metadata|detailedContent|outputPreview|tool_use_result|details|partialResult|structured_output|resultDisplay|metrics|item_input|model_usage|message_so_far|source)$/

interface Found {
  readonly texts: Array<string>
  readonly codes: Array<number>
}

const search = (value: unknown, found: Found): Found => {
  for (const one of arrayOf(value)) search(one, found)
  if (!isJsonObject(value)) return found
  for (const [key, inner] of Object.entries(value)) {
    if (REPEATED.test(key)) continue
    if (typeof inner === "string" && TEXTS.has(key) && inner.trim() !== "") found.texts.push(inner)
    else if (typeof inner === "number" && CODES.has(key)) found.codes.push(inner)
    else search(inner, found)
  }
  return found
}

/** Without the fences and line numbers that an agent adds for its own screen. */
const contentOf = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.replace(/^\s*\d+(\t|: )/, "").trim())
    .filter((line) => line !== "" && !/^(```|<\/?\w+>|\(End of file)/.test(line))

for (const [id, adapter] of registry) {
  describe(id, () => {
    for (const recording of recordings(id)) {
      it(`${recording.name}: keeps what its tools gave back`, () => {
        const outputs: Array<string> = []
        const codes: Array<number> = []
        for (const output of replay(adapter, recording, [recording.stdout])) {
          if (output._tag === "Artifact") {
            const { content } = output
            outputs.push(typeof content === "string" ? content : Buffer.from(content).toString("base64"))
          }
          if (output._tag !== "Event") continue
          const { event } = output
          if (event.type === "run.tool.result") {
            if (event.payload.output !== undefined) outputs.push(event.payload.output)
            if (event.payload.exitCode !== undefined) codes.push(event.payload.exitCode)
          } else if (event.type === "run.steps.updated") {
            for (const { text } of event.payload.steps) outputs.push(text)
          } else if (event.type.startsWith("run.message.") && "text" in event.payload)
            outputs.push(event.payload.text)
        }
        const received = outputs.join("\n")
        for (const bytes of splitLines(recording.stdout)) {
          const line = parseObject(Buffer.from(bytes).toString("utf8"))
          if (line === undefined || !isResult(line)) continue
          const found = search(line, { texts: [], codes: [] })
          for (const text of found.texts.flatMap(contentOf)) assert.include(received, text)
          for (const code of found.codes) assert.include(codes, code)
        }
      })
    }
  })
}
