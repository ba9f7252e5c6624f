/** Settings in files, and secrets: in a variable or, preferably, in a file that the variable `…_FILE` names. */
import { Config, Effect, Option, type Schema } from "effect"
import { readFileSync } from "node:fs"
import { decodeText, invalidSetting, type Setting, settingError, withVariables } from "./Setting.ts"

const fileText = (name: string): Config.Config<string> =>
  Config.String(name).pipe(
    Config.mapEffect((path) =>
      Effect.try({
        try: () => readFileSync(path, "utf8"),
        catch: () => settingError(name, "a file that can be read")
      })
    )
  )

interface FileSettingOptions<A> {
  readonly name: string
  readonly doc: string
  readonly schema: Schema.Codec<A, string>
}

/** Content of the file that a variable names. */
export const fileSetting = <A>({ name, doc, schema }: FileSettingOptions<A>): Setting<A | undefined> =>
  withVariables(
    fileText(name).pipe(Config.mapEffect(decodeText(name, schema)), Config.withDefault(undefined)),
    { name, doc, default: "" }
  )

/** Secret in a variable, or in the file that `<name>_FILE` names. Both together are an error. */
export const secretSetting = <A>(
  name: string,
  doc: string,
  schema: Schema.Codec<A, string>
): Setting<A | undefined> => {
  const inFile = `${name}_FILE`
  const decode = decodeText(name, schema)
  const config = Config.all([Config.option(Config.String(name)), Config.option(fileText(inFile))]).pipe(
    Config.mapEffect(
      Effect.fnUntraced(function* ([text, content]) {
        if (Option.isNone(content)) return Option.isNone(text) ? undefined : yield* decode(text.value)
        if (Option.isSome(text)) return yield* invalidSetting(inFile, `no ${name} beside it`)
        const secret = content.value.trim()
        if (secret === "") return yield* invalidSetting(inFile, "a file with a secret in it")
        return yield* decode(secret)
      })
    )
  )
  return withVariables(
    config,
    { name, doc: `${doc} \`${inFile}\` keeps it out of the environment.`, default: "" },
    { name: inFile, doc: `File that contains \`${name}\`.`, default: "" }
  )
}
