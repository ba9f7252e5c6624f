/**
 * What `codex exec --json` prints: the items of one turn, and how it ended. It takes nothing on stdin but the prompt.
 *
 * It says less than happened: what its sandbox refused, an unknown tool and a command that was still running are not in it.
 */
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { relativeTo } from "../files/RelativePath.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { parseFailure, codexFailureAtExit } from "./CodexFailure.ts"
import { Items } from "./Items.ts"
import { parseRetry } from "./Retries.ts"
import { readCodexSessionId } from "./SessionId.ts"
import { usageOfTurn } from "./CodexUsage.ts"

const camel = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Types and statuses that repeat. */
const known = new Map(
  [
    "agent_message",
    "reasoning",
    "error",
    "command_execution",
    "file_change",
    "mcp_tool_call",
    "web_search",
    "todo_list",
    "in_progress",
    "completed",
    "failed",
    "declined"
  ].map((name) => [name, camel(name)])
)

const camelOf = (value: unknown): unknown =>
  typeof value === "string" ? (known.get(value) ?? camel(value)) : value

/** An item under the names of the app-server: its type, its status, and those of its fields that mean something. */
const itemOf = (told: unknown): JsonObject => {
  const item = objectOf(told)
  return {
    ...item,
    type: camelOf(item["type"]),
    status: camelOf(item["status"]),
    aggregatedOutput: item["aggregated_output"],
    commandActions: item["command_actions"],
    contentItems: item["content_items"],
    exitCode: item["exit_code"],
    receiverThreadIds: item["receiver_thread_ids"]
  }
}

export class ExecProtocol implements Protocol {
  readonly open: string
  readonly #resumed: boolean
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #items: Items

  constructor(start: RunStart) {
    this.#resumed = start.resumeSessionId !== undefined
    this.#items = new Items(this.#collector, relativeTo(start.workspacePath))
    this.open = start.prompt
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#read(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#read(this.#lines.end())
    const failure = codexFailureAtExit(end)
    if (failure === undefined) this.#collector.concludeAtExit("Codex", end)
    else this.#collector.fail(failure)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = () => undefined
  readonly input: Protocol["input"] = () => undefined
  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return undefined
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (said) => this.#said(said))
  }

  #said(said: JsonObject): void {
    const type = textOf(said["type"])
    switch (type) {
      case "thread.started":
        return this.#collector.start(defined({ runtimeSessionId: readCodexSessionId(said["thread_id"]) }))
      case "item.started":
        return this.#items.started(itemOf(said["item"]), undefined)
      case "item.completed":
        return this.#items.completed(itemOf(said["item"]), undefined)
      case "turn.started":
      case "item.updated":
        return
      case "error": {
        // Attempts to come through; the last word on it is the turn's.
        const retry = parseRetry(textOf(said["message"]) ?? "")
        return retry === undefined ? undefined : this.#collector.emitEvent(retry)
      }
      case "turn.completed":
        return this.#completed(objectOf(said["usage"]))
      case "turn.failed": {
        const error = said["error"]
        return this.#collector.fail(
          parseFailure(textOf(isJsonObject(error) ? error["message"] : error) ?? "")
        )
      }
      default:
        return this.#collector.countUnknown(type ?? "untyped")
    }
  }

  #completed(told: JsonObject): void {
    const { lastText: text } = this.#items
    // A resumed conversation's counts include the runs before this one, and nothing tells them apart.
    const usage = this.#resumed ? undefined : usageOfTurn(told)
    this.#collector.conclude({ _tag: "Completed", ...defined({ text, usage }) })
  }
}
