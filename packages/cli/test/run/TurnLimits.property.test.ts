import { Budget } from "@corral/domain/run/Budget"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { limitsFrom, parseLimits, typedLimits } from "@corral/domain/run/LimitText"
import { limitsOfFlags, limitsText } from "../../src/run/TurnLimits.ts"

const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))
const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 999_999_999 }))
const Cents = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000_000 }))
const Limits = Schema.Struct({
  /** In cents. */
  cost: Schema.optionalKey(Cents),
  tokens: Schema.optionalKey(Count),
  turns: Schema.optionalKey(Count),
  time: Schema.optionalKey(Seconds),
  timeout: Schema.optionalKey(Seconds)
})

describe("limits at the command line", () => {
  it.prop("are the same by flags and in a chat, and valid for the service", [Limits], ([limits]) => {
    const { cost, time, timeout, tokens, turns } = limits
    const dollars = cost === undefined ? undefined : (cost / 100).toFixed(2)
    const text = Object.entries({ ...limits, ...(dollars === undefined ? {} : { cost: dollars }) })
      .map(([name, value]) => `${name}=${value}`)
      .join("  ")
    const typed = parseLimits(text === "" ? "off" : text)
    const flags = limitsOfFlags({
      budgetTokens: Option.fromUndefinedOr(tokens),
      budgetTurns: Option.fromUndefinedOr(turns),
      budgetCost: Option.fromUndefinedOr(dollars),
      budgetTime: Option.fromUndefinedOr(time === undefined ? undefined : `${time}s`),
      timeout: Option.fromUndefinedOr(timeout)
    })
    assert.deepStrictEqual<unknown>(typed, flags)
    assert.isTrue(flags.budget === undefined || Schema.is(Budget)(flags.budget))
    assert.deepStrictEqual(
      [
        flags.budget?.tokens,
        flags.budget?.turns,
        flags.budget?.costUsd,
        flags.budget?.wallMs,
        flags.timeoutMs
      ],
      [tokens, turns, cost && cost / 100, time && time * 1_000, timeout && timeout * 1_000]
    )
  })

  it.prop("are read as they are shown", [Limits], ([{ cost, time, timeout, tokens, turns }]) => {
    const limits = limitsFrom({
      tokens,
      turns,
      costUsd: cost && cost / 100,
      wallMs: time && time * 1_000,
      timeoutMs: timeout && timeout * 1_000
    })
    const shown = typedLimits(limits)
    const read = parseLimits(shown)
    assert.deepStrictEqual<unknown>(read, limits, shown)
  })

  it.each([
    "turns",
    "turns=",
    "turns=0",
    "turns=1.5",
    "turns=-1",
    "time=10",
    "time=25h",
    "cost=0",
    "cost=-1",
    "cost=1e3",
    "cost=1000001",
    "cost=0.0000001",
    "costUsd=1",
    "tokens=5=6",
    "tokens=5 turns=2 tokens=6",
    "off tokens=5",
    "__proto__=1"
  ])("are refused with a reason: %s", (text) => {
    const result = parseLimits(text)
    assert.strictEqual("problem" in result, text !== "time=10", JSON.stringify(result))
  })

  it("have a text, with what is used of them", () => {
    assert.strictEqual(limitsText({}), "")
    const budget = { tokens: 5_000, turns: 10, wallMs: 600_000, costUsd: 2.5 }
    assert.strictEqual(
      limitsText({ budget, timeoutMs: 90_000 }),
      "5,000 tokens, 10 turns, $2.50, 10 min, 90 s of active time"
    )
    assert.strictEqual(
      limitsText({ budget }, { inputTokens: 1_000, outputTokens: 234, turns: 3, costUsd: 0.0321 }),
      "1,234 of 5,000 tokens, 3 of 10 turns, $0.0321 of $2.50, 10 min"
    )
  })
})
