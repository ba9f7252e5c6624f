/**
 * What the lines of a program mean that a map describes.
 */
import type { Usage } from "@corral/domain/run/Run"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { ProcessEnd, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { exitFailure } from "../CommandLine.ts"
import { countOf, defined, textOf, type JsonObject } from "../Json.ts"
import type { FieldPath, JsonMap, When } from "../JsonMapping.ts"
import { unavailable, type Turn } from "../Turn.ts"
import { Calls } from "./Calls.ts"
import type { Reader } from "./OneShot.ts"
import { StreamedText } from "./StreamedText.ts"

/** What stands there; only what was printed is found. */
type Field = (line: JsonObject) => unknown

/** What was printed under a name. Nothing printed is a function, which tells what an object inherits; `hasOwn` costs more than the rest. */
const own = (value: unknown, name: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined
  const found = (value as JsonObject)[name] // an object or a list
  return typeof found === "function" || name === "__proto__" ? undefined : found
}

const fieldOf = (path: FieldPath | undefined): Field => {
  if (path === undefined) return () => undefined
  const [first = "", second, ...deeper] = path.split(".")
  if (second === undefined) return (line) => own(line, first)
  if (deeper.length === 0) return (line) => own(own(line, first), second)
  return (line) => deeper.reduce<unknown>(own, own(own(line, first), second))
}

/** What a line is, by one field or by several: `item.completed/agent_message`. */
const typeField = (paths: JsonMap["type"]): Field => {
  if (typeof paths === "string") return fieldOf(paths)
  const fields = paths.map(fieldOf)
  return (line) => {
    const parts = fields.flatMap((field) => typeName(field(line)) ?? [])
    return parts.length === 0 ? undefined : parts.join("/")
  }
}

const typeName = (value: unknown): string | undefined =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined

const isTrue = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== 0 && value !== ""

/** As it is, or as JSON. */
const said = (value: unknown): string | undefined =>
  value === undefined || value === null || typeof value === "string"
    ? (value ?? undefined)
    : JSON.stringify(value)

const changeOf = (value: unknown) => (value === "created" || value === "deleted" ? value : "modified")

/** One thing that a line means to a run. `shared`: lines of its type mean other things too, so this line may not mean it. */
type Meaning = (run: MappedLines, line: JsonObject, shared: boolean) => void

/** A map as lines are read by it: its paths taken apart, and for each type what its lines mean, in the order in which they say it. */
export interface Meanings {
  readonly typeOf: Field
  readonly byType: ReadonlyMap<string, ReadonlyArray<Meaning>>
  /** Exit code 0 says that the run has succeeded. */
  readonly endsByExit: boolean
}

/** A map made ready to read by; once for all its runs. */
export const meaningsOf = (map: JsonMap, label: string): Meanings => {
  const byType = new Map<string, Array<Meaning>>(map.ignore?.map((type) => [type, []]))
  const add = <M extends When>(meaning: M | undefined, compile: (meaning: M) => Meaning): void => {
    if (meaning === undefined) return
    const compiled = compile(meaning)
    for (const type of new Set(meaning.when)) byType.set(type, [...(byType.get(type) ?? []), compiled])
  }
  const piece = (channel: "text" | "reasoning") => (meaning: { readonly text: FieldPath }) => {
    const text = fieldOf(meaning.text)
    return (run: MappedLines, line: JsonObject) => run.text.piece(channel, textOf(text(line)) ?? "")
  }
  add(map.delta, piece("text"))
  add(map.reasoning, piece("reasoning"))
  add(map.message, (meaning) => {
    const text = fieldOf(meaning.text)
    return (run, line) => {
      const whole = textOf(text(line))
      // A model that only calls a tool says an empty one.
      if (whole !== undefined && whole !== "") run.text.whole("text", whole)
    }
  })
  add(map.toolCall, (meaning) => {
    const [id, name, input] = [fieldOf(meaning.id), fieldOf(meaning.name), fieldOf(meaning.input)]
    return (run, line, shared) => {
      const [callId, tool] = [said(id(line)), textOf(name(line))]
      // Lines of one type may be pieces of text or calls: what names no call is none.
      if (shared && (callId === undefined || tool === undefined)) return
      run.text.close()
      run.calls.call(callId, tool, input(line))
    }
  })
  add(map.fileChange, (meaning) => {
    const [path, change] = [fieldOf(meaning.path), fieldOf(meaning.change)]
    return (run, line) => {
      const file = textOf(path(line))
      if (file !== undefined) run.changed(file, changeOf(change(line)))
    }
  })
  add(map.toolResult, (meaning) => {
    const [id, output] = [fieldOf(meaning.id), fieldOf(meaning.output)]
    const [exitCode, failed] = [fieldOf(meaning.exitCode), fieldOf(meaning.failed)]
    return (run, line, shared) => {
      const callId = said(id(line))
      if (shared && callId === undefined) return
      run.text.close()
      const status = isTrue(failed(line)) ? "failed" : "completed"
      const result = { status, output: said(output(line)), exitCode: countOf(exitCode(line)) } as const
      // Files are what the map says they are, whatever the tools are called.
      run.calls.result(callId, result, [])
    }
  })
  add(map.usage, (meaning) => {
    const [input, output] = [fieldOf(meaning.inputTokens), fieldOf(meaning.outputTokens)]
    const costUsd = fieldOf(meaning.costUsd)
    return (run, line) => {
      const cost = costUsd(line)
      run.spent(
        defined({
          inputTokens: countOf(input(line)),
          outputTokens: countOf(output(line)),
          costUsd: typeof cost === "number" && Number.isFinite(cost) ? cost : undefined
        })
      )
    }
  })
  const failure = (needsReason: boolean) => (meaning: NonNullable<JsonMap["failed"]>) => {
    const message = fieldOf(meaning.message)
    return (run: MappedLines, line: JsonObject) => {
      const told = message(line)
      if (!needsReason || isTrue(told)) run.failed(textOf(told) ?? `${label} failed.`)
    }
  }
  // Where one type ends a run either way, a line that gives no reason has succeeded.
  const endsBothWays = (type: string) =>
    map.failed?.message !== undefined && map.completed?.when.includes(type) === true
  const failing = (wanted: (type: string) => boolean) =>
    map.failed && { ...map.failed, when: map.failed.when.filter(wanted) }
  add(failing(endsBothWays), failure(true))
  add(
    failing((type) => !endsBothWays(type)),
    failure(false)
  )
  add(map.completed, (meaning) => {
    const text = fieldOf(meaning.text)
    return (run, line) => run.completed(textOf(text(line)))
  })
  return { typeOf: typeField(map.type), byType, endsByExit: map.completed === undefined }
}

export class MappedLines implements Reader {
  readonly text: StreamedText
  readonly calls: Calls
  readonly #label: string
  readonly #meanings: Meanings
  readonly #turn: Turn
  #usage: Usage | undefined

  constructor(label: string, meanings: Meanings, turn: Turn, { workspacePath }: RunStart) {
    this.#label = label
    this.#meanings = meanings
    this.#turn = turn
    this.text = new StreamedText(turn)
    this.calls = new Calls(turn, workspacePath)
  }

  readonly said: Reader["said"] = (line) => {
    const { byType, typeOf } = this.#meanings
    const type = typeName(typeOf(line)) ?? "untyped"
    const meanings = byType.get(type)
    if (meanings === undefined) return this.#turn.unknown(type)
    this.#turn.start({})
    const shared = meanings.length > 1
    for (const meaning of meanings) meaning(this, line, shared)
  }

  readonly ended: Reader["ended"] = (end: ProcessEnd) => {
    this.text.close()
    if (end.code !== 0) this.#turn.fail(exitFailure(this.#label, end), this.#usage)
    else if (this.#meanings.endsByExit) this.completed(undefined)
  }

  changed(file: string, change: PayloadOf<"run.file.changed">["change"]): void {
    this.text.close()
    this.#turn.say(draft("run.file.changed", { path: this.calls.relative(file), change }))
  }

  spent(told: Usage): void {
    this.#usage = { ...this.#usage, ...told }
    this.#turn.emit({ _tag: "Usage", usage: this.#usage })
  }

  completed(told: string | undefined): void {
    this.text.close()
    const text = told ?? this.text.last
    this.#turn.conclude(defined({ _tag: "Completed" as const, text, usage: this.#usage }))
  }

  failed(message: string): void {
    this.text.close()
    this.#turn.fail(unavailable("runtime_error", message), this.#usage)
  }
}
