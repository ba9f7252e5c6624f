/** Every rule, with secrets made from its own pattern: in the places where people and programs write them. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Redaction } from "../src/Redaction.ts"
import { gitleaksRules, placeholders } from "../src/gitleaksRules.ts"
import { ownRules } from "../src/ownRules.ts"
import type { SecretRule } from "../src/SecretRule.ts"
import { effort } from "@corral/testing/time/Effort"

const redaction = new Redaction()
const never = new RegExp(
  placeholders()
    .map((source) => `(?:${source})`)
    .join("|")
)

const entropyOf = (text: string): number =>
  [...new Set(text)].reduce((sum, character) => {
    const share = text.split(character).length - 1
    return sum - (share / text.length) * Math.log2(share / text.length)
  }, 0)

/** Strings of a pattern without what only looks around. */
const stringsOf = (source: string): fc.Arbitrary<string> =>
  fc.noBias(
    fc.stringMatching(
      new RegExp(
        `^(?:${source
          .replaceAll(String.raw`\b`, "")
          .replaceAll("(?<secret>", "(?:")
          // Of such a class every second character would be punctuation.
          .replaceAll(String.raw`[\w=\-]`, String.raw`\w`)
          .replaceAll(String.raw`(?:[^\w-]|$)`, "")
          .replaceAll(/\(\?<?[!=](?:[^()\\]|\\.|\([^()]*\))*\)/g, "")
          .replaceAll(/\(\?:\[`'"\\s;\]\|\\\\\[nN?rR?\]\|\$(?:\|)?\)/g, "")
          .replaceAll(String.raw`(?:^|[\\'"${"`"}\s>=:(,)])`, "")
          .replaceAll(String.raw`(?:$|[\\'"${"`"}\s<),])`, "")})$`
      )
    )
  )

/** Texts that hold a secret of the rule, with the secret. */
const samples = (rule: SecretRule): fc.Arbitrary<string> =>
  rule.name === undefined ? stringsOf(rule.pattern ?? "") : stringsOf(rule.value ?? "")

const harmless = (rule: SecretRule, secret: string): boolean =>
  never.test(secret) ||
  (rule.entropy !== undefined && entropyOf(secret) < rule.entropy) ||
  (rule.isSecret !== undefined && !rule.isSecret(secret)) ||
  (rule.allowed ?? []).some((source) => new RegExp(source).test(secret)) ||
  (rule.stopwords ?? "").split(" ").some((word) => word !== "" && secret.toLowerCase().includes(word))

/** Around a secret known by its form. */
const around: ReadonlyArray<readonly [before: string, after: string]> = [
  ["", ""],
  ["use ", " for this"],
  ['{"value":"', '"}'],
  ["KEY=", "\n"],
  ["+ ", "\r\n"],
  ["'", "'"]
]
/** Between a name and a secret. */
const operators = ["=", ": ", ' = "', '": "', " => '", " := "]

describe("a secret of each rule is taken out", () => {
  const withNames = gitleaksRules().filter(({ name }) => name !== undefined)
  it.each(withNames.map((rule) => [rule.id, rule] as const))("%s", (_, rule) => {
    const isName = new RegExp(`^(?:${rule.name})`, rule.ignoreCase === true ? "i" : "")
    const names = rule.keywords.flatMap((word) => [
      word,
      word.toUpperCase(),
      `${word}_api_key`,
      `${word}_login`
    ])
    fc.assert(
      fc.property(
        samples(rule),
        fc.constantFrom(...names.filter((name) => isName.test(name))),
        fc.constantFrom("", "_key", ".token", "-Secret "),
        fc.constantFrom(...operators),
        (secret, name, more, operator) => {
          fc.pre(!harmless(rule, secret))
          const quote = operator.at(-1) === '"' || operator.at(-1) === "'" ? operator.at(-1) : ""
          const shown = redaction.text(`${name}${more}${operator}${secret}${quote}\n`)
          assert.notInclude(shown, secret)
          assert.include(shown, "[redacted]")
        }
      ),
      { numRuns: 8 * effort, maxSkipsPerRun: 1_000 }
    )
  })

  // Signed tokens have three parts: few strings of the pattern do.
  const forms = [...gitleaksRules(), ...ownRules].filter(
    ({ id, name, tail }) => name === undefined && tail === undefined && id !== "eyJ"
  )
  it.each(forms.map((rule) => [rule.id, rule] as const))("%s", (_, rule) => {
    fc.assert(
      fc.property(samples(rule), fc.constantFrom(...around), (secret, [before, after]) => {
        fc.pre(!harmless(rule, secret))
        fc.pre(rule.near === true || rule.keywords.some((word) => secret.toLowerCase().startsWith(word)))
        // A rule that is about a word near the secret wants that word.
        const word = rule.near === true ? `${rule.keywords[0]} ` : ""
        const shown = redaction.text(word + before + secret + after)
        assert.notInclude(shown, secret)
        assert.include(shown, "[redacted]")
      }),
      { numRuns: 8 * effort, maxSkipsPerRun: 1_000 }
    )
  })
})
