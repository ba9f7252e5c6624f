import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { BudgetMeter, type BudgetNotice } from "../../src/run/kernel/BudgetMeter.ts"

const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))
const limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))
const tags = (news: ReadonlyArray<BudgetNotice>) => news.map(({ _tag, limit }) => `${_tag} ${limit}`)

describe("BudgetMeter", () => {
  it("says nothing where there is no limit", () => {
    const meter = new BudgetMeter()
    assert.deepStrictEqual(meter.charge({ inputTokens: 1e9, turns: 1e9 }), [])
    assert.deepStrictEqual(meter.reach("wallMs", 1e9), [])
  })

  it("warns in words a person understands, and says what is used up", () => {
    const meter = new BudgetMeter({ tokens: 10_000, wallMs: 60_000 })
    const [warning] = meter.charge({ inputTokens: 8_000, outputTokens: 250 })
    assert.deepStrictEqual(warning, {
      _tag: "Warn",
      limit: "tokens",
      text: "82 % of the run's token budget is used: 8,250 of 10,000."
    })
    const [late] = meter.reach("wallMs", 48_000)
    assert.deepInclude(late, { text: "80 % of the run's time budget is used: 48 of 60 s." })
    const [over] = meter.charge({ inputTokens: 9_000, outputTokens: 1_000 })
    assert.deepStrictEqual(over, {
      _tag: "UsedUp",
      limit: "tokens",
      error: {
        code: "budget_exceeded",
        message: "The run's token budget is used up.",
        details: { reason: "budget_used_up", budget: "tokens", used: 10_000, limit: 10_000 }
      }
    })
    assert.deepStrictEqual(meter.reach("wallMs", 60_000), [])
  })

  it("tells a used up time as the error table's time-out", () => {
    const [over] = new BudgetMeter({ wallMs: 1_000 }).reach("wallMs", 1_000)
    assert.strictEqual(over?._tag === "UsedUp" ? over.error.code : "", "run_timeout")
  })

  it("says amounts of a cost in dollars, and ends the run at all of it", () => {
    const meter = new BudgetMeter({ costUsd: 2.5 })
    assert.deepStrictEqual(meter.charge({ costUsd: 1.9 }), [])
    assert.deepStrictEqual(meter.charge({ costUsd: 2.125 }), [
      {
        _tag: "Warn",
        limit: "costUsd",
        text: "85 % of the run's cost budget is used: $2.13 of $2.5."
      }
    ])
    const [over] = meter.charge({ costUsd: 2.5 })
    assert.deepStrictEqual(over, {
      _tag: "UsedUp",
      limit: "costUsd",
      error: {
        code: "budget_exceeded",
        message: "The run's cost budget is used up.",
        details: { reason: "budget_used_up", budget: "costUsd", used: 2.5, limit: 2.5 }
      }
    })
    const [small] = new BudgetMeter({ costUsd: 0.001 }).charge({ costUsd: 0.000_812 })
    assert.deepInclude(small, { text: "81 % of the run's cost budget is used: $0.000812 of $0.001." })
  })

  it.prop(
    "compares costs in millionths of a dollar: warns at 80 % of them, not before, and ends at all of them",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200_000_000_000 }))],
    ([fifth]) => {
      const [near, all] = [fifth * 4, fifth * 5]
      const noticesAt = (micros: number) =>
        new BudgetMeter({ costUsd: all / 1e6 })
          .charge({ costUsd: micros / 1e6 })
          .map((notice) => (notice._tag === "Warn" ? notice.text.slice(0, 4) : notice._tag))
      assert.deepStrictEqual(noticesAt(near - 1), [])
      assert.deepStrictEqual(noticesAt(near), ["80 %"])
      assert.notInclude(noticesAt(all - 1), "UsedUp")
      assert.deepStrictEqual(noticesAt(all), ["UsedUp"])
    }
  )

  it("warns at 80 % of a cost that is no exact fraction", () => {
    const [notice] = new BudgetMeter({ costUsd: 3 }).charge({ costUsd: 2.4 })
    assert.deepInclude(notice, { text: "80 % of the run's cost budget is used: $2.4 of $3." })
  })

  it("ends a run with a budget of its cost as soon as the cost is unknown, and no other run", () => {
    const unknown = { _tag: "Model", model: "new-model" } as const
    const [over, ...more] = new BudgetMeter({ costUsd: 1, tokens: 100 }).charge({ inputTokens: 5 }, unknown)
    assert.deepStrictEqual(more, [])
    assert.deepInclude(over?._tag === "UsedUp" ? over.error : {}, {
      code: "budget_exceeded",
      details: { reason: "cost_unknown", budget: "costUsd", model: "new-model" }
    })
    const [paid] = new BudgetMeter({ costUsd: 1 }).charge({ inputTokens: 5 }, { _tag: "Subscription" })
    assert.deepInclude(paid?._tag === "UsedUp" ? paid.error : {}, {
      code: "budget_exceeded",
      details: { reason: "cost_unknown", budget: "costUsd", subscription: true }
    })
    assert.deepStrictEqual(new BudgetMeter({ tokens: 100 }).charge({ inputTokens: 5 }, unknown), [])
  })

  it.prop(
    "ends at the first count that reaches the limit, after at most one warning from 80 % on",
    [Schema.Array(count), limit],
    ([steps, tokens]) => {
      const meter = new BudgetMeter({ tokens })
      const texts: Array<string> = []
      let used = 0
      for (const step of steps) {
        used += step
        const news = tags(meter.charge({ outputTokens: used }))
        const over = texts.includes("UsedUp tokens")
        const warned = texts.includes("Warn tokens")
        const due =
          over || used * 5 < tokens * 4
            ? []
            : used >= tokens
              ? ["UsedUp tokens"]
              : warned
                ? []
                : ["Warn tokens"]
        assert.deepStrictEqual(news, due)
        texts.push(...news)
      }
    }
  )
})
