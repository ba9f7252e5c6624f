/**
 * Any program that prints JSON lines, described by data: which field of a line is its type, which types mean what, and where text, ids and
 * paths stand. A line may mean more than one thing. Lines of a type that is not named are counted and mean nothing.
 *
 * As with text, the program asks nobody, so the Edge lets it run in `full_access` alone.
 */
import type { Usage } from "@corral/domain/Run"
import { draft } from "@corral/domain/RunEvent"
import type { ProcessEnd, RunStart, RuntimeAdapter } from "@corral/domain/RuntimeAdapter"
import { commandLineAdapter, exitFailure, type CommandLine } from "./CommandLine.ts"
import { countOf, defined, textOf, type JsonObject } from "./Json.ts"
import { Calls } from "./one-shot/Calls.ts"
import { OneShotProtocol, type Reader } from "./one-shot/OneShot.ts"
import { StreamedText } from "./one-shot/StreamedText.ts"
import { unavailable, type Turn } from "./Turn.ts"

/** Names of fields with dots between them, from the line inwards: `data.item.text`. A number is a place in a list. */
export type FieldPath = string

/** The types of lines that mean it. */
interface When {
  readonly when: ReadonlyArray<string>
}

/** What the lines of a program mean. What it never says is left out. */
export interface JsonMap {
  readonly type: FieldPath
  /** A piece of a message; the message ends with the next line that means something else. */
  readonly delta?: (When & { readonly text: FieldPath }) | undefined
  /** A piece of what the model thinks. */
  readonly reasoning?: (When & { readonly text: FieldPath }) | undefined
  /** A whole message. After pieces that say the same it is their end. */
  readonly message?: (When & { readonly text: FieldPath }) | undefined
  readonly toolCall?:
    | (When & { readonly id: FieldPath; readonly name: FieldPath; readonly input?: FieldPath | undefined })
    | undefined
  readonly toolResult?:
    | (When & {
        readonly id: FieldPath
        readonly output?: FieldPath | undefined
        readonly exitCode?: FieldPath | undefined
        /** The call failed where this holds something that is neither false nor empty. */
        readonly failed?: FieldPath | undefined
      })
    | undefined
  readonly fileChange?:
    | (When & {
        readonly path: FieldPath
        /** `created`, `modified` or `deleted`; anything else counts as modified. */
        readonly change?: FieldPath | undefined
      })
    | undefined
  /** What the run has used so far. */
  readonly usage?:
    | (When & {
        readonly inputTokens?: FieldPath | undefined
        readonly outputTokens?: FieldPath | undefined
        readonly costUsd?: FieldPath | undefined
      })
    | undefined
  /** The run has succeeded. Where no type is named, exit code 0 says so. */
  readonly completed?: (When & { readonly text?: FieldPath | undefined }) | undefined
  readonly failed?: (When & { readonly message?: FieldPath | undefined }) | undefined
  /** Types that mean nothing, and are not counted as unknown. */
  readonly ignore?: ReadonlyArray<string> | undefined
}

export interface JsonLinesOptions extends CommandLine {
  readonly map: JsonMap
}

/** What stands there; only what was printed is found. */
const at = (line: JsonObject, path: FieldPath | undefined): unknown => {
  if (path === undefined) return undefined
  let value: unknown = line
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as JsonObject)[name] // an object or a list that has it
  }
  return value
}

const isTrue = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== 0 && value !== ""

/** As it is, or as JSON. */
const said = (value: unknown): string | undefined =>
  value === undefined || value === null || typeof value === "string"
    ? (value ?? undefined)
    : JSON.stringify(value)

const changeOf = (value: unknown) => (value === "created" || value === "deleted" ? value : "modified")

class MappedLines implements Reader {
  readonly #label: string
  readonly #map: JsonMap
  readonly #turn: Turn
  readonly #text: StreamedText
  readonly #calls: Calls
  readonly #known: ReadonlySet<string>
  #usage: Usage | undefined

  constructor(label: string, map: JsonMap, turn: Turn, { workspacePath }: RunStart) {
    this.#label = label
    this.#map = map
    this.#turn = turn
    this.#text = new StreamedText(turn)
    this.#calls = new Calls(turn, workspacePath)
    const { type: _, ignore = [], ...meanings } = map
    this.#known = new Set([...ignore, ...Object.values(meanings).flatMap((meaning) => meaning?.when ?? [])])
  }

  readonly said: Reader["said"] = (line) => {
    const told = at(line, this.#map.type)
    const type = typeof told === "string" || typeof told === "number" ? String(told) : "untyped"
    if (!this.#known.has(type)) return this.#turn.unknown(type)
    this.#turn.start({})
    const means = (meaning: When | undefined): boolean => meaning?.when.includes(type) === true
    const { delta, reasoning, message, toolCall, toolResult, fileChange, usage, completed, failed } =
      this.#map
    if (means(delta)) this.#text.piece("text", textOf(at(line, delta?.text)) ?? "")
    if (means(reasoning)) this.#text.piece("reasoning", textOf(at(line, reasoning?.text)) ?? "")
    if (means(message)) {
      const text = textOf(at(line, message?.text))
      if (text !== undefined) this.#text.whole("text", text)
    }
    if (means(toolCall)) {
      this.#text.close()
      const [id, name] = [said(at(line, toolCall?.id)), textOf(at(line, toolCall?.name))]
      this.#calls.call(id, name, at(line, toolCall?.input))
    }
    if (means(fileChange)) this.#changed(line)
    if (means(toolResult)) this.#toolResult(line)
    if (means(usage)) this.#spend(line)
    if (means(failed)) this.#failed(line)
    if (means(completed)) this.#completed(textOf(at(line, completed?.text)))
  }

  readonly ended: Reader["ended"] = (end: ProcessEnd) => {
    this.#text.close()
    if (end.code !== 0) this.#turn.fail(exitFailure(this.#label, end), this.#usage)
    else if (this.#map.completed === undefined) this.#completed(undefined)
  }

  #changed(line: JsonObject): void {
    const { path, change } = this.#map.fileChange ?? { path: "" }
    const file = textOf(at(line, path))
    if (file === undefined) return
    this.#text.close()
    this.#turn.say(
      draft("run.file.changed", { path: this.#calls.relative(file), change: changeOf(at(line, change)) })
    )
  }

  #toolResult(line: JsonObject): void {
    const { id, output, exitCode, failed } = this.#map.toolResult ?? { id: "" }
    this.#text.close()
    this.#calls.result(
      said(at(line, id)),
      {
        status: isTrue(at(line, failed)) ? "failed" : "completed",
        output: said(at(line, output)),
        exitCode: countOf(at(line, exitCode))
      },
      // Files are what the map says they are, whatever the tools are called.
      []
    )
  }

  #spend(line: JsonObject): void {
    const { inputTokens, outputTokens, costUsd } = this.#map.usage ?? {}
    const cost = at(line, costUsd)
    this.#usage = {
      ...this.#usage,
      ...defined({
        inputTokens: countOf(at(line, inputTokens)),
        outputTokens: countOf(at(line, outputTokens)),
        costUsd: typeof cost === "number" && Number.isFinite(cost) ? cost : undefined
      })
    }
    this.#turn.emit({ _tag: "Usage", usage: this.#usage })
  }

  #completed(told: string | undefined): void {
    this.#text.close()
    const text = told ?? this.#text.last
    this.#turn.conclude({ _tag: "Completed", ...defined({ text, usage: this.#usage }) })
  }

  #failed(line: JsonObject): void {
    this.#text.close()
    const message = textOf(at(line, this.#map.failed?.message)) ?? `${this.#label} failed.`
    this.#turn.fail(unavailable("runtime_error", message), this.#usage)
  }
}

/** The generic adapter over one command line whose output is read by a map. */
export const makeJsonLines = ({ map, ...options }: JsonLinesOptions): RuntimeAdapter => {
  const words = { label: options.label, signIn: "" }
  return {
    ...commandLineAdapter("json-lines", options),
    protocol: (start) =>
      new OneShotProtocol(
        words,
        (turn) => new MappedLines(options.label, map, turn, start),
        options.stdin === "prompt" ? start.prompt : ""
      )
  }
}
