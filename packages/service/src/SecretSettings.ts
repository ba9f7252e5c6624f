/** Settings that stand in files: secrets in a variable or, better, in a file that another one names. */
import { Effect, Redacted } from "effect"
import { readFileSync } from "node:fs"
import { type Environment, valueOr, invalidSetting, type SettingInvalid } from "./Settings.ts"

/** The text of the file that a variable names. */
export const fileAt = (env: Environment, name: string): Effect.Effect<string | undefined, SettingInvalid> => {
  const path = valueOr(env[name], undefined)
  return path === undefined
    ? Effect.undefined
    : Effect.try({
        try: () => readFileSync(path, "utf8"),
        catch: () => invalidSetting(name, "a file that can be read")
      })
}

/** The secret in the variable, or in the file that `<name>_FILE` names; never both. */
export const secretOf = Effect.fnUntraced(function* (
  env: Environment,
  name: string
): Effect.fn.Return<Redacted.Redacted | undefined, SettingInvalid> {
  const inFile = `${name}_FILE`
  const given = valueOr(env[name], undefined)
  const file = yield* fileAt(env, inFile)
  if (given !== undefined && file !== undefined) return yield* invalidSetting(inFile, `no ${name} beside it`)
  const secret = given ?? file?.trim()
  if (secret === "") return yield* invalidSetting(inFile, "a file with a secret in it")
  return secret === undefined ? undefined : Redacted.make(secret)
})

/** What `secretOf` reads, to be documented: the variable, and the one that names a file. */
export const secretSettings = <const Name extends string>(name: Name, what: string) =>
  [
    { name, what: `${what} \`${name}_FILE\` keeps it out of the environment.`, fallback: "" },
    { name: `${name}_FILE`, what: "A file with it.", fallback: "" }
  ] as const
