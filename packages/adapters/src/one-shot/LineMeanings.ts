/** Meanings of lines, compiled from a `JsonMap` once for all runs: the actions on a run for each type of line. */
import type { Usage } from "@corral/domain/run/Run"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { countOf, defined, textOf, type JsonObject } from "../text/Json.ts"
import type { Calls } from "./Calls.ts"
import type { FieldPath, JsonMap, When } from "./JsonMap.ts"
import { compileField, compileTypeField, isTruthy, type ReadField, toText } from "./MappedLines.ts"
import type { StreamedText } from "./StreamedText.ts"

/** The run that a line acts on. */
export interface MappedRun {
  readonly text: StreamedText
  readonly calls: Calls
  readonly changeFile: (file: string, change: PayloadOf<"run.file.changed">["change"], patch?: string) => void
  readonly addUsage: (usage: Usage) => void
  readonly complete: (text: string | undefined) => void
  readonly fail: (message: string) => void
}

/** One effect of a line on a run. `shared`: lines of this type have other meanings too, so this one may not apply. */
type Meaning = (run: MappedRun, line: JsonObject, shared: boolean) => void

export interface Meanings {
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
