/**
 * Setting of a service: a `Config` that carries the documentation of its environment variables. A secret is in a variable or, preferably, in a file
 * that the variable `…_FILE` names. Also the schemas of settings: each decodes the text of a variable, and its annotation `expected` ends the sentence of an
 * error.
 *
 * Guarantees: an invalid value fails with one sentence that names the variable and never contains the value. An empty variable is not set.
 */
import { Effect, Schema, SchemaGetter, SchemaIssue, Config, Data, Option } from "effect"
import { isIP } from "node:net"
import { resolve, join } from "node:path"
import { readFileSync } from "node:fs"
import { userHome } from "../UserHome.ts"

/** Text that satisfies a condition. */
export const textMatching = (expected: string, isValid: (text: string) => boolean) =>
  Schema.String.check(Schema.makeFilter(isValid, { expected }))

/** Value that a function reads from text. The function returns `undefined` for text that it rejects. */
export const parsedBy = <A>(expected: string, parse: (text: string) => A | undefined) =>
  Schema.String.pipe(
    Schema.decodeTo(
      Schema.declare((value): value is A => value !== undefined, { expected }),
      {
        decode: SchemaGetter.transformEffect((text: string) => {
          const value = parse(text)
          return value === undefined ? Effect.fail(new SchemaIssue.InvalidValue()) : Effect.succeed(value)
        }),
        encode: SchemaGetter.forbidden(() => "A setting is only decoded.")
      }
    )
  )

/** Value that logs and JSON do not show. */
export const redactedSetting = <A>(schema: Schema.Codec<A, string>) =>
  Schema.RedactedFromValue(schema).annotate({ expected: Schema.resolveAnnotations(schema)?.expected })

export const Secret = redactedSetting(Schema.String)

export const oneOf = <const L extends ReadonlyArray<string>>(
  literals: L,
  expected = `${literals.slice(0, -1).join(", ")} or ${literals.at(-1)}`
) => Schema.Literals(literals).annotate({ expected })

/** JSON text. */
export const json = <A, I>(schema: Schema.Codec<A, I>, expected: string) =>
  Schema.fromJsonString(schema).annotate({ expected })

// Blank text would decode to the number 0.
const Numeral = textMatching("a number", (text) => text.trim() !== "")

/** Integer within bounds. */
export const wholeNumber = (minimum: number, maximum: number, expected = `${minimum} to ${maximum}`) =>
  Numeral.pipe(
    Schema.decodeTo(
      Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum, maximum }, { expected }))
    )
  )

export const Port = wholeNumber(0, 65_535, "a port from 0 to 65535")

export const splitList = (text: string, separator: string | RegExp = ","): ReadonlyArray<string> =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "")

/** Items between separators. */
export const list = <A>(item: Schema.Codec<A, string>, expected: string, separator: string | RegExp = ",") =>
  parsedBy("texts", (text) => splitList(text, separator)).pipe(
    Schema.decodeTo(Schema.Array(item).annotate({ expected }))
  )

export const TextList = list(Schema.String, "texts with commas between them")

/** Path, made absolute. */
export const FilePath = parsedBy("a path", (path) => resolve(path))

/** Address to listen on. */
export const ListenHost = textMatching(
  "an IP address or localhost",
  (host) => host === "localhost" || isIP(host) !== 0
)

/** Origin without a path, because a path would be ignored. */
export const Origin = textMatching("an origin such as https://corral.example.com", (text) => {
  const url = URL.parse(text)
  return url?.origin === text && /^https?:$/.test(url.protocol)
})

/** URL of a service: an origin, and a path if the service is below one in another program's server. */
export const ServiceUrl = textMatching("a URL such as https://corral.example.com", (text) => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || /[?#@]/.test(text)) return false
  return text === (url.pathname === "/" ? url.origin : url.href) && !text.endsWith("/")
})

export const DatabaseUrl = redactedSetting(
  textMatching("postgres://user:password@host/database", (text) => /^postgres(ql)?:\/\/[^\s]+$/.test(text))
)

/** Address at which people report something: mail or a page. */
export const ContactAddress = textMatching(
  "a mailto: or https: address",
  (text) =>
    text.length <= 500 &&
    (text.startsWith("https://") || (text.startsWith("mailto:") && text.includes("@"))) &&
    /^[\x21-\x7e]+$/.test(text) &&
    URL.parse(text)?.username === "" &&
    URL.parse(text)?.password === ""
)

/** Bearer token. */
export const BearerToken = redactedSetting(
  textMatching("32 characters or more, without spaces in them", (text) => /^[\x21-\x7e]{32,1024}$/.test(text))
)

export type Environment = Readonly<Record<string, string | undefined>>

export class SettingInvalid extends Data.TaggedError("SettingInvalid")<{ readonly message: string }> {}

/** Documentation of an environment variable. */
interface Variable {
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
const settingError = (name: string, expected: string): Config.ConfigError => {
  const message = `${name} is not usable: expected ${expected}.`
  return new Config.ConfigError(new Schema.SchemaError(new SchemaIssue.InvalidValue({ message })))
}

export const invalidSetting = (name: string, expected: string): Effect.Effect<never, Config.ConfigError> =>
  Effect.fail(settingError(name, expected))

/** Attaches the variables to a new `Config`. */
const withVariables = <A>(config: Config.Config<A>, ...variables: ReadonlyArray<Variable>): Setting<A> =>
  Object.assign(config, { variables })

/** Decodes the text of a variable. The schema's annotation `expected` ends the sentence of the error. */
const decodeText = <A>(name: string, schema: Schema.Codec<A, string>) => {
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
