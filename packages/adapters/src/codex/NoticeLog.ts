/**
 * Notices of one run, each once: threads repeat their warnings. A compaction is repeated in other turns.
 *
 * Guarantees: a notice before the start of the run follows it.
 */
import type { OutputCollector } from "../output/OutputCollector.ts"
import { defined } from "../text/Json.ts"
import type { CodexNotice } from "./Notices.ts"

interface NoticePlace {
  readonly turn?: string
  /** The call that started the sub-agent of the notice. */
  readonly parent?: string
}

export class NoticeLog {
  readonly #collector: OutputCollector
  readonly #emitted = new Set<string>()
  /** Notices before the start; `undefined` after it. */
  #early: Array<CodexNotice> | undefined = []

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** The run has started. */
  start(): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const notice of early) this.emit(notice)
  }

  emit(notice: CodexNotice | undefined, { parent, turn = "" }: NoticePlace = {}): void {
    if (notice === undefined) return
    if (this.#early !== undefined) return void this.#early.push(notice)
    const { data, kind, text } = notice
    const key = kind === "compacted" ? `${text} ${turn}` : text
    if (this.#emitted.has(key)) return
    this.#emitted.add(key)
    this.#collector.notice(kind, text, defined({ data, parentCallId: parent }))
  }
}
