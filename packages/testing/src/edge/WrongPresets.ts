/**
 * Presets that no Edge takes: a good entry with one wrong field. For tests that compare what the configuration file, the Edge's API, the Hub's API
 * and the command line say about them.
 */
import type { PresetKind, PresetSettings } from "@corral/domain/run/Preset"
import * as fc from "fast-check"

export interface WrongPreset {
  readonly id: string
  readonly kind: PresetKind
  readonly settings: PresetSettings
}

const names = fc.stringMatching(/^[a-z]{3,12}$/)
const wrongText = fc.oneof(
  fc.integer(),
  fc.boolean(),
  fc.constant(""),
  fc.array(fc.string(), { maxLength: 2 }),
  fc.constant({})
)
const wrongIds = fc.oneof(
  fc.constantFrom("", "a b", "-x", "é", "x/y", "scripted", "claude-code", "aider", "goose"),
  fc.string({ minLength: 129, maxLength: 140, unit: fc.constantFrom("a", "b") })
)
const wrongVariables = fc.constantFrom("CORRAL_HOME", "LD_PRELOAD", "PATH", "NODE_OPTIONS", "A-B", "", "A*")

const profile = fc.record({
  label: names,
  adapter: fc.constant("scripted"),
  mode: fc.constantFrom("read_only", "plan", "ask", "auto_edit")
})
const runner = fc.record({
  label: names,
  command: fc.constant(["tool", "{prompt}"]),
  runtime: fc.constant("text")
})

const field = (name: string, values: fc.Arbitrary<unknown>) => values.map((value) => ({ [name]: value }))
const unknownField = names
  .filter((name) => !["label", "mode", "model", "env", "map", "stdin"].includes(name))
  .map((name) => ({ [`${name}_x`]: 1 }))

const wrongInProfile = fc.oneof(
  field("label", wrongText),
  field("label", fc.constant("x".repeat(101))),
  field(
    "adapter",
    fc.oneof(
      wrongText,
      names.map((name) => `${name}-none`)
    )
  ),
  field("mode", fc.oneof(wrongText, names)),
  field("model", fc.oneof(wrongText, fc.constant("m".repeat(257)))),
  unknownField
)

/** Fields that a Hub may not set. */
const wrongOnDevice = fc.oneof(
  field("program", fc.constantFrom("./tool", "", "a/b", "a\0b")),
  field("env", fc.array(wrongVariables, { minLength: 1, maxLength: 2 })),
  field(
    "grants",
    fc.constantFrom(["root"], [{ action: "shell", command: ["sudo", "ls"] }], [{ action: "shell" }], "all")
  )
)

const wrongInRunner = fc.oneof(
  field("command", fc.constantFrom([], ["./tool", "{prompt}"], ["tool"], "tool", [1])),
  field("runtime", fc.constantFrom("json-lines", "sh", "", "scripted")),
  field("stdin", fc.oneof(wrongText, names)),
  field("map", fc.constantFrom({ type: "kind" }, { type: "a..b" }, {}, 1)),
  field("env", fc.array(wrongVariables, { minLength: 1, maxLength: 2 })),
  field("label", wrongText),
  unknownField
)

const without = <A extends object>(settings: fc.Arbitrary<A>, required: ReadonlyArray<string>) =>
  fc
    .tuple(settings, fc.constantFrom(...required))
    .map(([all, name]) => Object.fromEntries(Object.entries(all).filter(([key]) => key !== name)))

const withWrong = (settings: fc.Arbitrary<object>, wrong: fc.Arbitrary<object>) =>
  fc.tuple(settings, wrong).map(([good, bad]) => ({ ...good, ...bad }))

/** Wrong profiles of the fields that a Hub may set. */
export const wrongProfiles: fc.Arbitrary<WrongPreset> = fc.oneof(
  fc.record({
    id: names,
    kind: fc.constant("profile" as const),
    settings: fc.oneof(withWrong(profile, wrongInProfile), without(profile, ["label", "adapter"]))
  }),
  fc.record({ id: wrongIds, kind: fc.constant("profile" as const), settings: profile })
)

/** Wrong presets of every kind. */
export const wrongPresets: fc.Arbitrary<WrongPreset> = fc.oneof(
  wrongProfiles,
  fc.record({
    id: names,
    kind: fc.constant("profile" as const),
    settings: withWrong(profile, wrongOnDevice)
  }),
  fc.record({
    id: names,
    kind: fc.constant("runner" as const),
    settings: fc.oneof(withWrong(runner, wrongInRunner), without(runner, ["label", "command", "runtime"]))
  })
)

/** A configuration file with that entry alone. */
export const fileWith = ({ id, kind, settings }: WrongPreset): object => ({
  [`${kind}s`]: [{ ...settings, id }]
})

/** The paths and sentences of a request as the configuration file says them about its entry: the first, and the number of others. */
export const fileSentence = (
  { kind }: Pick<WrongPreset, "kind">,
  issues: ReadonlyArray<{ readonly path: string; readonly message: string }>
): string => {
  const [first = { path: "", message: "" }, ...more] = issues
  const path = first.path.replace(/^settings\.?/, "")
  const text = `${[`${kind}s.0`, path].filter((part) => part !== "").join(".")}: ${first.message}`
  return more.length === 0 ? `${text}.` : `${text} (and ${more.length} more).`
}
