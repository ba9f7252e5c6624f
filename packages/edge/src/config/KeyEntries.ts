/** Adapters whose runs have placeholders instead of the keys of model services (ADR 66). */
import { Schema } from "effect"
import { EnvName } from "./EnvName.ts"

/** An address of a service, without a path: `https://models.example.com:8443`. */
const ServiceAddress = Schema.String.check(
  Schema.makeFilter(
    (text) => {
      if (!URL.canParse(text)) return false
      const { hash, password, protocol, search, username } = new URL(text)
      return (
        ["http:", "https:"].includes(protocol) &&
        [hash, password, search, username].every((part) => part === "")
      )
    },
    { expected: "an address with http or https, without a sign-in or a query" }
  )
)

/**
 * `addresses`: services of a variable's key. They replace those that the adapter declares. `setting`: `required` refuses a run that would have
 * the key, `preferred` starts it with the key.
 */
export const KeyEntry = Schema.Struct({
  adapter: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(128)),
  setting: Schema.optional(Schema.Literals(["required", "preferred"])),
  addresses: Schema.optional(Schema.Record(EnvName, Schema.NonEmptyArray(ServiceAddress)))
})
export type KeyEntry = typeof KeyEntry.Type

export const KeyEntries = Schema.Array(KeyEntry).check(
  Schema.makeFilter((entries) => new Set(entries.map(({ adapter }) => adapter)).size === entries.length)
)
