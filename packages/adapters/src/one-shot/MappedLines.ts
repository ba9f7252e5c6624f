/** Reader of lines that a `JsonMap` describes. */
import type { Usage } from "@corral/domain/run/Run"
import { type PayloadOf, draft } from "@corral/domain/run/RunEvent"
import type { ProcessEnd, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { exitFailure } from "../CommandLine.ts"
import { type OutputCollector, runtimeFailure } from "../output/OutputCollector.ts"
import { type JsonObject, defined } from "../text/Json.ts"
import { Calls } from "./Calls.ts"
import type { MappedRun, Meanings } from "./LineMeanings.ts"
import type { Reader } from "./OneShot.ts"
import { StreamedText } from "./StreamedText.ts"
import type { FieldPath, JsonMap } from "./JsonMap.ts"

// Access to the fields that a `JsonMap` names. Only printed fields are found, never inherited ones.

/** Reads one field of a line. */
export type ReadField = (line: JsonObject) => unknown

/** JSON has no functions, so a function is an inherited property. `hasOwn` costs more than all other steps together. */
const readOwn = (value: unknown, name: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined
  const found = (value as JsonObject)[name] // an object or a list
  return typeof found === "function" || name === "__proto__" ? undefined : found
}

export const compileField = (path: FieldPath | undefined): ReadField => {
  if (path === undefined) return () => undefined
  const [first = "", second, ...deeper] = path.split(".")
  if (second === undefined) return (line) => readOwn(line, first)
  if (deeper.length === 0) return (line) => readOwn(readOwn(line, first), second)
  return (line) => deeper.reduce<unknown>(readOwn, readOwn(readOwn(line, first), second))
}

/** The name of a type; `undefined` unless the value is a string or a number. */
export const typeName = (value: unknown): string | undefined =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined

/** The type of a line, from one field or from several: `item.completed/agent_message`. */
export const compileTypeField = (paths: JsonMap["type"]): ReadField => {
  if (typeof paths === "string") return compileField(paths)
  const fields = paths.map(compileField)
  return (line) => {
    const parts = fields.flatMap((field) => typeName(field(line)) ?? [])
    return parts.length === 0 ? undefined : parts.join("/")
  }
}

export const isTruthy = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== 0 && value !== ""

/** A string unchanged; any other value as JSON. */
export const toText = (value: unknown): string | undefined =>
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
