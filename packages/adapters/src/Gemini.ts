/**
 * Gemini CLI, one prompt per process, with the reader of its lines (`--output-format stream-json`). It cannot request permissions, so it runs in
 * `full_access`, or where the Edge confines it. Its own plan mode is no limit: with one prompt it approves its plan by itself, and then allows
 * itself everything.
 *
 * Project settings: Gemini refuses an untrusted folder, and reads all settings of a trusted one. So the Edge does not start it if such files exist
 * without a grant. Only `full_access` and the grant make Gemini trust the folder. For other runs, trust the folder in Gemini itself, or set
 * `GEMINI_CLI_TRUST_WORKSPACE` for the Edge.
 *
 * Gemini streams text without completed messages, and prints no thoughts. Tool results have no diff and no exit code. After a refused request the
 * exit code is the HTTP status modulo 256, so the text of the result decides. A command that it moves to the background ends with the program,
 * which does not wait for it: it is work that is not done.
 */
import { geminiNetwork, proxies } from "./ModelHosts.ts"
import { Calls } from "./one-shot/Tools.ts"
import {
  OneShotProtocol,
  type ProgramInfo,
  type Reader,
  type Reason,
  StreamedText,
  mayChange,
  oneShotCapabilities,
  readSessionId,
  serviceFailure,
  toArgument,
  toProgramFailure
} from "./one-shot/OneShot.ts"
import type { OutputCollector } from "./output/OutputCollector.ts"
import { stepsOfList } from "./output/StepLists.ts"
import { geminiProject } from "./ProjectFiles.ts"
import { geminiFolders } from "./StateFolders.ts"
import { countOf, defined, type JsonObject, objectOf, textOf } from "./text/Json.ts"
import type { Usage } from "@corral/domain/run/Run"
import type {
  ModelCall,
  ProcessEnd,
  RunImage,
  RunStart,
  RuntimeAdapter
} from "@corral/domain/run/RuntimeAdapter"
import { dirname } from "node:path"

/**
 * A command continues after its call, with the number of its process.
 *
 * @internal
 */
export const movedToBackground = /^Command moved to background \(PID: (\d{1,12})\)/

/** Gemini's exit codes without a result. */
const reasonByExitCode: ReadonlyMap<number, Reason> = new Map([
  [41, "not_signed_in"],
  [42, "bad_option"],
  [52, "bad_option"],
  [53, "turn_limit"],
  [55, "untrusted_folder"]
])

/** The rest of the total is the reasoning, which is paid like output. */
const outputOf = (
  stats: JsonObject
): { readonly output: number | undefined; readonly reasoning: number | undefined } => {
  const [input, output, total] = [stats["input_tokens"], stats["output_tokens"], stats["total_tokens"]].map(
    countOf
  )
  if (output === undefined) return { output, reasoning: undefined }
  const reasoning = total === undefined || input === undefined ? 0 : Math.max(0, total - input - output)
  return { output: output + reasoning, reasoning: reasoning === 0 ? undefined : reasoning }
}

const usageOf = (stats: JsonObject): Usage => {
  const { output, reasoning } = outputOf(stats)
  return defined({
    inputTokens: countOf(stats["input_tokens"]),
    outputTokens: output,
    cachedInputTokens: countOf(stats["cached"]),
    reasoningTokens: reasoning
  })
}

/** Calls of each model, of which only the sums are reported. `replies`: how many calls there were. */
const callsOf = (stats: JsonObject, replies: number): ReadonlyArray<ModelCall> =>
  Object.entries(objectOf(stats["models"])).map(([model, reported]) => {
    const { cachedInputTokens, inputTokens = 0, outputTokens = 0 } = usageOf(objectOf(reported))
    return { model, inputTokens, outputTokens, count: replies, ...defined({ cachedInputTokens }) }
  })

/** Reader of Gemini CLI's lines (`--output-format stream-json`). */
class GeminiLines implements Reader {
  readonly #program: ProgramInfo
  readonly #collector: OutputCollector
  readonly #text: StreamedText
  readonly #calls: Calls
  /** The last error line. */
  #error = ""
  /** Replies of the model so far: each follows the prompt or results of tools. */
  #replies = 0
  #isReplying = false

  constructor(program: ProgramInfo, collector: OutputCollector, { workspacePath }: RunStart) {
    this.#program = program
    this.#collector = collector
    this.#text = new StreamedText(collector)
    this.#calls = new Calls(collector, workspacePath)
  }

  readonly onLine: Reader["onLine"] = (line) => {
    if (line["type"] === "message") return this.#readMessage(line)
    switch (line["type"]) {
      case "init":
        return this.#collector.start(
          defined({ runtimeSessionId: readSessionId(line["session_id"]), model: textOf(line["model"]) })
        )
      case "tool_use":
        this.#reply()
        this.#text.close()
        return this.#calls.call(textOf(line["tool_id"]), textOf(line["tool_name"]), line["parameters"])
      case "tool_result":
        return this.#readToolResult(line)
      case "error":
        if (line["severity"] === "error") this.#error = textOf(line["message"]) ?? ""
        return
      case "result":
        return this.#readResult(line)
      default:
        this.#collector.countUnknown(textOf(line["type"]) ?? "untyped")
    }
  }

  readonly onEnd: Reader["onEnd"] = ({ code, stderr }: ProcessEnd) => {
    this.#text.close()
    if (/Invalid session identifier|No previous sessions found/.test(stderr))
      return this.#collector.fail(toProgramFailure(this.#program, "unknown_session", stderr))
    const reason = code === null ? undefined : reasonByExitCode.get(code)
    if (reason !== undefined) this.#collector.fail(toProgramFailure(this.#program, reason, stderr))
    else if (this.#error !== "") this.#collector.fail(serviceFailure(this.#program, this.#error))
  }

  #readMessage(line: JsonObject): void {
    // The run already has the user's message.
    if (line["role"] !== "assistant") return
    this.#reply()
    const content = textOf(line["content"]) ?? ""
    if (line["delta"] === true) this.#text.piece("text", content)
    else this.#text.whole("text", content)
  }

  #reply(): void {
    if (!this.#isReplying) this.#replies++
    this.#isReplying = true
  }

  #readToolResult(line: JsonObject): void {
    this.#isReplying = false
    const status = line["status"] === "success" ? "completed" : "failed"
    const output = textOf(line["output"]) ?? textOf(objectOf(line["error"])["message"])
    const callId = textOf(line["tool_id"])
    if (callId !== undefined && status === "completed") this.#followResult(callId, output ?? "")
    this.#calls.result(callId, { status, output })
  }

  /** Follows what a successful call has started or changed. */
  #followResult(callId: string, output: string): void {
    const { input = {}, tool } = this.#calls.get(callId) ?? {}
    const work = movedToBackground.exec(output)?.[1]
    if (work !== undefined) {
      const title = textOf(input["command"]) ?? "A command"
      this.#collector.startWork({ id: work, kind: "command", title, parentCallId: callId })
    }
    if (tool === "write_todos") this.#collector.steps(stepsOfList(input["todos"], "description"))
    if (tool === "exit_plan_mode" && output.startsWith("Plan approved"))
      this.#collector.notice("warning", "Gemini CLI approved its plan by itself.")
  }

  #readResult(line: JsonObject): void {
    this.#text.close()
    const stats = objectOf(line["stats"])
    const usage = usageOf(stats)
    if (Object.keys(usage).length > 0)
      this.#collector.emit({ _tag: "Usage", usage, calls: callsOf(stats, Math.max(1, this.#replies)) })
    if (line["status"] === "success") {
      return this.#collector.conclude({ _tag: "Completed", usage, ...defined({ text: this.#text.last }) })
    }
    const message = textOf(objectOf(line["error"])["message"]) ?? this.#error
    this.#collector.fail(serviceFailure(this.#program, message), usage)
  }
}

const signIn = "Run `gemini` on this machine and sign in, or set GEMINI_API_KEY for the Edge."
const program: ProgramInfo = { label: "Gemini CLI", signIn }

const readableFolders = (
  attachmentFolder: string | undefined,
  images: ReadonlyArray<RunImage>
): ReadonlyArray<string> => [
  ...new Set([
    ...(attachmentFolder === undefined ? [] : [attachmentFolder]),
    ...images.map(({ path }) => dirname(path))
  ])
]

/** Gemini CLI, found as `gemini` on PATH. */
export const gemini: RuntimeAdapter = {
  specificationVersion: 2,
  id: "gemini",
  label: program.label,
  capabilities: oneShotCapabilities({ resume: true }),
  continuation: { store: "~/.gemini/tmp", model: "any", mode: "any", folder: "same" },
  images: "native",
  probe: {
    command: "gemini",
    versionArgs: ["--version"],
    install: "Install Gemini CLI: npm install -g @google/gemini-cli",
    signIn
  },
  passEnv: ["GEMINI_*", "GOOGLE_*", ...proxies],
  projectSettings: geminiProject,
  folders: geminiFolders,
  network: geminiNetwork,
  command: ({
    attachmentFolder,
    images = [],
    isConfined,
    prompt,
    mode,
    model,
    projectSettings,
    resumeSessionId
  }) => ({
    file: "gemini",
    args: [
      "-p",
      toArgument([prompt, ...images.map(({ path }) => `@${path.replaceAll(/[\\\s]/g, "\\$&")}`)].join(" ")),
      "--output-format",
      "stream-json",
      ...(mode === "full_access" || projectSettings === "enabled" ? ["--skip-trust"] : []),
      "--approval-mode",
      mayChange({ isConfined, mode }) ? "yolo" : "plan",
      ...(model === undefined ? [] : ["-m", model]),
      ...(resumeSessionId === undefined ? [] : ["--resume", resumeSessionId]),
      // Gemini reads no other files.
      ...readableFolders(attachmentFolder, images).flatMap((folder) => ["--include-directories", folder])
    ],
    stdin: "ignore"
  }),
  protocol: (start) => new OneShotProtocol(program, (collector) => new GeminiLines(program, collector, start))
}
