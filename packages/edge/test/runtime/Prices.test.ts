import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { rmSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { ownPrice, type PricedCall, Prices, type PricesFile } from "../../src/runtime/Prices.ts"
import { temporaryFolder } from "../Folder.ts"

const createdAt = new Date("2026-11-29T12:00:00Z")

const call = (model: string, more: Partial<PricedCall> = {}): PricedCall => ({
  model,
  inputTokens: 1_000,
  outputTokens: 100,
  ...more
})

/** Runs a test with a file of prices; `undefined` for none. */
const withPrices = <A>(
  content: PricesFile | string | undefined,
  test: (prices: Prices["Service"], file: string) => Effect.Effect<A>
) =>
  Effect.gen(function* () {
    const home = yield* temporaryFolder
    const file = join(home, "prices.json")
    if (content !== undefined) write(file, content)
    const config = makeEdgeConfig({ home, pricesFile: file })
    return yield* Effect.flatMap(Prices, (prices) => test(prices, file)).pipe(
      Effect.provide(Prices.layer.pipe(Layer.provide(Layer.succeed(EdgeConfig, config))))
    )
  })

const write = (file: string, content: PricesFile | string, minutes = 0): void => {
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 })
  const at = new Date(Date.UTC(2026, 10, 29, 12, minutes))
  utimesSync(file, at, at)
}

describe("Prices", () => {
  it.effect(
    "takes the price of the table, with those of tokens that are read from and written to a cache",
    () =>
      withPrices(undefined, (prices) =>
        Effect.gen(function* () {
          yield* prices.load(true)
          const cost = (each: PricedCall) => prices.costOf(each, createdAt, false) ?? Number.NaN
          // $3 and $15 for a million tokens, $0.30 for those from the cache, $3.75 for those into it for minutes, $6 for an hour.
          assert.closeTo(cost(call("claude-sonnet-4-5")), 0.0045, 1e-9)
          assert.closeTo(
            cost(
              call("claude-sonnet-4-5", {
                cachedInputTokens: 300,
                cacheWriteTokens: 100,
                longCacheWriteTokens: 60
              })
            ),
            (600 * 3 + 300 * 0.3 + 40 * 3.75 + 60 * 6 + 100 * 15) / 1e6,
            1e-9
          )
          assert.strictEqual(cost(call("Claude-Sonnet-4-5[1m]")), cost(call("claude-sonnet-4-5")))
          assert.strictEqual(cost(call("anthropic/claude-sonnet-4-5")), cost(call("claude-sonnet-4-5")))
          assert.strictEqual(cost(call("$runtime|openai|gpt-5(openai)")), cost(call("gpt-5")))
        })
      )
  )

  it.effect("prices a long prompt by the tokens of one call", () =>
    withPrices(undefined, (prices) =>
      Effect.gen(function* () {
        yield* prices.load(true)
        const long = { inputTokens: 300_000, outputTokens: 1_000 }
        const cost = (more: Partial<PricedCall>) =>
          prices.costOf(call("claude-sonnet-4-5", more), createdAt, false)
        assert.closeTo(cost(long) ?? 0, (300_000 * 6 + 1_000 * 22.5) / 1e6, 1e-9)
        // Tokens from the cache are a part of the prompt.
        assert.closeTo(
          cost({ ...long, cachedInputTokens: 299_000 }) ?? 0,
          (1_000 * 6 + 299_000 * 0.6 + 1_000 * 22.5) / 1e6,
          1e-9
        )
        assert.closeTo(cost({ ...long, count: 3 }) ?? 0, (300_000 * 3 + 1_000 * 15) / 1e6, 1e-9)
      })
    )
  )

  it.effect("has no price of a model that is not in the table, and of counts that do not fit together", () =>
    withPrices(undefined, (prices) =>
      Effect.gen(function* () {
        yield* prices.load(true)
        for (const model of ["fake-model", "", "x".repeat(100_000), "sonnet"])
          assert.isUndefined(prices.costOf(call(model), createdAt, false), model.slice(0, 20))
        const wrong = call("claude-sonnet-4-5", { inputTokens: 10, cachedInputTokens: 20 })
        assert.isUndefined(prices.costOf(wrong, createdAt, false))
      })
    )
  )

  it.effect("prefers the owner's prices, which can also say that a model has none", () =>
    withPrices(
      {
        models: {
          "fake-*": { input: 1, output: 2 },
          "fake-model": { input: 10, output: 20, cachedInput: 1, cacheWrite: 30 },
          "claude-*": null
        }
      },
      (prices) =>
        Effect.gen(function* () {
          yield* prices.load(true)
          const cost = (each: PricedCall, isOwn = false) => prices.costOf(each, createdAt, isOwn)
          assert.closeTo(cost(call("fake-other")) ?? 0, (1_000 + 200) / 1e6, 1e-12)
          assert.closeTo(cost(call("provider/Fake-Model")) ?? 0, (10_000 + 2_000) / 1e6, 1e-12)
          assert.closeTo(
            cost(call("fake-model", { cachedInputTokens: 500, cacheWriteTokens: 100 })) ?? 0,
            (400 * 10 + 500 * 1 + 100 * 30 + 2_000) / 1e6,
            1e-12
          )
          assert.isUndefined(cost(call("claude-sonnet-4-5")))
          assert.isDefined(cost(call("gpt-5")))
          assert.isUndefined(cost(call("gpt-5"), true), "a program that reports its cost knows it")
          assert.isDefined(cost(call("fake-model"), true))
        })
    )
  )

  it.effect("reads the file again when it has changed, and keeps the last content that is valid", () =>
    withPrices({ models: { fake: { input: 1, output: 0 } } }, (prices, file) =>
      Effect.gen(function* () {
        const cost = Effect.andThen(
          prices.load(false),
          Effect.sync(() => prices.costOf(call("fake"), createdAt, false))
        )
        assert.closeTo((yield* cost) ?? 0, 0.001, 1e-12)
        write(file, { models: { fake: { input: 5, output: 0 } } }, 1)
        assert.closeTo((yield* cost) ?? 0, 0.005, 1e-12)
        write(file, '{"models": {"fake": {"input": "5"}}}', 2)
        assert.closeTo((yield* cost) ?? 0, 0.005, 1e-12)
        rmSync(file)
        assert.isUndefined(yield* cost)
      })
    )
  )

  it.effect("refuses the start with a file that is not valid, with the path of the value", () =>
    Effect.gen(function* () {
      const refusal = (content: string) =>
        withPrices(content, () => Effect.void).pipe(
          Effect.flip,
          Effect.map(({ message }) => message.replace(/^\S*prices\.json is not usable: /, ""))
        )
      assert.strictEqual(yield* refusal("{"), "it is not JSON.")
      assert.match(
        yield* refusal('{"models": {"fake": {"input": -1, "output": 1}}}'),
        /^models\.fake\.input: /
      )
      assert.match(yield* refusal('{"models": {"fake": {"input": 1}}}'), /^models\.fake\.output: Required/)
      assert.match(yield* refusal('{"model": {}}'), /^model: Not a field of this object/)
    })
  )
})

describe("ownPrice", () => {
  it("is that of the longest name that fits", () => {
    const [all, some, one] = [1, 2, 3].map((input) => ({ input, output: 0 }))
    assert.isDefined(all)
    if (all === undefined || some === undefined || one === undefined) return
    const file: PricesFile = { models: { "*": all, "gpt-*": some, "gpt-5": one } }
    assert.strictEqual(ownPrice(file, "gpt-5"), one)
    assert.strictEqual(ownPrice(file, "gpt-5-mini"), some)
    assert.strictEqual(ownPrice(file, "other"), all)
    assert.isUndefined(ownPrice({}, "other"))
  })
})
