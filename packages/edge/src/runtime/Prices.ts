/**
 * Prices of models: the table of a package, dated by the package's version, and the owner's file, which overrides it.
 *
 * The table is loaded when the first run starts that may need it: it takes 40 ms and some megabytes. A file that is not valid fails the start of the
 * Edge. Later, its last valid content stays in use. The package's regular expressions receive at most `MAX_NAME` characters.
 *
 * Guarantees: reads no network. A price is that of the day on which its run was created. Names of models are compared without
 * their case and without what some programs add to them: a suffix in brackets, or a place before them.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import type { ModelCall } from "@corral/domain/run/RuntimeAdapter"
import type { calcPrice } from "@pydantic/genai-prices"
import { Context, Effect, Layer, Result, Schema } from "effect"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { type ConfigFileInvalid, fingerprint, lookAt, readEntries, strictDecoder } from "./ConfigContent.ts"

const Usd = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

/** US dollars for a million tokens. `cachedInput` and `cacheWrite` are those of `input` by default. */
const ModelPrice = Schema.Struct({
  input: Usd,
  output: Usd,
  cachedInput: Schema.optionalKey(Usd),
  cacheWrite: Schema.optionalKey(Usd)
})
type ModelPrice = typeof ModelPrice.Type

/** `null`: the model has no price. A name with `*` at its end is that of all models that begin so; the longest name that fits counts. */
export const PricesFile = Schema.Struct({
  models: Schema.optionalKey(
    Schema.Record(
      Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
      Schema.NullOr(ModelPrice)
    )
  )
})
export type PricesFile = typeof PricesFile.Type

/** A call of a known model at a time. */
export interface PricedCall extends ModelCall {
  readonly model: string
}

/** US dollars of a call of a run that was created at that time; `undefined` without a price. `isOwn`: only with the prices of the owner's file. */
export type CostOf = (call: PricedCall, createdAt: Date, isOwn: boolean) => number | undefined

const MAX_NAME = 200
const suffix = capped(MAX_NAME, /\[[^[\]]*\]$|\([^()]*\)$/)

/** `claude-sonnet-4-5[1m]`, and Qwen's `$runtime|openai|qwen3-coder(openai)`. */
const nameOf = (model: string): string => {
  const name = model.slice(0, MAX_NAME)
  return name
    .slice(name.lastIndexOf("|") + 1)
    .replace(suffix, "")
    .toLowerCase()
}

const MILLION = 1_000_000

const ownCost = (
  { cachedInput, cacheWrite, input, output }: ModelPrice,
  { cachedInputTokens = 0, cacheWriteTokens = 0, inputTokens, outputTokens }: ModelCall
): number => {
  const fresh = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens)
  const sum =
    fresh * input +
    cachedInputTokens * (cachedInput ?? input) +
    cacheWriteTokens * (cacheWrite ?? input) +
    outputTokens * output
  return sum / MILLION
}

const hasName = (pattern: string, name: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/** A whole name is longer than its beginnings. */
const lengthOf = (pattern: string): number =>
  pattern.endsWith("*") ? pattern.length - 1 : pattern.length + 1

/** The owner's price of a model; `undefined` if the file does not have it. A model that is named with its provider also has the price of its bare name. */
export const ownPrice = ({ models = {} }: PricesFile, model: string): ModelPrice | null | undefined => {
  const name = nameOf(model)
  const names = [name, name.slice(name.lastIndexOf("/") + 1)]
  const [found] = Object.entries(models)
    .map(([pattern, price]) => ({ pattern: pattern.toLowerCase(), price }))
    .filter(({ pattern }) => names.some((each) => hasName(pattern, each)))
    .toSorted((a, b) => lengthOf(b.pattern) - lengthOf(a.pattern))
  return found?.price
}

/** Price of one call in the package's table. A model that is named with its provider is looked up there. */
const tableCost = (calculate: typeof calcPrice, call: PricedCall, timestamp: Date): number | undefined => {
  const {
    cachedInputTokens = 0,
    cacheWriteTokens = 0,
    count = 1,
    inputTokens,
    longCacheWriteTokens = 0,
    outputTokens
  } = call
  const name = nameOf(call.model)
  const slash = name.indexOf("/")
  // The price of a long prompt depends on the tokens of one call.
  const usage = {
    input_tokens: inputTokens / count,
    cache_read_tokens: cachedInputTokens / count,
    cache_write_tokens: cacheWriteTokens / count,
    ...(longCacheWriteTokens === 0 ? {} : { cache_write_1h_tokens: longCacheWriteTokens / count }),
    output_tokens: outputTokens / count
  }
  try {
    const found =
      calculate(usage, name, { timestamp }) ??
      (slash === -1
        ? null
        : calculate(usage, name.slice(slash + 1), { timestamp, providerId: name.slice(0, slash) }))
    return found === null ? undefined : found.total_price * count
  } catch {
    // The counts do not fit together, or the model is paid in other units.
    return undefined
  }
}

const decode = strictDecoder(PricesFile)

const contentOf = (
  file: string | undefined,
  status: ReturnType<typeof lookAt>
): Result.Result<PricesFile, ConfigFileInvalid> =>
  file === undefined ? Result.succeed({}) : readEntries(decode, file, status)

export class Prices extends Context.Service<
  Prices,
  {
    /** Reads the owner's file again if it has changed. With `hasTable`, loads the table. `costOf` has no price of the table before. */
    readonly load: (hasTable: boolean) => Effect.Effect<void>
    readonly costOf: CostOf
  }
>()("corral/edge/runtime/Prices") {
  /** @internal */
  static readonly layer = Layer.effect(
    Prices,
    Effect.suspend(() => make())
  )
}

const make = Effect.fnUntraced(function* () {
  const { pricesFile: file } = yield* EdgeConfig
  let status = file === undefined ? undefined : lookAt(file)
  let ofOwner = yield* Effect.fromResult(contentOf(file, status))
  let calculate: typeof calcPrice | undefined
  const table = yield* Effect.cached(
    Effect.map(
      Effect.promise(() => import("@pydantic/genai-prices")),
      (prices) => void (calculate = prices.calcPrice)
    )
  )
  const readAgain = Effect.suspend(() => {
    if (file === undefined) return Effect.void
    const now = lookAt(file)
    if (fingerprint(now) === fingerprint(status)) return Effect.void
    status = now
    return Result.match(contentOf(file, now), {
      onSuccess: (content) => {
        ofOwner = content
        return Effect.logInfo("reloaded the file of prices", { file })
      },
      onFailure: ({ message }) => Effect.logWarning(`${message} What it said before stays in use.`)
    })
  })
  return Prices.of({
    load: (hasTable) => (hasTable ? Effect.andThen(table, readAgain) : readAgain),
    costOf: (call, createdAt, isOwn) => {
      const price = ownPrice(ofOwner, call.model)
      if (price !== undefined) return price === null ? undefined : ownCost(price, call)
      return isOwn || calculate === undefined ? undefined : tableCost(calculate, call, createdAt)
    }
  })
})
