/**
 * A tool call of an agent as its reports add up, and what it means to a person: a name, a label, files, a result.
 *
 * Agents tell it in pieces: the input may come after the call, the title may become the command, the content may change. Nothing here is
 * said; `ToolCalls` knows when.
 */
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { beginningOf } from "../text/Excerpt.ts"
import {
  arrayOf,
  isJsonObject,
  objectOf,
  parseObject,
  textOf,
  textsIn,
  type JsonObject
} from "../text/Json.ts"
import { MAX_TITLE, titleLine } from "../text/FirstLine.ts"
import type { AcpAgent } from "./AcpAgent.ts"

export interface ToolCall {
  readonly callId: string
  readonly tool: string
  readonly kind: string
  readonly title: string
  readonly status: string | undefined
  readonly input: JsonObject
  readonly content: ReadonlyArray<JsonObject>
  readonly locations: ReadonlyArray<string>
  readonly output: unknown
  /** What a command printed, where the agent reports that in pieces. */
  readonly printed: string
  readonly meta: JsonObject
}

/** The tool's name among what extensions of the protocol add: `_meta.toolName`, `_meta.<agent>.toolName`. */
const nameInMeta = (meta: JsonObject): string | undefined => {
  const own = textOf(meta["toolName"])
  if (own !== undefined) return own
  for (const value of Object.values(meta)) {
    const told = textOf(objectOf(value)["toolName"])
    if (told !== undefined) return told
  }
  return undefined
}

const nameOf = (report: JsonObject, callId: string, { toolName }: AcpAgent): string => {
  const told = textOf(report["name"]) ?? nameInMeta(objectOf(report["_meta"]))
  if (told !== undefined) return told
  const title = textOf(report["title"]) ?? ""
  if (toolName === "title" && /^[\w.-]{1,64}$/.test(title)) return title
  const end = toolName === "callId" ? callId.indexOf("__") : -1
  if (end > 0) return callId.slice(0, end)
  return textOf(report["kind"]) ?? (title === "" ? "tool" : titleLine(title))
}

const nothing: JsonObject = {}

/** A call as its first report tells it. */
export const firstReport = (callId: string, report: JsonObject, agent: AcpAgent): ToolCall => {
  const kind = textOf(report["kind"]) ?? "other"
  const tool = nameOf(report, callId, agent).slice(0, MAX_TITLE)
  const call: ToolCall = {
    callId,
    tool,
    kind,
    title: tool,
    status: undefined,
    input: nothing,
    content: [],
    locations: [],
    output: undefined,
    printed: "",
    meta: nothing
  }
  return mergeReport(call, report, agent)
}

/** Text of an input that is whole; while it streams it is no JSON. */
const inputIn = ({ content, status }: JsonObject): JsonObject | undefined => {
  if (status !== "pending" && status !== "in_progress") return undefined
  const text = textOf(objectOf(objectOf(arrayOf(content).at(-1))["content"])["text"])
  return text === undefined ? undefined : parseObject(text)
}

/** A piece of what a command prints, for agents that treat it as a terminal. */
const pieceIn = (report: JsonObject): string =>
  textOf(objectOf(objectOf(report["_meta"])["terminal_output_delta"])["data"]) ?? ""

/** A call with what a further report adds. A field that is not told stays. */
export const mergeReport = (call: ToolCall, report: JsonObject, agent: AcpAgent): ToolCall => ({
  callId: call.callId,
  tool: call.tool,
  kind: textOf(report["kind"]) ?? call.kind,
  title: textOf(report["title"]) ?? call.title,
  status: textOf(report["status"]) ?? call.status,
  input: isJsonObject(report["rawInput"])
    ? report["rawInput"]
    : ((agent.inputInContent === true ? inputIn(report) : undefined) ?? call.input),
  content: Array.isArray(report["content"]) ? report["content"].filter(isJsonObject) : call.content,
  locations: Array.isArray(report["locations"]) ? textsIn(report["locations"], "path") : call.locations,
  output: report["rawOutput"] ?? call.output,
  printed: call.printed + pieceIn(report),
  meta: isJsonObject(report["_meta"]) ? { ...call.meta, ...report["_meta"] } : call.meta
})

/** The command line of a shell tool, exactly as it would run; `undefined` if unknown. */
export const readShellCommand = (
  { input, kind, title }: ToolCall,
  { titleIsCommand }: AcpAgent
): string | undefined =>
  textOf(input["command"]) ?? (kind === "execute" && titleIsCommand === true ? title : undefined)

/** The file that the tool's own input names. */
export const inputPathOf = ({ input }: ToolCall): string | undefined =>
  textOf(input["notebook_path"]) ??
  textOf(input["file_path"]) ??
  textOf(input["filePath"]) ??
  textOf(input["filepath"]) ??
  textOf(input["absolute_path"]) ??
  textOf(input["path"])

/** The texts that a call shows. */
const textsOf = (content: ToolCall["content"]): ReadonlyArray<string> => {
  const texts: Array<string> = []
  for (const block of content) {
    const text = textOf(objectOf(block["content"])["text"])
    if (text !== undefined) texts.push(text)
  }
  return texts
}

/** Where a result has its text, in the order in which it is looked for. */
const OUTPUTS = ["output", "content", "error", "message"]

/** The text of a result: what the tool gave, or what it is shown as. */
export const readCallOutput = ({ content, output, printed }: ToolCall): string | undefined => {
  if (typeof output === "string" && output !== "") return output
  const fields = objectOf(output)
  const shown = textsOf(content)
  // Of a command that was stopped, an agent may show a notice instead of what it printed.
  if (fields["outcome"] === "cancelled" && typeof fields["output"] === "string")
    return [fields["output"], ...shown].join("\n")
  if (shown.length > 0) return shown.join("\n")
  if (printed !== "") return printed
  return OUTPUTS.map((name) => textOf(fields[name])).find((text) => text !== undefined) ?? textOf(output)
}

const isCode = (code: unknown): code is number => typeof code === "number" && Number.isSafeInteger(code)

/** The exit code of a command, where the result tells. */
export const readExitCode = ({ meta, output }: ToolCall): number | undefined => {
  const fields = objectOf(output)
  const [shell] = arrayOf(fields["contents"]).filter(
    (part): part is JsonObject => isJsonObject(part) && part["type"] === "shell_exit"
  )
  return [
    objectOf(fields["metadata"])["exit"],
    fields["exit_code"],
    fields["exitCode"],
    shell?.["exitCode"],
    objectOf(meta["terminal_exit"])["exit_code"]
  ].find(isCode)
}

/** What became of a call that failed: whether it was carried out at all. */
export const readFailedStatus = ({ meta, output }: ToolCall): PayloadOf<"run.tool.result">["status"] => {
  const kinds = Object.values(meta).map((value) => objectOf(value)["nonExecutionKind"])
  if (kinds.includes("user-rejected")) return "cancelled"
  if (kinds.includes("permission-rule")) return "denied"
  const { code, error, metadata } = objectOf(output)
  if (code === "denied" || code === "rejected") return "denied"
  if (objectOf(metadata)["interrupted"] === true) return "cancelled"
  return /^The user (?:rejected permission|has specified a rule which prevents)/.test(textOf(error) ?? "")
    ? "denied"
    : "failed"
}

/** Text that goes with a request for a person: why the agent wants it. */
export const reasonOf = ({ content, input }: ToolCall): string | undefined => {
  const told = textOf(input["description"]) ?? textsOf(content).join("\n")
  return told === "" ? undefined : beginningOf(told, 1_000)
}

/** The first text that a request shows: where an agent that sends no input tells the folder. */
export const shownTextOf = ({ content }: ToolCall): string => textsOf(content)[0] ?? ""
