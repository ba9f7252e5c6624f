/**
 * Converts the rules of gitleaks into data for `Redaction`: `node scripts/gitleaks.ts <gitleaks.toml> <commit>`.
 *
 * gitleaks' patterns are written for RE2. Here they become JavaScript patterns without flags, so that they run on every supported Node:
 * case-insensitive parts are spelled out. Rules that only look at file names are left out, as are those that need more than a few lines
 * of context (`OwnRules` covers what they look for).
 */
import { readFileSync, writeFileSync } from "node:fs"
import { parse } from "smol-toml"

interface Allowlist {
  readonly regexes?: ReadonlyArray<string>
  readonly stopwords?: ReadonlyArray<string>
  readonly regexTarget?: string
  readonly condition?: string
}
interface TomlRule {
  readonly id: string
  readonly regex?: string
  readonly keywords?: ReadonlyArray<string>
  readonly entropy?: number
  readonly allowlists?: ReadonlyArray<Allowlist>
}
interface Toml {
  readonly allowlist: Allowlist
  readonly rules: ReadonlyArray<TomlRule>
}

/**
 * The first three read several lines at once, which is not linear in JavaScript; the next four are found by `ownRules`, in more forms; the last one
 * is about file names.
 */
const leftOut = new Set([
  "curl-auth-header",
  "curl-auth-user",
  "kubernetes-secret-yaml",
  "private-key",
  "jwt",
  "microsoft-teams-webhook",
  "slack-webhook-url",
  "pkcs12-file"
])

/** Rules whose keyword may stand elsewhere in the match, or only near it. All others begin with a keyword. */
const near = new Set([
  "airtable-personnal-access-token",
  "azure-ad-client-secret",
  "cloudflare-origin-ca-key",
  "facebook-access-token",
  "freemius-secret-key",
  "hashicorp-tf-api-token",
  "intra42-client-secret",
  "maxmind-license-key",
  "openai-api-key",
  "sidekiq-sensitive-url",
  "sourcegraph-access-token"
])
const newRelic = ["new-relic", "newrelic", "new_relic"]
/** Where gitleaks' keywords are too short for the search, or stand in the secret that follows a name. */
const keywordsOf: Readonly<Record<string, ReadonlyArray<string>>> = {
  "azure-ad-client-secret": Array.from("0123456789", (digit) => `${digit}q~`),
  "twilio-api-key": Array.from("0123456789abcdef", (digit) => `sk${digit}`),
  "vault-service-token": ["hvs."],
  "lob-api-key": ["lob"],
  "lob-pub-api-key": ["lob"],
  "new-relic-browser-api-token": newRelic,
  "new-relic-insert-key": newRelic,
  "new-relic-user-api-id": newRelic,
  "new-relic-user-api-key": newRelic,
  "typeform-api-token": ["typeform"]
}
/** Patterns that would look through a whole line, and one that begins with a single letter: too little to search for. */
const capped = (source: string): string =>
  source.replace(".{8,}", ".{8,256}").replace(String.raw`|s\.(?i:[a-z0-9]{24})`, "")

/** What may stand before a name. */
const names = /^(?:\(\?i\))?(?:\[\\w\.-\]\{0,50\}\?)?(?:\(\?i:)?(?:\[\\w\.-\]\{0,50\}\?)?/
const classes: Readonly<Record<string, string>> = { alnum: "A-Za-z0-9", alpha: "A-Za-z", digit: "0-9" }
const isLetter = (text: string): boolean => /^[A-Za-z]$/.test(text)
const bothCases = (letter: string): string => letter.toLowerCase() + letter.toUpperCase()

const swapped = (text: string): string =>
  text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase()

/** A character class with both cases of its letters. */
const classWithBothCases = (inner: string): string =>
  [
    ...new Set(
      (inner.match(/\\.|[A-Za-z]-[A-Za-z]|[0-9]-[0-9]|./gs) ?? []).flatMap((part) =>
        /^[A-Za-z]/.test(part) ? [part, swapped(part)] : [part]
      )
    )
  ].join("")

/** RE2 to JavaScript, without flags. The first group that captures is named `secret` where the rule says so; no other captures. */
class Converter {
  readonly #source: string
  #at = 0
  #capture: string

  constructor(source: string, captures: boolean) {
    this.#source = source
    this.#capture = captures ? "(?<secret>" : "(?:"
  }

  convert(): string {
    const converted = this.#group(false)
    if (this.#at < this.#source.length) throw new Error(`unbalanced: ${this.#source}`)
    return converted
  }

  /** Up to the end of the group that is open. */
  #group(ignoreCase: boolean): string {
    let ignore = ignoreCase
    let out = ""
    while (this.#at < this.#source.length && this.#source[this.#at] !== ")") {
      const rest = this.#source.slice(this.#at)
      const flags = /^\(\?(-?)i\)/.exec(rest)
      const scoped = /^\(\?(-?)([is]):/.exec(rest)
      const named = /^\(\?P<\w+>/.exec(rest)
      const posix = /^\\z/.exec(rest)
      if (flags !== null) {
        ignore = flags[1] === ""
        this.#at += flags[0].length
      } else if (scoped !== null) {
        this.#at += scoped[0].length
        out +=
          scoped[2] === "s"
            ? this.#closed("(?:", ignore).replaceAll(".", String.raw`[\s\S]`)
            : this.#closed("(?:", scoped[1] === "")
      } else if (named !== null) {
        this.#at += named[0].length
        out += this.#closed("(?:", ignore)
      } else if (posix !== null) {
        this.#at += 2
        out += "$"
      } else if (rest.startsWith("(?:")) {
        this.#at += 3
        out += this.#closed("(?:", ignore)
      } else if (rest.startsWith("(")) {
        this.#at += 1
        const open = this.#capture
        this.#capture = "(?:"
        out += this.#closed(open, ignore)
      } else if (rest.startsWith("[")) out += this.#class(ignore)
      else if (rest.startsWith("\\")) {
        out += rest.startsWith(String.raw`\x60`) ? "`" : rest.slice(0, 2)
        this.#at += rest.startsWith(String.raw`\x60`) ? 4 : 2
      } else {
        const character = rest.charAt(0)
        // A repetition such as {3,20} has no letters.
        out +=
          ignore && isLetter(character)
            ? `[${bothCases(character)}]`
            : character === "/"
              ? String.raw`\/`
              : character
        this.#at++
      }
    }
    return out
  }

  #closed(open: string, ignore: boolean): string {
    const inner = this.#group(ignore)
    if (this.#source[this.#at] !== ")") throw new Error(`open group: ${this.#source}`)
    this.#at++
    return `${open}${inner})`
  }

  #class(ignore: boolean): string {
    let inner = ""
    let at = this.#at + 1
    for (; this.#source[at] !== "]" || inner === "" || inner === "^"; at++) {
      const posix = /^\[:(\w+):\]/.exec(this.#source.slice(at))
      if (posix !== null) {
        inner += classes[posix[1] ?? ""] ?? ""
        at += posix[0].length - 1
      } else if (this.#source[at] === "\\") {
        inner += this.#source.startsWith(String.raw`\x60`, at) ? "`" : this.#source.slice(at, at + 2)
        at += this.#source.startsWith(String.raw`\x60`, at) ? 3 : 1
      } else inner += this.#source.charAt(at) === "[" ? String.raw`\[` : this.#source.charAt(at)
    }
    this.#at = at + 1
    return `[${ignore ? classWithBothCases(inner) : inner}]`
  }
}

const converted = (source: string, captures = false): string => {
  const { source: pattern } = new RegExp(new Converter(source, captures).convert())
  return pattern
}

const operator = String.raw`)(?:[ \t\w.-]{0,20})[\s'"]{0,3}`
const equals = String.raw`(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(`
const end = String.raw`)(?:[\x60'"\s;]|\\[nr]|$)`

/** A pattern without flags; those that ignore the case throughout say so instead. */
const flagged = (source: string, captures: boolean) => {
  const body = source.replace(/^\(\?i\)/, "")
  return body === source || /\(\?-?i/.test(body)
    ? { pattern: converted(source, captures) }
    : { pattern: converted(body, captures), ignoreCase: true as const }
}

/** A rule whose secret follows a name and an operator, cut into both. The others know their secret by its form. */
const assigned = (regex: string) => {
  const [before = "", secret] = regex.split(equals)
  if (secret === undefined || !secret.endsWith(end)) return undefined
  const scoped = before.includes("(?i:")
  const open = before.slice(0, before.lastIndexOf(operator)).replace(names, "")
  const name = open.replace(/^\(\?:/, "")
  const caseOf = scoped || regex.startsWith("(?i)") ? "(?i)" : ""
  const { pattern, ...caseOfName } = flagged(caseOf + name, false)
  const value = converted((scoped ? "" : caseOf) + secret.slice(0, -end.length))
  return { name: pattern, ...caseOfName, value }
}

/** One rule for each alternative of a pattern that has an end for each. */
const alternatives = (rule: TomlRule): ReadonlyArray<TomlRule> => {
  const parts = (rule.regex ?? "").split(`${end}|`)
  return parts.map((part, i) => ({ ...rule, regex: i < parts.length - 1 ? part + end : part }))
}

const ruleOf = ({ allowlists = [], entropy, id, keywords = [], regex = "" }: TomlRule) => {
  const ofSecret = allowlists.filter((list) => list.regexTarget === undefined && list.condition === undefined)
  const ofMatch = allowlists.filter(({ regexTarget }) => regexTarget === "match")
  const allowed = ofSecret.flatMap(({ regexes = [] }) => regexes.map((regex) => converted(regex)))
  const allowedMatch = ofMatch.flatMap(({ regexes = [] }) => regexes.map((regex) => converted(regex)))
  const stopwords = allowlists.flatMap(({ stopwords: words = [] }) => words)
  const found = keywordsOf[id] ?? keywords
  if (found.some(({ length }) => length < 3)) throw new Error(`${id} has a short keyword: ${found.join(" ")}`)
  const { name } = assigned(regex) ?? {}
  const begins = name === undefined ? undefined : new RegExp(`^(?:${name})`, "i")
  const atStart =
    begins && found.filter((word) => ["", "_api_key", "login"].some((more) => begins.test(word + more)))
  if (atStart?.length === 0) throw new Error(`no keyword of ${id} begins its name`)
  return {
    id,
    keywords: atStart ?? found,
    ...(assigned(regex) ?? flagged(capped(regex), true)),
    ...(near.has(id) ? { near: true as const } : {}),
    ...(id === "generic-api-key" ? { delimited: true as const } : {}),
    ...(entropy === undefined ? {} : { entropy }),
    ...(allowed.length === 0 ? {} : { allowed }),
    ...(allowedMatch.length === 0 ? {} : { allowedMatch }),
    ...(stopwords.length === 0 ? {} : { stopwords: stopwords.join(" ") })
  }
}

const [file = "", commit = ""] = process.argv.slice(2)
// The shape of gitleaks' own configuration file.
const toml = parse(readFileSync(file, "utf8")) as unknown as Toml
const rules = toml.rules
  .filter(({ id, regex }) => regex !== undefined && !leftOut.has(id))
  .flatMap(alternatives)
  .map(ruleOf)
const allowed = (toml.allowlist.regexes ?? []).map((regex) =>
  converted(regex.replace("^true|false|null$", "^(?:true|false|null)$"))
)
const header = `/**
 * Rules of gitleaks, converted by \`scripts/gitleaks.ts\` from its configuration at commit ${commit}.
 * Copyright (c) 2019 Zachary Rice, MIT licence: see \`gitleaks.LICENSE\` in this folder. Generated: do not edit.
 */
import type { SecretRule } from "./SecretRule.ts"

/** Secrets that are none: placeholders, variables, paths. */
export const placeholders = (): ReadonlyArray<string> => ${JSON.stringify(allowed, undefined, 2)}

/** A function, so that a service that starts does not build them. */
export const gitleaksRules = (): ReadonlyArray<SecretRule> => ${JSON.stringify(rules, undefined, 2)}
`
writeFileSync(new URL("../packages/redaction/src/gitleaksRules.ts", import.meta.url), header)
console.log(`${rules.length} rules`)
