/**
 * Setting of a service: a `Config` that carries the documentation of its environment variables.
 *
 * Guarantees: an invalid value fails with one sentence that names the variable and never contains the value. An empty variable is not set.
 */
import { userHome } from "../UserHome.ts"
import { Config, Data, Effect, Option, Schema, SchemaIssue } from "effect"
import { join } from "node:path"
import { FilePath } from "./SettingSchemas.ts"

export type Environment = Readonly<Record<string, string | undefined>>

export class SettingInvalid extends Data.TaggedError("SettingInvalid")<{ readonly message: string }> {}

/** Documentation of an environment variable. */
export interface Variable {
  readonly name: string
  readonly doc: string
  /** Default as documented; empty without one. */
  readonly default: string
}

/** A `Config` with the variables that it reads. */
export interface Setting<out A> extends Config.Config<A> {
  readonly variables: ReadonlyArray<Variable>
}

export interface SettingTable {
  readonly [field: string]: Setting<unknown> | SettingTable
}

/** Variables of a table, in its order. */
export const variablesOf = (table: SettingTable): ReadonlyArray<Variable> =>
  Object.values(table).flatMap((entry) => (Config.isConfig(entry) ? entry.variables : variablesOf(entry)))

/** Error of the variable with this name. `expected` ends its sentence. */
export const settingError = (name: string, expected: string): Config.ConfigError => {
  const message = `${name} is not usable: expected ${expected}.`
  return new Config.ConfigError(new Schema.SchemaError(new SchemaIssue.InvalidValue({ message })))
}

export const invalidSetting = (name: string, expected: string): Effect.Effect<never, Config.ConfigError> =>
  Effect.fail(settingError(name, expected))

/** Attaches the variables to a new `Config`. */
export const withVariables = <A>(
  config: Config.Config<A>,
  ...variables: ReadonlyArray<Variable>
): Setting<A> => Object.assign(config, { variables })

/** Decodes the text of a variable. The schema's annotation `expected` ends the sentence of the error. */
export const decodeText = <A>(name: string, schema: Schema.Codec<A, string>) => {
  const { expected = "text" } = Schema.resolveAnnotations(schema) ?? {}
  // A misspelled optional field would be ignored.
  const decode = Schema.decodeEffect(schema, { onExcessProperty: "error" })
  return (text: string): Effect.Effect<A, Config.ConfigError> =>
    Effect.mapError(decode(text), () => settingError(name, expected))
}

interface SettingOptions<A> {
  readonly name: string
  readonly doc: string
  readonly schema: Schema.Codec<A, string>
  /** Documented default, where it is not the value itself. */
  readonly shownDefault?: string
}

/** Setting with a default, which is also the documented one unless `shownDefault` replaces it. */
export const setting = <A, const D>({
  name,
  doc,
  schema,
  default: value,
  shownDefault = typeof value === "string" ? value : (JSON.stringify(value) ?? "")
}: SettingOptions<A> & { readonly default: D }): Setting<A | D> =>
  withVariables(
    Config.String(name).pipe(Config.mapEffect(decodeText(name, schema)), Config.withDefault(value)),
    { name, doc, default: shownDefault }
  )

/** Setting that is `undefined` by default. */
export const optionalSetting = <A>(options: SettingOptions<A>): Setting<A | undefined> =>
  setting({ ...options, default: undefined })

/** Setting that switches a group on: without it, the group is absent. */
export const switchSetting = <A>({ name, doc, schema }: SettingOptions<A>): Setting<A> =>
  withVariables(Config.mapEffect(Config.String(name), decodeText(name, schema)), {
    name,
    doc,
    default: ""
  })

/** Group of settings; `undefined` without its switch. Then no other variable of the table may be set. */
export const settingGroup = <A>(
  table: SettingTable,
  config: Config.Config<A>,
  missing: { readonly name: string; readonly expected: string }
): Config.Config<A | undefined> => {
  const setVariables = variablesOf(table).map(({ name }) =>
    Config.option(Config.map(Config.String(name), () => name))
  )
  return Config.all([Config.option(config), Config.all(setVariables)]).pipe(
    Config.mapEffect(([group, names]) => {
      const other = Option.firstSomeOf(names)
      return Option.isSome(group) || Option.isNone(other)
        ? Effect.succeed(Option.getOrUndefined(group))
        : invalidSetting(missing.name, `${missing.expected}, because ${other.value} is set`)
    })
  )
}

/** Folder of Corral's files, the same for all services of a machine. */
export const homeSetting = setting({
  name: "CORRAL_HOME",
  doc: "Folder of Corral's files.",
  schema: FilePath,
  default: join(userHome(), ".corral"),
  shownDefault: "~/.corral"
})
