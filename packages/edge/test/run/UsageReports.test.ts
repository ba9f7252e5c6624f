/** What the log says of a run's usage while it works. */
import type { Usage } from "@corral/domain/run/Run"
import type { AdapterOutput, AnyProtocol } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { OutputRedaction } from "../../src/run/kernel/OutputRedaction.ts"
import { RunKernel } from "../../src/run/kernel/RunKernel.ts"
import type { RunMessage } from "../../src/run/kernel/RunMessage.ts"
import { RunRecorder } from "../../src/run/kernel/RunRecorder.ts"
import { policyOf } from "../approval/RunPolicies.ts"
import { created, runIdOf, runOf } from "../Samples.ts"

const silent: AnyProtocol = {
  open: "",
  answer: () => undefined,
  input: () => undefined,
  cancel: () => undefined,
  step: () => [],
  end: () => []
}

/** A run whose model costs a dollar for each token of the output. */
class Played {
  readonly #kernel: RunKernel

  constructor() {
    const recorder = new RunRecorder(runOf(runIdOf(1), { model: "model" }))
    recorder.apply(created)
    this.#kernel = new RunKernel({
      recorder,
      protocol: silent,
      specificationVersion: 2,
      priceOf: ({ outputTokens }) => outputTokens,
      policy: policyOf(),
      root: "/ws",
      redaction: new OutputRedaction([]),
      approvalMs: 1_000,
      isHeld: false,
      holdKey: () => undefined,
      onUnknown: () => undefined,
      adopted: undefined
    })
  }

  /** Whether the turn asks for a later report. */
  handle(...messages: ReadonlyArray<RunMessage>): boolean {
    return this.#kernel.handle(messages, () => [], Date.UTC(2026, 0, 1)).reportsUsage
  }

  /** Types and usage of the events since the last call. */
  events(): ReadonlyArray<readonly [type: string, usage: Usage | undefined]> {
    const batch = this.#kernel.take()
    if (batch === undefined) return []
    this.#kernel.committed(batch)
    return batch.events.lines.split("\n").map((line) => {
      const { payload, type } = JSON.parse(line)
      return [type, payload.usage]
    })
  }

  get shown(): Usage | undefined {
    return this.#kernel.recorder.run.usage
  }
}

const decoded = (...outputs: ReadonlyArray<AdapterOutput>): RunMessage => ({
  _tag: "Decoded",
  outputs,
  weight: 0
})
const used = (outputTokens: number): AdapterOutput => ({ _tag: "Usage", usage: { outputTokens } })
const costing = (outputTokens: number): Usage => ({
  outputTokens,
  costUsd: outputTokens,
  costSource: "estimated"
})
const due: RunMessage = { _tag: "UsageDue" }

describe("run.usage.updated", () => {
  it("comes once for several model calls, with the cost, and again after further ones", () => {
    const run = new Played()
    assert.isTrue(run.handle(decoded(used(5))))
    assert.isFalse(run.handle(decoded(used(7), used(9))), "a report is due already")
    assert.deepStrictEqual(
      run.events().map(([type]) => type),
      ["run.created"]
    )
    run.handle(due)
    assert.deepStrictEqual(run.events(), [["run.usage.updated", costing(9)]])
    assert.isTrue(run.handle(decoded(used(10))))
    run.handle(due)
    assert.deepStrictEqual(run.events(), [["run.usage.updated", costing(10)]])
    assert.deepStrictEqual(run.shown, costing(10))
  })

  it("does not come after the outcome, whose event has the final figures", () => {
    const run = new Played()
    run.handle(decoded(used(5)))
    run.handle(decoded({ _tag: "Outcome", outcome: { _tag: "Completed", usage: { outputTokens: 6 } } }))
    run.handle(due)
    run.handle({ _tag: "Swept", review: [] })
    assert.deepStrictEqual(run.events().at(-1), ["run.completed", costing(6)])
    assert.deepStrictEqual(run.shown, costing(6))
  })

  it("leaves to the last event what a program reports after a cancel", () => {
    const run = new Played()
    run.handle(decoded(used(5)), { _tag: "Cancel", reason: "enough", by: "one" })
    const outcome = { _tag: "Cancelled", usage: { outputTokens: 8 } } as const
    run.handle(decoded({ _tag: "Outcome", outcome }))
    run.handle(due)
    run.handle({ _tag: "Swept", review: [] })
    assert.deepStrictEqual(run.events().at(-1), ["run.cancelled", costing(8)])
  })
})
