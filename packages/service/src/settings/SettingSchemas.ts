/** Schemas of settings: each decodes the text of a variable, and its annotation `expected` ends the sentence of an error. */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"
import { isIP } from "node:net"
import { resolve } from "node:path"

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
