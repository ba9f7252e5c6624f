import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  Budget,
  CountedLimit,
  hasSameLimits,
  limitsOfTurn,
  RequestedBudget,
  RunDuration,
  uncountedLimits
} from "../../src/run/Budget.ts"

const Limits = Schema.Struct({
  budget: Schema.optionalKey(Budget),
  timeoutMs: Schema.optionalKey(RunDuration)
})
const names = ["tokens", "turns", "wallMs", "costUsd"] as const

describe("limitsOfTurn", () => {
  it.prop("has each limit of the turn, otherwise that of the agent", [Limits, Limits], ([turn, agent]) => {
    const limits = limitsOfTurn(turn, agent)
    for (const name of names)
      assert.strictEqual(limits.budget?.[name], turn.budget?.[name] ?? agent.budget?.[name])
    assert.strictEqual(limits.timeoutMs, turn.timeoutMs ?? agent.timeoutMs)
  })

  it.prop(
    "has no empty budget, and stays the same when it is applied again",
    [Limits, Limits],
    ([turn, agent]) => {
      const limits = limitsOfTurn(turn, agent)
      if (limits.budget !== undefined) assert.isNotEmpty(Object.keys(limits.budget))
      assert.deepStrictEqual(limitsOfTurn(limits, agent), limits)
    }
  )
})

describe("hasSameLimits", () => {
  it.prop("is true for the same limits only", [Limits, Limits], ([a, b]) => {
    assert.isTrue(hasSameLimits(a, limitsOfTurn(a, {})))
    const isSame = a.timeoutMs === b.timeoutMs && names.every((name) => a.budget?.[name] === b.budget?.[name])
    assert.strictEqual(hasSameLimits(a, b), isSame)
  })
})

describe("uncountedLimits", () => {
  it.prop(
    "names the limits that are set and not counted",
    [Budget, Schema.Array(CountedLimit)],
    ([budget, counts]) => {
      assert.deepStrictEqual(
        uncountedLimits(budget, counts),
        (
          [
            ["tokens", "tokens"],
            ["turns", "turns"],
            ["cost", "costUsd"]
          ] as const
        ).flatMap(([count, name]) => (budget[name] !== undefined && !counts.includes(count) ? [name] : []))
      )
    }
  )
})

describe("RequestedBudget", () => {
  const isAccepted = Schema.is(RequestedBudget)

  it.prop("accepts every budget", [Budget], ([budget]) => {
    assert.isTrue(isAccepted(budget))
  })

  it.prop(
    "refuses every other limit, such as a mistyped one",
    [Budget, Schema.String, Schema.Unknown],
    ([budget, text, value]) => {
      for (const name of ["cost", "costusd", "token", "Tokens", "tokens ", "tokensturns", "tokens\n", text])
        if (!Object.hasOwn(Budget.fields, name))
          assert.isFalse(isAccepted({ ...budget, [name]: value }), name)
    }
  )
})
