import type { Usage } from "@corral/domain/run/Run"
import type { AdapterOutput, ModelCall } from "@corral/domain/run/RuntimeAdapter"
import { draft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CostMeter } from "../../src/run/kernel/BudgetMeter.ts"

/** Dollars for a token; the other models have no price. */
const prices: Readonly<Record<string, number>> = { cheap: 0.000_001, dear: 0.000_5 }

const priceOf = (call: ModelCall & { readonly model: string }): number | undefined => {
  const price = prices[call.model]
  return price === undefined ? undefined : price * (call.inputTokens + 4 * call.outputTokens)
}

const tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5_000 }))

/** What a program reports after one or more calls to models. */
const Step = Schema.Struct({
  calls: Schema.Array(
    Schema.Struct({
      model: Schema.Literals(["cheap", "dear", "unknown"]),
      inputTokens: tokens,
      outputTokens: tokens
    })
  ),
  /** Whether the program gives a figure for all calls so far. */
  hasFigure: Schema.Boolean,
  isOutcome: Schema.Boolean
})
type Step = typeof Step.Type

const FIGURE_PER_TOKEN = 0.000_002

/** The outputs of a program, and what each has to cost. */
const played = (steps: ReadonlyArray<Step>) => {
  let usage = { inputTokens: 0, outputTokens: 0 }
  let [figure, since]: [number | undefined, Array<ModelCall & { readonly model: string }>] = [undefined, []]
  return steps.map(({ calls, hasFigure, isOutcome }) => {
    for (const { inputTokens, outputTokens } of calls)
      usage = {
        inputTokens: usage.inputTokens + inputTokens,
        outputTokens: usage.outputTokens + outputTokens
      }
    since.push(...calls.filter(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0))
    if (hasFigure) {
      figure = FIGURE_PER_TOKEN * (usage.inputTokens + usage.outputTokens)
      since = []
    }
    const costs = since.map(priceOf)
    const isKnown = costs.every((cost) => cost !== undefined) && (figure !== undefined || costs.length > 0)
    const cost = costs.reduce<number>((sum, each) => sum + (each ?? 0), figure ?? 0)
    const reported: Usage = hasFigure ? { ...usage, costUsd: figure ?? 0 } : usage
    const outputs: ReadonlyArray<AdapterOutput> = [
      { _tag: "Usage", usage: reported, calls },
      // The outcome repeats what was reported.
      ...(isOutcome
        ? [{ _tag: "Outcome" as const, outcome: { _tag: "Completed" as const, usage: reported } }]
        : [])
    ]
    return { outputs, cost: isKnown ? cost : undefined, isEstimated: costs.length > 0 }
  })
}

const usageOf = (output: AdapterOutput): Usage | undefined =>
  output._tag === "Usage" ? output.usage : output._tag === "Outcome" ? output.outcome.usage : undefined

const startedWith = (model: string): AdapterOutput => ({
  _tag: "Event",
  event: draft("run.started", { model })
})

describe("CostMeter", () => {
  it.prop(
    "adds the prices of all calls since the last figure of the program, each once",
    [Schema.Array(Step)],
    ([steps]) => {
      const meter = new CostMeter(priceOf)
      for (const { cost, isEstimated, outputs } of played(steps))
        for (const output of outputs) {
          const { costSource, costUsd } = usageOf(meter.read(output)) ?? {}
          if (cost === undefined) assert.isUndefined(costUsd)
          else assert.closeTo(costUsd ?? Number.NaN, cost, 1e-6)
          assert.strictEqual(
            costSource,
            costUsd === undefined ? undefined : isEstimated ? "estimated" : "program"
          )
        }
    }
  )

  it.prop(
    "gives the same cost when all outputs are read again, as after an adoption",
    [Schema.Array(Step)],
    ([steps]) => {
      const outputs = played(steps).flatMap((step) => step.outputs)
      const [first, second] = [new CostMeter(priceOf), new CostMeter(priceOf)]
      assert.deepStrictEqual(
        outputs.map((output) => first.read(output)),
        outputs.map((output) => second.read(output))
      )
    }
  )

  it.prop(
    "prices the growth of the counts of a program that names no calls",
    [Schema.Array(Schema.Tuple([tokens, tokens]))],
    ([grown]) => {
      const meter = new CostMeter(priceOf)
      meter.read(startedWith("dear"))
      let [inputTokens, outputTokens] = [0, 0]
      for (const [input, output] of grown) {
        inputTokens += input
        outputTokens += output
        const usage = usageOf(meter.read({ _tag: "Usage", usage: { inputTokens, outputTokens } }))
        assert.closeTo(usage?.costUsd ?? 0, priceOf({ model: "dear", inputTokens, outputTokens }) ?? 0, 1e-6)
      }
    }
  )

  it("has no cost from the first call without a price on, and says which model it was", () => {
    const meter = new CostMeter(priceOf, "unknown")
    const call = { model: "cheap", inputTokens: 10, outputTokens: 1 }
    const read = (calls: ReadonlyArray<ModelCall>, usage: Usage) =>
      meter.read({ _tag: "Usage", usage, calls }).usage.costUsd
    assert.isDefined(read([call], { inputTokens: 10 }))
    assert.isUndefined(read([{ inputTokens: 5, outputTokens: 5 }], { inputTokens: 15, outputTokens: 6 }))
    assert.isUndefined(read([call], { inputTokens: 25, outputTokens: 7 }))
    assert.deepStrictEqual(meter.unpriced, { _tag: "Model", model: "unknown" })
    // The program knows better.
    assert.strictEqual(read([], { inputTokens: 25, outputTokens: 7, costUsd: 0.5 }), 0.5)
    assert.isUndefined(meter.unpriced)
  })

  it("has no cost under a subscription, also where the program gives a figure", () => {
    const meter = new CostMeter(priceOf, "cheap")
    const usage = { inputTokens: 10, outputTokens: 1 }
    assert.deepStrictEqual(meter.read({ _tag: "Usage", usage, subscription: true }).usage, usage)
    const outcome = { _tag: "Completed", usage: { ...usage, costUsd: 3 } } as const
    assert.deepStrictEqual(usageOf(meter.read({ _tag: "Outcome", outcome })), usage)
    assert.deepStrictEqual(meter.unpriced, { _tag: "Subscription" })
  })

  it("counts what an outcome has more than the reports before it", () => {
    const meter = new CostMeter(priceOf, "dear")
    meter.read({ _tag: "Usage", usage: { inputTokens: 100 }, calls: [{ inputTokens: 100, outputTokens: 0 }] })
    const outcome = { _tag: "Cancelled", usage: { inputTokens: 150, outputTokens: 10 } } as const
    assert.closeTo(
      usageOf(meter.read({ _tag: "Outcome", outcome }))?.costUsd ?? 0,
      priceOf({ model: "dear", inputTokens: 150, outputTokens: 10 }) ?? 0,
      1e-9
    )
  })
})
