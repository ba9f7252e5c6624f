/**
 * Replay of recorded programs, for every adapter: an Edge ends at any moment, and the next one brings a new adapter into the same state.
 */
import type {
  AdapterOutput,
  ApprovalAnswer,
  InputResponse,
  Protocol,
  RuntimeAdapter
} from "@corral/domain/run/RuntimeAdapter"
import type { ApprovalId, InputRequestId } from "@corral/domain/identity/Ids"
import { type Recording, randomNumbers } from "@corral/conformance/Replay"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"
import { tries } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { JournaledCall, JournaledRequest } from "../../src/journal/RunJournal.ts"
import { BudgetMeter, CostMeter } from "../../src/run/kernel/BudgetMeter.ts"
import { OutputRedaction } from "../../src/run/kernel/OutputRedaction.ts"
import { RunReplay } from "../../src/run/adoption/RunReplay.ts"

const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))

/** A run of an Edge that handles some outputs, answers some requests, and stops. */
class LiveRun {
  readonly protocol: Protocol
  readonly redaction = new OutputRedaction([])
  readonly calls: Array<JournaledCall> = []
  readonly requests: Array<JournaledRequest> = []
  /** Texts that are written to stdin. */
  readonly texts: Array<string> = []
  readonly outputs: Array<AdapterOutput> = []
  readonly #random: (below: number) => number
  #pending: Array<string> = []
  #questions: Array<string> = []
  bytes = 0
  applied = 0

  constructor(adapter: RuntimeAdapter, { start }: Recording, random: (below: number) => number) {
    this.protocol = adapter.protocol(start)
    this.#random = random
  }

  step(bytes: Uint8Array): void {
    this.outputs.push(...this.redaction.redactStream(this.protocol.step(bytes)))
    this.bytes += bytes.length
  }

  /** Applies some of the outputs that wait, and calls the adapter in between. */
  apply(): void {
    const until = this.applied + this.#random(this.outputs.length - this.applied + 1)
    while (this.applied < until) {
      const output = this.outputs[this.applied]
      if (output?._tag === "Reply") this.texts.push(output.text)
      if (output?._tag === "Approval") {
        this.#pending.push(output.key)
        const approvalId = `apr_${this.applied}` as ApprovalId
        this.requests.push({ _tag: "Request", approvalId, key: output.key, output: this.applied })
      }
      if (output?._tag === "InputRequested") this.#questions.push(output.key)
      this.applied++
      if (this.#random(4) === 0) this.#call()
    }
    if (this.#random(8) === 0) this.#call()
  }

  #call(): void {
    const at = { bytes: this.bytes, outputs: this.applied }
    const key = this.#pending.shift()
    if (key !== undefined) {
      const answer: ApprovalAnswer = { decision: this.#random(2) === 0 ? "allow" : "deny", scope: "once" }
      this.calls.push({ _tag: "Answer", approvalId: "apr_" as ApprovalId, key, answer, ...at })
      return this.#write(this.protocol.answer(key, answer))
    }
    const question = this.#questions.shift()
    if (question !== undefined) {
      const response: InputResponse =
        this.#random(2) === 0
          ? { _tag: "Answered", answers: { "0": "0" } }
          : { _tag: "Unanswered", reason: "No one answered." }
      this.calls.push({ _tag: "Respond", inputId: "inq_" as InputRequestId, key: question, response, ...at })
      return this.#write(this.protocol.respond?.(question, response))
    }
    if (this.#random(6) > 0) {
      this.calls.push({ _tag: "Input", text: "go on", ...at })
      return this.#write(this.protocol.input("go on"))
    }
    if (this.calls.some(({ _tag }) => _tag === "Cancel")) return
    this.calls.push({ _tag: "Cancel", ...at })
    this.#write(this.protocol.cancel())
  }

  #write(text: string | undefined): void {
    if (text !== undefined) this.texts.push(text)
  }
}

const check = (adapter: RuntimeAdapter, recording: Recording, seed: number): void => {
  const random = randomNumbers(seed)
  const { stdout } = recording
  const live = new LiveRun(adapter, recording, random)
  const end = random(stdout.length + 1)
  const largest = 1 + random(random(2) === 0 ? 64 : 4_096)
  while (live.bytes < end) {
    live.step(stdout.slice(live.bytes, Math.min(end, live.bytes + 1 + random(largest))))
    live.apply()
  }
  const { applied, calls, requests } = live
  const written = live.texts.join("")
  // What the program printed after the Edge's last read.
  const whole = live.bytes + random(stdout.length - live.bytes + 1)
  if (whole > live.bytes) live.step(stdout.slice(live.bytes, whole))

  const replay = new RunReplay({
    protocol: adapter.protocol(recording.start),
    redaction: new OutputRedaction([]),
    budget: new BudgetMeter(),
    cost: new CostMeter(() => undefined),
    journal: { calls, requests, questions: [], state: undefined, next: 1 },
    secrets: new Map(),
    appliedOutputs: applied
  })
  for (let at = 0; at < whole;) {
    const size = Math.min(1 + random(largest * 4), whole - at)
    replay.step(stdout.subarray(at, at + size))
    at += size
  }
  assert.isTrue(replay.finish())
  assert.strictEqual(replay.texts.join(""), written)
  assert.strictEqual(replay.position.bytes, whole)
  assert.strictEqual(replay.position.outputs, applied)
  assert.deepStrictEqual(replay.rest, live.outputs.slice(applied))
  for (const request of requests)
    if ("output" in request) assert.isTrue(replay.requests.has(request.output), `request ${request.output}`)
}

describe("RunReplay", () => {
  for (const [id, adapter] of registry) {
    const all = recordings(id)
    if (all.length === 0) continue
    it.prop(
      `gives the outputs and the texts of the run before: ${id}`,
      [Seed],
      ([seed]) => {
        const recording = all[seed % all.length]
        if (recording !== undefined) check(adapter, recording, seed)
      },
      tries(60)
    )
  }
})
