/** Reader of lines that a `JsonMap` describes. */
import type { Usage } from "@corral/domain/run/Run"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { ProcessEnd, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { exitFailure } from "../CommandLine.ts"
import { runtimeFailure, type OutputCollector } from "../output/OutputCollector.ts"
import { defined } from "../text/Json.ts"
import { Calls } from "./Calls.ts"
import type { MappedRun, Meanings } from "./LineMeanings.ts"
import { typeName } from "./MappedFields.ts"
import type { Reader } from "./OneShot.ts"
import { StreamedText } from "./StreamedText.ts"

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
