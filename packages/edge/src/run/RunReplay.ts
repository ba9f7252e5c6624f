/**
 * Replay of a run: brings a new adapter into the state of the one that an earlier Edge had.
 *
 * The adapter receives the raw output from its first byte on, and each journaled call at its position. An adapter's state follows from these
 * alone: it has no clock, no ids and no I/O. So the outputs are the same, in the same order, and what was written to stdin is the same text.
 *
 * Synchronous, in pieces: the caller decides how much is replayed at once.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { AdapterEvent, AdapterOutput, Protocol } from "@corral/domain/run/RuntimeAdapter"
import type { BudgetMeter } from "./Budget.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { JournaledCall, StoredJournal } from "../journal/RunJournal.ts"
import { OutputPosition } from "../journal/OutputPosition.ts"

export interface RunReplayOptions {
  readonly protocol: Protocol
  readonly redaction: OutputRedaction
  readonly budget: BudgetMeter
  /** Its answers have no seals. */
  readonly journal: StoredJournal
  /** Secret texts of the answers that are repeated. */
  readonly secrets: ReadonlyMap<JournaledCall, ReadonlyArray<string>>
  /** Outputs that the log includes. */
  readonly appliedOutputs: number
}

export class RunReplay {
  /** Where the replay is. `outputs` counts those that the log includes, at most. */
  readonly position = new OutputPosition()
  /** Outputs that the log does not include. */
  readonly rest: Array<AdapterOutput> = []
  /** What was written to stdin after the protocol's opening. */
  readonly texts: Array<string> = []
  /** Requests of journaled approvals, by the number of their output. */
  readonly requests = new Map<number, ApprovalRequest>()
  /** The last diff that the runtime reported. */
  diff: AdapterEvent | undefined
  readonly #options: RunReplayOptions
  readonly #wanted: ReadonlySet<number>
  /** Replies that wait for calls that came before them. */
  #replies: Array<{ readonly output: number; readonly text: string }> = []
  #nextCall = 0

  constructor(options: RunReplayOptions) {
    this.#options = options
    this.#wanted = new Set(options.journal.requests.flatMap((one) => ("output" in one ? one.output : [])))
  }

  /** The next bytes of the raw output. */
  step(read: Uint8Array): void {
    let rest = read
    for (let call = this.#due(rest.length); call !== undefined; call = this.#due(rest.length)) {
      const before = call.bytes - this.position.bytes
      if (before > 0) this.#decode(rest.subarray(0, before))
      rest = rest.subarray(before)
      this.#repeat(call)
    }
    if (rest.length > 0) this.#decode(rest)
  }

  /** After all bytes that were read. Returns whether the journal fits them. */
  finish(): boolean {
    for (let call = this.#due(0); call !== undefined; call = this.#due(0)) this.#repeat(call)
    this.#flushReplies(Infinity)
    return this.#nextCall === this.#options.journal.calls.length
  }

  /** The next call, if it was made within the next `length` bytes. */
  #due(length: number): JournaledCall | undefined {
    const call = this.#options.journal.calls[this.#nextCall]
    return call !== undefined && call.bytes <= this.position.bytes + length ? call : undefined
  }

  #decode(bytes: Uint8Array): void {
    const { appliedOutputs, protocol, redaction } = this.#options
    const outputs = redaction.redactStream(protocol.step(bytes))
    this.position.bytes += bytes.length
    for (const output of outputs) {
      if (this.position.outputs < appliedOutputs) this.#restore(this.position.outputs++, output)
      else this.rest.push(output)
    }
  }

  /** What an applied output left, that is in no log. */
  #restore(number: number, output: AdapterOutput): void {
    if (output._tag === "Reply") this.#replies.push({ output: number, text: output.text })
    else if (output._tag === "Usage") this.#options.budget.charge(output.usage)
    else if (output._tag === "Approval" && this.#wanted.has(number)) this.requests.set(number, output.request)
    else if (output._tag === "Event" && output.event.type === "run.diff.ready") this.diff = output.event
  }

  #repeat(call: JournaledCall): void {
    this.#nextCall++
    this.#flushReplies(call.outputs)
    const { redaction, secrets } = this.#options
    redaction.learn(secrets.get(call) ?? [])
    const text = this.#textOf(call)
    if (text !== undefined) this.texts.push(text)
  }

  #textOf(call: JournaledCall): string | undefined {
    const { protocol } = this.#options
    switch (call._tag) {
      case "Answer":
        return protocol.answer(call.key, call.answer)
      case "Respond":
        return protocol.respond?.(call.key, call.response)
      case "Input":
        return protocol.input(call.text)
      case "Cancel":
        return protocol.cancel()
    }
  }

  /** Writes the replies of outputs before that number. */
  #flushReplies(before: number): void {
    const later = this.#replies.findIndex(({ output }) => output >= before)
    const due = this.#replies.splice(0, later === -1 ? this.#replies.length : later)
    for (const { text } of due) this.texts.push(text)
  }
}
