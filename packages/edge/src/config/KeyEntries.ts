/**
 * Names of environment variables that settings may name, and the adapters whose runs have placeholders instead of the keys of model
 * services (ADR 66).
 */
import { capped } from "@corral/domain/text/CappedPattern"
import { Schema } from "effect"

/** A variable that may be set or passed for a run: none of Corral's own, and none by which a loader loads something else. */
export const EnvName = Schema.String.check(
  Schema.isPattern(capped(256, /^(?!CORRAL_|PATH$|LD_|DYLD_|NODE_OPTIONS$)[A-Za-z_][A-Za-z0-9_]*$/), {
    expected: "the name of a variable, none of Corral's own or the loader's"
  })
)

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
