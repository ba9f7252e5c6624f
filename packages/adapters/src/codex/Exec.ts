/**
 * One run's conversation with `codex exec --json`, which prints the items of one turn and its outcome. Stdin has only the prompt.
 *
 * Does not: report what its sandbox refused, unknown tools, and commands that were still running.
 */
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { relativeTo } from "../files/RelativePath.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { parseFailure, codexFailureAtExit } from "./CodexFailure.ts"
import { Items } from "./Items.ts"
import { parseRetry } from "./Retries.ts"
import { readCodexSessionId } from "./Frames.ts"
import { usageOfTurn } from "./CodexUsage.ts"

const toCamelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Frequent types and statuses. */
const knownNames = new Map(
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
  ].map((name) => [name, toCamelCase(name)])
)

const toKnownName = (value: unknown): unknown =>
  typeof value === "string" ? (knownNames.get(value) ?? toCamelCase(value)) : value

/** An item with the app-server's names of its type, its status and the fields that `Items` reads. */
const itemOf = (reported: unknown): JsonObject => {
  const item = objectOf(reported)
  return {
    ...item,
    type: toKnownName(item["type"]),
    status: toKnownName(item["status"]),
    aggregatedOutput: item["aggregated_output"],
    commandActions: item["command_actions"],
    contentItems: item["content_items"],
    exitCode: item["exit_code"],
    receiverThreadIds: item["receiver_thread_ids"]
  }
}

export class ExecProtocol implements Protocol {
  readonly open: string
  readonly #isResumed: boolean
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #items: Items

  constructor(start: RunStart) {
    this.#isResumed = start.resumeSessionId !== undefined
    this.#items = new Items(this.#collector, relativeTo(start.workspacePath))
    this.open = start.prompt
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
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

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (line) => this.#readLine(line))
  }

  #readLine(line: JsonObject): void {
    const type = textOf(line["type"])
    switch (type) {
      case "thread.started":
        return this.#collector.start(defined({ runtimeSessionId: readCodexSessionId(line["thread_id"]) }))
      case "item.started":
      case "item.updated":
        return this.#readOpenItem(itemOf(line["item"]))
      case "item.completed":
        return this.#items.completed(itemOf(line["item"]))
      case "turn.started":
        return
      case "error": {
        // Retries. The turn reports the final failure.
        const retry = parseRetry(textOf(line["message"]) ?? "")
        return retry === undefined ? undefined : this.#collector.emitEvent(retry)
      }
      case "turn.completed":
        return this.#conclude(objectOf(line["usage"]))
      case "turn.failed": {
        const error = line["error"]
        return this.#collector.fail(
          parseFailure(textOf(isJsonObject(error) ? error["message"] : error) ?? "")
        )
      }
      default:
        return this.#collector.countUnknown(type ?? "untyped")
    }
  }

  /** A list of steps is whole at each report. Reports of progress of other items are repeated at their end. */
  #readOpenItem(item: JsonObject): void {
    if (item["type"] === "todoList") this.#items.completed(item)
    else this.#items.started(item)
  }

  #conclude(tokens: JsonObject): void {
    const { lastText: text } = this.#items
    // Tokens of a resumed conversation include earlier runs, and cannot be separated.
    const usage = this.#isResumed ? undefined : usageOfTurn(tokens)
    this.#collector.conclude({ _tag: "Completed", ...defined({ text, usage }) })
  }
}
