/**
 * Lines of any program, read as a `JsonMap` describes them: the field with the type of a line, the meaning of each type, and the fields with text,
 * ids and paths. The meanings are compiled to actions on a run, once for all runs.
 *
 * A line may have more than one meaning. Lines of other types are counted as unknown and have none.
 */
import { exitFailure } from "../CommandLine.ts"
import { type OutputCollector, runtimeFailure } from "../output/OutputCollector.ts"
import { countOf, defined, type JsonObject, textOf } from "../text/Json.ts"
import { Calls } from "./Tools.ts"
import { type Reader, StreamedText } from "./OneShot.ts"
import type { Usage } from "@corral/domain/run/Run"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { ProcessEnd, RunStart } from "@corral/domain/run/RuntimeAdapter"

/** Names of fields with dots between them, from the outermost: `data.item.text`. A number is an index of a list. */
type FieldPath = string

/** Types of lines with this meaning. */
interface When {
  readonly when: ReadonlyArray<string>
}

/** Meanings of a program's lines. Meanings that it never prints are left out. */
export interface JsonMap {
  /** Field with the type of a line. For several fields, the type is their values with `/` between them, without missing ones. */
  readonly type: FieldPath | ReadonlyArray<FieldPath>
  /** Piece of a message. The message ends at the next line with another meaning. */
  readonly delta?: (When & { readonly text: FieldPath }) | undefined
  /** Piece of the model's reasoning. */
  readonly reasoning?: (When & { readonly text: FieldPath }) | undefined
  /** Whole message. After pieces with the same text it completes them. */
  readonly message?: (When & { readonly text: FieldPath }) | undefined
  readonly toolCall?:
    | (When & { readonly id: FieldPath; readonly name: FieldPath; readonly input?: FieldPath | undefined })
    | undefined
  readonly toolResult?:
    | (When & {
        readonly id: FieldPath
        readonly output?: FieldPath | undefined
        readonly exitCode?: FieldPath | undefined
        /** The call failed if this field is neither false nor empty; with `failedWhen`, if it has one of these values. */
        readonly failed?: FieldPath | undefined
        /** Values of `failed` that mean a failure, as text: `error`, `1`. */
        readonly failedWhen?: ReadonlyArray<string> | undefined
      })
    | undefined
  readonly fileChange?:
    | (When & {
        readonly path: FieldPath
        /** `created`, `modified` or `deleted`; anything else counts as modified. */
        readonly change?: FieldPath | undefined
        /** Unified diff of the file. */
        readonly patch?: FieldPath | undefined
      })
    | undefined
  /** Usage so far. */
  readonly usage?:
    | (When & {
        readonly inputTokens?: FieldPath | undefined
        readonly outputTokens?: FieldPath | undefined
        readonly costUsd?: FieldPath | undefined
      })
    | undefined
  /** Success of the run. Without this entry, exit code 0 is a success. */
  readonly completed?: (When & { readonly text?: FieldPath | undefined }) | undefined
  readonly failed?: (When & { readonly message?: FieldPath | undefined }) | undefined
  /** Types without a meaning that are not counted as unknown. */
  readonly ignore?: ReadonlyArray<string> | undefined
}

/** The run that a line acts on. */
interface MappedRun {
  readonly text: StreamedText
  readonly calls: Calls
  readonly changeFile: (file: string, change: PayloadOf<"run.file.changed">["change"], patch?: string) => void
  readonly addUsage: (usage: Usage) => void
  readonly complete: (text: string | undefined) => void
  readonly fail: (message: string) => void
}

/** One effect of a line on a run. `shared`: lines of this type have other meanings too, so this one may not apply. */
type Meaning = (run: MappedRun, line: JsonObject, shared: boolean) => void

interface Meanings {
  readonly typeOf: ReadField
  /** The meanings of each type, in the order in which they apply. */
  readonly byType: ReadonlyMap<string, ReadonlyArray<Meaning>>
  /** Exit code 0 completes the run. */
  readonly endsByExit: boolean
}

type Entry<K extends keyof JsonMap> = NonNullable<JsonMap[K]>

const compilePiece =
  (channel: "text" | "reasoning") =>
  (entry: { readonly text: FieldPath }): Meaning => {
    const text = compileField(entry.text)
    return (run, line) => run.text.piece(channel, textOf(text(line)) ?? "")
  }

const compileMessage = (entry: Entry<"message">): Meaning => {
  const text = compileField(entry.text)
  return (run, line) => {
    const whole = textOf(text(line))
    // A model that only calls a tool sends an empty message.
    if (whole !== undefined && whole !== "") run.text.whole("text", whole)
  }
}

const compileToolCall = (entry: Entry<"toolCall">): Meaning => {
  const [id, name, input] = [compileField(entry.id), compileField(entry.name), compileField(entry.input)]
  return (run, line, shared) => {
    const [callId, tool] = [toText(id(line)), textOf(name(line))]
    // Lines of one type may be pieces of text or calls. A line without the name of a call is not a call.
    if (shared && (callId === undefined || tool === undefined)) return
    run.text.close()
    run.calls.call(callId, tool, input(line))
  }
}

const compileFileChange = (entry: Entry<"fileChange">): Meaning => {
  const [path, change] = [compileField(entry.path), compileField(entry.change)]
  const patch = compileField(entry.patch)
  return (run, line) => {
    const file = textOf(path(line))
    if (file === undefined) return
    const value = change(line)
    const diff = textOf(patch(line))
    run.changeFile(
      file,
      value === "created" || value === "deleted" ? value : "modified",
      diff === "" ? undefined : diff
    )
  }
}

const compileToolResult = (entry: Entry<"toolResult">): Meaning => {
  const [id, output] = [compileField(entry.id), compileField(entry.output)]
  const [exitCode, failed] = [compileField(entry.exitCode), compileField(entry.failed)]
  const failures = entry.failedWhen === undefined ? undefined : new Set(entry.failedWhen)
  const isFailure = (value: unknown): boolean =>
    failures === undefined ? isTruthy(value) : failures.has(toText(value) ?? "")
  return (run, line, shared) => {
    const callId = toText(id(line))
    if (shared && callId === undefined) return
    run.text.close()
    const status = isFailure(failed(line)) ? "failed" : "completed"
    const result = { status, output: toText(output(line)), exitCode: countOf(exitCode(line)) } as const
    // Files come from the map only, regardless of the tools' names.
    run.calls.result(callId, result, [])
  }
}

const compileUsage = (entry: Entry<"usage">): Meaning => {
  const [input, output] = [compileField(entry.inputTokens), compileField(entry.outputTokens)]
  const costUsd = compileField(entry.costUsd)
  return (run, line) => {
    const cost = costUsd(line)
    run.addUsage(
      defined({
        inputTokens: countOf(input(line)),
        outputTokens: countOf(output(line)),
        costUsd: typeof cost === "number" && Number.isFinite(cost) ? cost : undefined
      })
    )
  }
}

const compileFailed =
  (label: string, needsReason: boolean) =>
  (entry: Entry<"failed">): Meaning => {
    const message = compileField(entry.message)
    return (run, line) => {
      const reason = message(line)
      if (!needsReason || isTruthy(reason)) run.fail(textOf(reason) ?? `${label} failed.`)
    }
  }

const compileCompleted = (entry: Entry<"completed">): Meaning => {
  const text = compileField(entry.text)
  return (run, line) => run.complete(textOf(text(line)))
}

/** Meanings of lines, compiled from a `JsonMap` once for all runs. */
export const compileMeanings = (map: JsonMap, label: string): Meanings => {
  const byType = new Map<string, Array<Meaning>>(map.ignore?.map((type) => [type, []]))
  const add = <M extends When>(entry: M | undefined, compile: (entry: M) => Meaning): void => {
    if (entry === undefined) return
    const meaning = compile(entry)
    for (const type of new Set(entry.when)) byType.set(type, [...(byType.get(type) ?? []), meaning])
  }
  // If one type ends a run either way, a line without a reason is a success.
  const endsBothWays = (type: string) =>
    map.failed?.message !== undefined && map.completed?.when.includes(type) === true
  const failedWhere = (isWanted: (type: string) => boolean) =>
    map.failed && { ...map.failed, when: map.failed.when.filter(isWanted) }

  add(map.delta, compilePiece("text"))
  add(map.reasoning, compilePiece("reasoning"))
  add(map.message, compileMessage)
  add(map.toolCall, compileToolCall)
  add(map.fileChange, compileFileChange)
  add(map.toolResult, compileToolResult)
  add(map.usage, compileUsage)
  add(failedWhere(endsBothWays), compileFailed(label, true))
  add(
    failedWhere((type) => !endsBothWays(type)),
    compileFailed(label, false)
  )
  add(map.completed, compileCompleted)
  return { typeOf: compileTypeField(map.type), byType, endsByExit: map.completed === undefined }
}

// Access to the fields that a `JsonMap` names. Only printed fields are found, never inherited ones.

/** Reads one field of a line. */
type ReadField = (line: JsonObject) => unknown

/** JSON has no functions, so a function is an inherited property. `hasOwn` costs more than all other steps together. */
const readOwn = (value: unknown, name: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined
  const found = (value as JsonObject)[name] // an object or a list
  return typeof found === "function" || name === "__proto__" ? undefined : found
}

const compileField = (path: FieldPath | undefined): ReadField => {
  if (path === undefined) return () => undefined
  const [first = "", second, ...deeper] = path.split(".")
  if (second === undefined) return (line) => readOwn(line, first)
  if (deeper.length === 0) return (line) => readOwn(readOwn(line, first), second)
  return (line) => deeper.reduce<unknown>(readOwn, readOwn(readOwn(line, first), second))
}

/** The name of a type; `undefined` unless the value is a string or a number. */
const typeName = (value: unknown): string | undefined =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined

/** The type of a line, from one field or from several: `item.completed/agent_message`. */
const compileTypeField = (paths: JsonMap["type"]): ReadField => {
  if (typeof paths === "string") return compileField(paths)
  const fields = paths.map(compileField)
  return (line) => {
    const parts = fields.flatMap((field) => typeName(field(line)) ?? [])
    return parts.length === 0 ? undefined : parts.join("/")
  }
}

const isTruthy = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== 0 && value !== ""

/** A string unchanged; any other value as JSON. */
const toText = (value: unknown): string | undefined =>
  value === undefined || value === null || typeof value === "string"
    ? (value ?? undefined)
    : JSON.stringify(value)

export class MappedLines implements Reader, MappedRun {
  readonly text: StreamedText
  readonly calls: Calls
  readonly #label: string
  readonly #meanings: Meanings
  readonly #collector: OutputCollector
  #usage: Usage | undefined

  constructor(label: string, meanings: Meanings, collector: OutputCollector, { workspacePath }: RunStart) {
    this.#label = label
    this.#meanings = meanings
    this.#collector = collector
    this.text = new StreamedText(collector)
    this.calls = new Calls(collector, workspacePath)
  }

  readonly onLine: Reader["onLine"] = (line) => {
    const { byType, typeOf } = this.#meanings
    const type = typeName(typeOf(line)) ?? "untyped"
    const meanings = byType.get(type)
    if (meanings === undefined) return this.#collector.countUnknown(type)
    this.#collector.start({})
    const shared = meanings.length > 1
    for (const meaning of meanings) meaning(this, line, shared)
  }

  readonly onEnd: Reader["onEnd"] = (end: ProcessEnd) => {
    this.text.close()
    if (end.code !== 0) this.#collector.fail(exitFailure(this.#label, end), this.#usage)
    else if (this.#meanings.endsByExit) this.complete(undefined)
  }

  changeFile(file: string, change: PayloadOf<"run.file.changed">["change"], patch?: string): void {
    this.text.close()
    const path = this.calls.relative(file)
    if (patch !== undefined) this.#collector.emitEvent(draft("run.patch.proposed", { path, patch }))
    this.#collector.emitEvent(draft("run.file.changed", { path, change }))
  }

  addUsage(usage: Usage): void {
    this.#usage = { ...this.#usage, ...usage }
    this.#collector.emit({ _tag: "Usage", usage: this.#usage })
  }

  complete(resultText: string | undefined): void {
    this.text.close()
    const text = resultText ?? this.text.last
    this.#collector.conclude(defined({ _tag: "Completed" as const, text, usage: this.#usage }))
  }

  fail(message: string): void {
    this.text.close()
    this.#collector.fail(runtimeFailure("runtime_error", message), this.#usage)
  }
}
