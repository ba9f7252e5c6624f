/**
 * Codex without its app-server: `codex exec --json`, one prompt per process, which prints the items of one turn and its outcome. For versions with
 * an incompatible app-server.
 *
 * It does not request permissions, so the Edge runs it in the modes that its sandbox or the Edge enforces, and in `full_access`. Stdin has only the
 * prompt.
 *
 * Does not: report what its sandbox refused, unknown tools, and commands that were still running.
 */
import { codexContinuation, codexProbe, trustFlags } from "./Codex.ts"
import { codexEnvironment, codexFailureAtExit, parseFailure, parseRetry } from "./codex/CodexFailure.ts"
import { usageOfTurn } from "./codex/CodexUsage.ts"
import { readCodexSessionId } from "./codex/Frames.ts"
import { Items } from "./codex/Items.ts"
import { sandboxOf } from "./codex/Modes.ts"
import { relativeTo } from "./files/RelativePath.ts"
import { codexNetwork } from "./ModelHosts.ts"
import { OutputCollector } from "./output/OutputCollector.ts"
import { codexProject } from "./ProjectFiles.ts"
import { codexFolders } from "./StateFolders.ts"
import { defined, isJsonObject, type JsonObject, objectOf, textOf } from "./text/Json.ts"
import { type JsonLine, JsonLines } from "./text/JsonLines.ts"
import type { AdapterOutput, Protocol, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"

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

/** One run's conversation with `codex exec --json`, which prints the items of one turn and its outcome. */
class ExecProtocol implements Protocol {
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

/** Sub-agents and goals end with the turn of this command, and nothing reports them: a run would complete without their work. */
const oneTurn = ["-c", "features.multi_agent=false", "-c", "features.goals=false"]

/** Codex, found as `codex` on PATH, one process per run. */
export const codexExec: RuntimeAdapter = {
  specificationVersion: 1,
  id: "codex-exec",
  label: "Codex (exec)",
  capabilities: {
    deltas: false,
    approvals: false,
    editInput: false,
    resume: true,
    readOnly: true,
    cancel: false,
    input: false
  },
  continuation: codexContinuation,
  images: "native",
  probe: codexProbe,
  passEnv: codexEnvironment,
  projectSettings: codexProject,
  folders: codexFolders,
  network: codexNetwork,
  command: (start) => ({
    file: "codex",
    args: [
      ...trustFlags(start),
      ...oneTurn,
      "exec",
      "--json",
      "--sandbox",
      sandboxOf(start.mode, start.isConfined),
      // A configured workspace is trusted.
      "--skip-git-repo-check",
      ...(start.model === undefined ? [] : ["--model", start.model]),
      ...(start.resumeSessionId === undefined ? [] : ["resume", start.resumeSessionId]),
      ...(start.images ?? []).flatMap(({ path }) => ["--image", path]),
      // The prompt comes on stdin: every user of the machine can read arguments.
      "-"
    ],
    stdin: "once"
  }),
  protocol: (start) => new ExecProtocol(start)
}
