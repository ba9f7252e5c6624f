/** The fields of limits take each value that the Hub has, so a form is never blocked by a limit that was set elsewhere. */
import { Budget, CountedLimit, RunDuration, uncountedLimits } from "@corral/domain/run/Budget"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { LimitFields, limitsFor, limitsIn } from "../../src/composer/TurnLimits.tsx"

const Limits = Schema.Struct({
  budget: Schema.optionalKey(Budget),
  timeoutMs: Schema.optionalKey(RunDuration)
})

const attribute = (tag: string, name: string): string => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? ""

describe("LimitFields", () => {
  it.prop("accept the limits of an agent, and return them unchanged", [Limits], ([limits]) => {
    const agent = { label: "Scripted", counts: ["tokens", "turns", "cost"] as const }
    const markup = renderToStaticMarkup(createElement(LimitFields, { agent, limits, hint: "" }))
    const form = new FormData()
    for (const [tag] of markup.matchAll(/<input[^>]*>/g)) {
      const value = attribute(tag, "value")
      form.append(attribute(tag, "name"), value)
      if (value === "") continue
      assert.isAtLeast(Number(value), Number(attribute(tag, "min")), tag)
      assert.isAtMost(Number(value), Number(attribute(tag, "max")), tag)
    }
    const { budget = {}, timeoutMs } = limits
    assert.deepStrictEqual<unknown>(limitsIn(form), {
      ...(Object.keys(budget).length === 0 ? {} : { budget }),
      ...(timeoutMs === undefined ? {} : { timeoutMs })
    })
  })
})

const Counts = Schema.Array(CountedLimit)

describe("limitsFor", () => {
  it.prop("leaves what the agent counts, and all times", [Limits, Counts], ([limits, counts]) => {
    const { budget = {}, timeoutMs } = limitsFor({ counts }, limits)
    assert.deepStrictEqual(uncountedLimits(budget, counts), [])
    assert.deepStrictEqual([budget.wallMs, timeoutMs], [limits.budget?.wallMs, limits.timeoutMs])
    for (const count of counts) {
      const limit = count === "cost" ? "costUsd" : count
      assert.strictEqual(budget[limit], limits.budget?.[limit])
    }
  })
})
