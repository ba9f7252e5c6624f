/**
 * Settings as environment variables: how one is documented and read. A value that does not fit stops the start with one sentence that
 * names its variable and never its value.
 */
import { Data, Effect, Option, Schema } from "effect"

export class SettingInvalid extends Data.TaggedError("SettingInvalid")<{ readonly message: string }> {}

export interface Setting {
  readonly name: string
  readonly what: string
  /** As text, for the documentation. */
  readonly fallback: string
}

export type Environment = Readonly<Record<string, string | undefined>>

/** A variable that is set to nothing is not set. */
export const valueOr = <A>(text: string | undefined, fallback: A): string | A =>
  text === undefined || text === "" ? fallback : text

/** What stands between commas. */
export const splitList = (text: string | undefined): ReadonlyArray<string> =>
  valueOr(text, "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")

/** Digits within bounds. */
export const wholeNumber = (minimum: number, maximum: number) =>
  Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum, maximum }))

/** A name with a slip of the pen would mean something else than was meant. */
const strict = { onExcessProperty: "error" } as const

export const invalidSetting = (name: string, expected: string): SettingInvalid =>
  new SettingInvalid({ message: `${name} is not usable: expected ${expected}.` })

/** Reads one variable after the other; `expected` completes the sentence "… is not usable: expected …". */
export const settingReader =
  <Name extends string>(env: Environment) =>
  <A, B = A>(
    name: Name,
    schema: Schema.Codec<A, string>,
    fallback: B,
    expected: string
  ): Effect.Effect<A | B, SettingInvalid> => {
    const text = valueOr(env[name], undefined)
    if (text === undefined) return Effect.succeed(fallback)
    // A space would be read as the number 0.
    const value = text.trim() === "" ? Option.none<A>() : Schema.decodeOption(schema, strict)(text)
    return Effect.fromOption(value).pipe(Effect.mapError(() => invalidSetting(name, expected)))
  }
