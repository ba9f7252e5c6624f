/**
 * What the lines of Gemini CLI mean (`--output-format stream-json`).
 *
 * It streams text and never says a message whole; it prints no thoughts. Its results of file tools carry no diff, and a command's exit code
 * is not in them. A refused request ends with an exit code that is the HTTP status modulo 256, so the words of the result are judged.
 */
import type { Usage } from "@corral/domain/run/Run"
import type { ProcessEnd, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { countOf, defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { Calls } from "./Calls.ts"
import { toProgramFailure, serviceFailure, type Reason, type ProgramInfo } from "./Failure.ts"
import { readSessionId, type Reader } from "./OneShot.ts"
import { StreamedText } from "./StreamedText.ts"

/** Its own exit codes, where it ends without a result. */
const byExitCode: ReadonlyMap<number, Reason> = new Map([
  [41, "not_signed_in"],
  [42, "bad_option"],
  [52, "bad_option"],
  [53, "turn_limit"],
  [55, "untrusted_folder"]
])

const usageOf = (stats: JsonObject): Usage =>
  defined({
    inputTokens: countOf(stats["input_tokens"]),
    outputTokens: countOf(stats["output_tokens"]),
    cachedInputTokens: countOf(stats["cached"])
  })

export class GeminiLines implements Reader {
  readonly #words: ProgramInfo
  readonly #collector: OutputCollector
  readonly #text: StreamedText
  readonly #calls: Calls
  /** The last error that a line told by itself. */
  #error = ""

  constructor(words: ProgramInfo, collector: OutputCollector, { workspacePath }: RunStart) {
    this.#words = words
    this.#collector = collector
    this.#text = new StreamedText(collector)
    this.#calls = new Calls(collector, workspacePath)
  }

  readonly onLine: Reader["onLine"] = (line) => {
    if (line["type"] === "message") return this.#message(line)
    switch (line["type"]) {
      case "init":
        return this.#collector.start(
          defined({ runtimeSessionId: readSessionId(line["session_id"]), model: textOf(line["model"]) })
        )
      case "tool_use":
        this.#text.close()
        return this.#calls.call(textOf(line["tool_id"]), textOf(line["tool_name"]), line["parameters"])
      case "tool_result":
        return this.#toolResult(line)
      case "error":
        if (line["severity"] === "error") this.#error = textOf(line["message"]) ?? ""
        return
      case "result":
        return this.#result(line)
      default:
        this.#collector.countUnknown(textOf(line["type"]) ?? "untyped")
    }
  }

  readonly onEnd: Reader["onEnd"] = ({ code, stderr }: ProcessEnd) => {
    this.#text.close()
    if (/Invalid session identifier|No previous sessions found/.test(stderr))
      return this.#collector.fail(toProgramFailure(this.#words, "unknown_session", stderr))
    const reason = code === null ? undefined : byExitCode.get(code)
    if (reason !== undefined) this.#collector.fail(toProgramFailure(this.#words, reason, stderr))
    else if (this.#error !== "") this.#collector.fail(serviceFailure(this.#words, this.#error))
  }

  #message(line: JsonObject): void {
    // What a person said is in the run already.
    if (line["role"] !== "assistant") return
    const content = textOf(line["content"]) ?? ""
    if (line["delta"] === true) this.#text.piece("text", content)
    else this.#text.whole("text", content)
  }

  #toolResult(line: JsonObject): void {
    const status = line["status"] === "success" ? "completed" : "failed"
    const output = textOf(line["output"]) ?? textOf(objectOf(line["error"])["message"])
    this.#calls.result(textOf(line["tool_id"]), { status, output })
  }

  #result(line: JsonObject): void {
    this.#text.close()
    const usage = usageOf(objectOf(line["stats"]))
    if (line["status"] === "success") {
      return this.#collector.conclude({ _tag: "Completed", usage, ...defined({ text: this.#text.last }) })
    }
    const said = textOf(objectOf(line["error"])["message"]) ?? this.#error
    this.#collector.fail(serviceFailure(this.#words, said), usage)
  }
}
