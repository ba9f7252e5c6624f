/**
 * A tool call of an agent, merged from its reports, and its meaning for a person: name, files, output, exit code.
 *
 * Agents report a call in pieces: the input may come after the call, the title may become the command, the content may change.
 * Does not: emit events. `ToolCalls` decides when.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import type * as Acp from "@agentclientprotocol/sdk"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { MAX_TITLE, beginningOf, titleLine } from "../text/FirstLine.ts"
import {
  arrayOf,
  isJsonObject,
  objectOf,
  parseObject,
  textOf,
  textsIn,
  type JsonObject
} from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import {
  type AgentToolMeta,
  type RawOutput,
  type ShellExit,
  type ToolCallMeta,
  type UnverifiedFields,
  isToolCallStatus,
  isToolKind,
  parentCallIn
} from "./AcpSchema.ts"
import { readBlock, type BlockFile } from "../output/ContentBlocks.ts"

/** A `tool_call`, a `tool_call_update`, or the call of a permission request. */
export type ToolCallReport = UnverifiedFields<Acp.ToolCall | Acp.ToolCallUpdate>

export type ToolCallBlock = UnverifiedFields<Acp.ToolCallContent>

export interface ToolCall {
  readonly callId: string
  readonly tool: string
  /** `other` if the agent's kind is unknown. */
  readonly kind: Acp.ToolKind
  readonly title: string
  /** `pending` if the agent's status is unknown. */
  readonly status: Acp.ToolCallStatus | undefined
  readonly input: JsonObject
  readonly content: ReadonlyArray<ToolCallBlock>
  readonly locations: ReadonlyArray<string>
  readonly output: unknown
  /** Output of a command, if the agent reports it in pieces. */
  readonly printed: string
  readonly meta: JsonObject
  /** The call of the sub-agent that called the tool. */
  readonly parentCallId: string | undefined
}

/** The tool's name in an extension of the protocol: `_meta.toolName` or `_meta.<agent>.toolName`. */
const nameInMeta = (meta: JsonObject): string | undefined => {
  const { toolName }: UnverifiedFields<ToolCallMeta> = meta
  const name = textOf(toolName)
  if (name !== undefined) return name
  for (const value of Object.values(meta)) {
    const ofAgent: UnverifiedFields<AgentToolMeta> = objectOf(value)
    const nameOfAgent = textOf(ofAgent.toolName)
    if (nameOfAgent !== undefined) return nameOfAgent
  }
  return undefined
}

const nameOf = (report: ToolCallReport, callId: string, { toolName }: AcpAgent): string => {
  const name = textOf(report.name) ?? nameInMeta(objectOf(report._meta))
  if (name !== undefined) return name
  const title = textOf(report.title) ?? ""
  if (toolName === "title" && /^[\w.-]{1,64}$/.test(title)) return title
  const end = toolName === "callId" ? callId.indexOf("__") : -1
  if (end > 0) return callId.slice(0, end)
  return textOf(report.kind) ?? (title === "" ? "tool" : titleLine(title))
}

const nothing: JsonObject = {}

/** A call from its first report. */
export const firstReport = (callId: string, report: ToolCallReport, agent: AcpAgent): ToolCall => {
  const tool = firstCharacters(nameOf(report, callId, agent), MAX_TITLE)
  const call: ToolCall = {
    callId,
    tool,
    kind: "other",
    title: tool,
    status: undefined,
    input: nothing,
    content: [],
    locations: [],
    output: undefined,
    printed: "",
    meta: nothing,
    parentCallId: undefined
  }
  return mergeReport(call, report, agent)
}

/** A call with what a further report adds. A field that the report does not have stays. */
export const mergeReport = (call: ToolCall, report: ToolCallReport, agent: AcpAgent): ToolCall => ({
  callId: call.callId,
  tool: call.tool,
  kind: kindIn(report) ?? call.kind,
  title: textOf(report.title) ?? call.title,
  status: statusIn(report) ?? call.status,
  input: isJsonObject(report.rawInput)
    ? report.rawInput
    : ((agent.inputInContent === true ? inputIn(report) : undefined) ?? call.input),
  content: Array.isArray(report.content) ? report.content.filter(isJsonObject) : call.content,
  locations: Array.isArray(report.locations) ? textsIn(report.locations, "path") : call.locations,
  output: report.rawOutput ?? call.output,
  printed: call.printed + pieceIn(report),
  meta: isJsonObject(report._meta) ? { ...call.meta, ...report._meta } : call.meta,
  parentCallId: parentCallIn(report._meta) ?? call.parentCallId
})

const kindIn = ({ kind }: ToolCallReport): Acp.ToolKind | undefined =>
  isToolKind(kind) ? kind : typeof kind === "string" ? "other" : undefined

const statusIn = ({ status }: ToolCallReport): Acp.ToolCallStatus | undefined =>
  isToolCallStatus(status) ? status : typeof status === "string" ? "pending" : undefined

/** Input in the text of the last block. While it is streamed, the text is not complete JSON. */
const inputIn = ({ content, status }: ToolCallReport): JsonObject | undefined => {
  if (status !== "pending" && status !== "in_progress") return undefined
  const text = textInBlock(objectOf(arrayOf(content).at(-1)))
  return text === undefined ? undefined : parseObject(text)
}

const textInBlock = (block: ToolCallBlock): string | undefined => {
  const shown = readBlock(block.content)
  return shown !== undefined && "text" in shown ? shown.text : undefined
}

/** The files in a call's content: images, recordings and embedded resources. */
export const filesInContent = ({ content }: ToolCall): ReadonlyArray<BlockFile> =>
  content.flatMap((block) => {
    const shown = readBlock(block.content)
    return shown !== undefined && "file" in shown ? [shown.file] : []
  })

/** A piece of a command's output, from agents that report it as a terminal's. */
const pieceIn = (report: ToolCallReport): string => {
  const { terminal_output_delta: delta }: UnverifiedFields<ToolCallMeta> = objectOf(report._meta)
  const { data }: UnverifiedFields<ToolCallMeta["terminal_output_delta"]> = objectOf(delta)
  return textOf(data) ?? ""
}

/** The command line of a shell tool, exactly as it would run; `undefined` if unknown. */
export const readShellCommand = (
  { input, kind, title }: ToolCall,
  { titleIsCommand }: AcpAgent
): string | undefined =>
  textOf(input["command"]) ?? (kind === "execute" && titleIsCommand === true ? title : undefined)

/** The file that the tool's input names. */
export const inputPathOf = ({ input }: ToolCall): string | undefined =>
  textOf(input["notebook_path"]) ??
  textOf(input["file_path"]) ??
  textOf(input["filePath"]) ??
  textOf(input["filepath"]) ??
  textOf(input["absolute_path"]) ??
  textOf(input["path"])

/** The texts in a call's content. */
const textsOf = (content: ToolCall["content"]): ReadonlyArray<string> => {
  const texts: Array<string> = []
  for (const block of content) {
    const text = textInBlock(block)
    if (text !== undefined) texts.push(text)
  }
  return texts
}

/** The texts that a call shows. */
export const contentTextsOf = ({ content }: ToolCall): ReadonlyArray<string> => textsOf(content)

/** Output without the fence around it, which some agents send for a display: of a command, or of a failure. */
const unfenced = (text: string, isFailed: boolean): string => {
  const fence = isFailed && text.startsWith("```\n") ? "```\n" : "```console\n"
  const isWhole = text.startsWith(fence) && text.endsWith("\n```") && text.length >= fence.length + 4
  return isWhole ? text.slice(fence.length, -4) : text
}

/** The text of a result: the tool's output, or the content that the call shows. */
export const readCallOutput = ({ content, input, output, printed, status }: ToolCall): string | undefined => {
  // Of a command in the background, an agent may send only a line as its output, and show the rest.
  const isShown = input["is_background"] === true && content.length > 0
  if (typeof output === "string" && output !== "" && !isShown) return output
  const fields: UnverifiedFields<RawOutput> = objectOf(output)
  const texts = textsOf(content)
  // For a stopped command, an agent may show a notice instead of the output.
  if (fields.outcome === "cancelled" && typeof fields.output === "string")
    return [fields.output, ...texts].join("\n")
  if (texts.length > 0) return texts.map((text) => unfenced(text, status === "failed")).join("\n")
  if (printed !== "") return printed
  return (
    textOf(fields.output) ??
    textOf(fields.content) ??
    textOf(fields.error) ??
    textOf(fields.message) ??
    textOf(output)
  )
}

const isCode = (code: unknown): code is number => typeof code === "number" && Number.isSafeInteger(code)

/** The exit code of a command, if the result has one. */
export const readExitCode = ({ meta, output }: ToolCall): number | undefined => {
  const fields: UnverifiedFields<RawOutput> = objectOf(output)
  const metadata: UnverifiedFields<RawOutput["metadata"]> = objectOf(fields.metadata)
  const shell = arrayOf(fields.contents)
    .map((part): UnverifiedFields<ShellExit> => objectOf(part))
    .find(({ type }) => type === "shell_exit")
  const { terminal_exit: exit }: UnverifiedFields<ToolCallMeta> = meta
  const terminal: UnverifiedFields<ToolCallMeta["terminal_exit"]> = objectOf(exit)
  return [metadata.exit, fields.exit_code, fields.exitCode, shell?.exitCode, terminal.exit_code].find(isCode)
}

/** Status of a failed call: a denied or cancelled call was not executed. */
export const readFailedStatus = ({ meta, output }: ToolCall): PayloadOf<"run.tool.result">["status"] => {
  const reasons = Object.values(meta).map((value) => {
    const { nonExecutionKind }: UnverifiedFields<AgentToolMeta> = objectOf(value)
    return nonExecutionKind
  })
  if (reasons.includes("user-rejected")) return "cancelled"
  if (reasons.includes("permission-rule")) return "denied"
  const { code, error, metadata }: UnverifiedFields<RawOutput> = objectOf(output)
  if (code === "denied" || code === "rejected") return "denied"
  const { interrupted }: UnverifiedFields<RawOutput["metadata"]> = objectOf(metadata)
  if (interrupted === true) return "cancelled"
  return /^The user (?:rejected permission|has specified a rule which prevents)/.test(textOf(error) ?? "")
    ? "denied"
    : "failed"
}

/** Why the agent wants a permission, for the person who decides. */
export const reasonOf = ({ content, input }: ToolCall): string | undefined => {
  const reason = textOf(input["description"]) ?? textsOf(content).join("\n")
  return reason === "" ? undefined : beginningOf(reason, 1_000)
}

/** The first text in a request's content. An agent that sends no input names the folder there. */
export const shownTextOf = ({ content }: ToolCall): string => textsOf(content)[0] ?? ""
