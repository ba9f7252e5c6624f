/**
 * Notices of Claude Code for people: compactions, other models, rate limits, refusals, warnings, and what a slash command printed.
 */
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { countOf, defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"

export type Notice = Pick<PayloadOf<"run.notice">, "kind" | "text" | "data">

const compacted = (line: JsonObject): Notice => {
  const metadata = objectOf(line["compact_metadata"])
  const [before, after] = [countOf(metadata["pre_tokens"]), countOf(metadata["post_tokens"])]
  const text = "The conversation was compacted: earlier messages are now a summary."
  return {
    kind: "compacted",
    text,
    data: defined({ trigger: textOf(metadata["trigger"]), tokensBefore: before, tokensAfter: after })
  }
}

const otherModel = (line: JsonObject): Notice => {
  const [from, to] = [textOf(line["original_model"]), textOf(line["fallback_model"])]
  const content = textOf(line["content"]) ?? ""
  return {
    kind: "model_changed",
    text: content === "" ? `The model ${from ?? ""} refused. ${to ?? "Another model"} continues.` : content,
    data: defined({ from, to })
  }
}

const refused = (line: JsonObject): Notice => {
  const texts = [textOf(line["api_refusal_explanation"]), textOf(line["content"])]
  const text = texts.find((each) => each !== undefined && each !== "") ?? "The model refused the request."
  return { kind: "refused", text, data: defined({ model: textOf(line["original_model"]) }) }
}

const informational = (line: JsonObject): Notice | undefined => {
  const text = textOf(line["content"]) ?? ""
  if (text === "") return undefined
  return { kind: line["level"] === "warning" ? "warning" : "other", text }
}

/** A notice of a `system` line; `undefined` if people need none; `"unknown"` for an unknown line. */
export const noticeOfSystem = (line: JsonObject): Notice | "unknown" | undefined => {
  switch (line["subtype"]) {
    case "compact_boundary":
      return compacted(line)
    case "model_refusal_fallback":
      return otherModel(line)
    case "model_refusal_no_fallback":
      return refused(line)
    case "informational":
      return informational(line)
    case "notification":
    case "local_command_output":
      return informational({ content: line["text"] ?? line["content"] })
    case "mirror_error":
      return { kind: "warning", text: "A part of the conversation could not be stored." }
    case "session_writes_lost":
      return { kind: "warning", text: "The disk is full: a part of the conversation was not stored." }
    case "status": {
      const error = textOf(line["compact_error"])
      return line["compact_result"] === "failed"
        ? {
            kind: "warning",
            text: `The conversation could not be compacted${error === undefined ? "." : `: ${error}`}`
          }
        : undefined
    }
    // Progress, and what other lines repeat.
    case "thinking_tokens":
    case "permission_denied":
    case "hook_started":
    case "hook_progress":
    case "hook_response":
    case "control_request_progress":
    case "commands_changed":
    case "files_persisted":
    case "memory_recall":
    case "plugin_install":
    case "elicitation_complete":
    case "session_title_changed":
    case "worker_shutting_down":
      return undefined
    default:
      return "unknown"
  }
}

/** Types of lines that have no meaning for a run. */
export const silentTypes: ReadonlySet<unknown> = new Set([
  "auth_status",
  "control_response",
  "keep_alive",
  "prompt_suggestion",
  "tool_progress",
  "tool_use_summary"
])

/** A notice of a `rate_limit_event`; `undefined` if the limit is far. */
export const noticeOfRateLimit = (line: JsonObject): Notice | undefined => {
  const info = objectOf(line["rate_limit_info"])
  const status = textOf(info["status"])
  if (status === undefined || status === "allowed") return undefined
  const resetsAt = countOf(info["resetsAt"])
  const time = resetsAt === undefined ? "" : ` It resets at ${isoTime(resetsAt)}.`
  const text = status === "rejected" ? "The rate limit is reached." : "The rate limit is close."
  const utilization = typeof info["utilization"] === "number" ? info["utilization"] : undefined
  return {
    kind: "rate_limited",
    text: `${text}${time}`,
    data: defined({ status, limit: textOf(info["rateLimitType"]), resetsAt, utilization })
  }
}

/** Largest number of seconds that a date holds. */
const MAX_SECONDS = 8_640_000_000_000

const isoTime = (seconds: number): string =>
  new Date(Math.min(seconds, MAX_SECONDS) * 1_000).toISOString().replace(".000Z", "Z")

/** What a slash command printed, without the marks of its beginning and end; `undefined` for any other text. */
export const commandOutput = (text: string): string | undefined => {
  for (const mark of ["local-command-stdout", "local-command-stderr"]) {
    const [open, close] = [`<${mark}>`, `</${mark}>`]
    const body = text.trim()
    if (body.startsWith(open) && body.endsWith(close)) return body.slice(open.length, -close.length).trim()
  }
  return undefined
}
