/**
 * Search for secrets by rules: spans of secrets in a text, and the position of a possible unfinished secret at its end.
 *
 * Guarantees: linear in the text. Every keyword costs one bounded attempt. A rule is compiled when one of its keywords first occurs.
 */
import { KeywordSearch } from "./KeywordSearch.ts"
import type { SecretRule } from "./SecretRule.ts"

const ASCII = 128

/** The first one and the first two characters of keys with a known beginning, regardless of case. */
class KeyBeginnings {
  /** By character code. */
  readonly #first = new Uint8Array(ASCII)
  /** By the codes of two characters. */
  readonly #both = new Uint8Array(ASCII * ASCII)

  /** Keywords are lowercase ASCII of at least two characters. */
  constructor(keywords: ReadonlyArray<string>) {
    for (const keyword of keywords)
      for (const first of casesOf(keyword.charAt(0))) {
        this.#first[first] = 1
        for (const second of casesOf(keyword.charAt(1))) this.#both[first * ASCII + second] = 1
      }
  }

  /** Whether a key can begin with the last one or two characters of a text, which begin at this position. */
  has(text: string, at: number): boolean {
    const first = text.charCodeAt(at)
    if (first >= ASCII) return false
    if (at === text.length - 1) return this.#first[first] === 1
    const second = text.charCodeAt(at + 1)
    return second < ASCII && this.#both[first * ASCII + second] === 1
  }
}

const casesOf = (character: string): ReadonlyArray<number> =>
  [character, character.toUpperCase()].map((each) => each.charCodeAt(0))

export interface Span {
  readonly start: number
  readonly end: number
}

/** Patterns between a name and its secret, as in gitleaks, and after the secret. Gitleaks requires a delimiter after all secrets. */
const ASSIGNMENT = String.raw`(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`
const DELIMITED = String.raw`(?=[\x60'"\s;]|\\[nr]|$)`
const END = String.raw`(?![\w(=+/-])`
const ASSIGNED_TAIL = String.raw`[\w.-]{0,40}${ASSIGNMENT}(?<secret>[^\s'"\x60;]{0,300})$`

/** Characters before and after a keyword that may be in the middle of a match. */
const BEFORE = 300
const AFTER = 700
/** Default distance from the end of the text within which a name can announce a secret. */
const TAIL = 400

const entropyOf = (text: string): number => {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let entropy = 0
  for (const count of counts.values()) entropy -= (count / text.length) * Math.log2(count / text.length)
  return entropy
}

class CompiledRule {
  readonly rule: SecretRule
  readonly pattern: RegExp
  readonly tail: RegExp | undefined
  readonly #allowed: ReadonlyArray<RegExp>
  readonly #allowedMatch: ReadonlyArray<RegExp>
  readonly #stopwords: ReadonlyArray<string>

  constructor(rule: SecretRule) {
    const flags = `d${rule.near === true ? "g" : "y"}${rule.ignoreCase === true ? "i" : ""}`
    const { delimited, name, pattern = "", tail, value } = rule
    const begin = rule.near === true || tail !== undefined || name !== undefined ? "" : "(?<![A-Za-z0-9])"
    this.rule = rule
    this.pattern = new RegExp(
      name === undefined
        ? begin + pattern
        : `(?:${name})${ASSIGNMENT}(?<secret>${value})${delimited === true ? DELIMITED : END}`,
      flags
    )
    const ending = name === undefined ? tail : ASSIGNED_TAIL
    this.tail = ending === undefined ? undefined : new RegExp(ending, "dyi")
    this.#allowed = (rule.allowed ?? []).map((source) => new RegExp(source))
    this.#allowedMatch = (rule.allowedMatch ?? []).map((source) => new RegExp(source))
    this.#stopwords = rule.stopwords?.split(" ") ?? []
  }

  accepts(secret: string, match: string): boolean {
    const { entropy, isSecret } = this.rule
    if (isSecret !== undefined && !isSecret(secret)) return false
    if (entropy !== undefined && entropyOf(secret) < entropy) return false
    if (this.#allowed.some((pattern) => pattern.test(secret))) return false
    if (this.#allowedMatch.some((pattern) => pattern.test(match))) return false
    const lower = secret.toLowerCase()
    return !this.#stopwords.some((word) => lower.includes(word))
  }
}

/** Span of the secret in a match. */
const spanOf = (match: RegExpExecArray, offset: number): Span => {
  const [start, end] = match.indices?.groups?.["secret"] ?? [match.index, match.index + match[0].length]
  // Quotes are not part of a secret.
  const quoted = /^(["']).*\1$/s.test(match.groups?.["secret"] ?? "") ? 1 : 0
  return { start: start + offset + quoted, end: end + offset - quoted }
}

export class SecretFinder {
  readonly #search: KeywordSearch
  /** Indexes of rules, by keyword. */
  readonly #rulesOf: ReadonlyArray<ReadonlyArray<number>>
  readonly #rules: ReadonlyArray<SecretRule>
  readonly #compiled: Array<CompiledRule | undefined> = []
  readonly #placeholders: ReadonlyArray<string>
  #placeholder: RegExp | undefined
  readonly #beginnings: KeyBeginnings

  /** `placeholders` are patterns of text that is never a secret. `others` are further keywords that count as hits. */
  constructor(
    rules: ReadonlyArray<SecretRule>,
    placeholders: ReadonlyArray<string>,
    others: ReadonlyArray<string> = []
  ) {
    const byKeyword = new Map<string, Array<number>>()
    rules.forEach(({ keywords }, index) => {
      for (const keyword of keywords) {
        const indexes = byKeyword.get(keyword)
        if (indexes === undefined) byKeyword.set(keyword, [index])
        else indexes.push(index)
      }
    })
    this.#rules = rules
    this.#placeholders = placeholders
    this.#rulesOf = [...byKeyword.values()]
    this.#search = new KeywordSearch([...byKeyword.keys(), ...others.map((other) => other.toLowerCase())])
    const beginning = rules
      .filter((rule) => isForm(rule) && rule.near !== true)
      .flatMap(({ keywords }) => keywords)
    this.#beginnings = new KeyBeginnings(beginning)
  }

  /** Keywords in a text and a partial keyword at its end, as input of `find` and `unfinished`. Empty for most texts. */
  hits(text: string): ReadonlyArray<number> {
    return this.#search.hits(text)
  }

  /** Spans of the secrets in a text, in any order. Spans may overlap. */
  find(text: string, hits: ReadonlyArray<number>): ReadonlyArray<Span> {
    if (hits.length === 0) return none
    const spans: Array<Span> = []
    const around = new Map<number, Array<{ from: number; to: number }>>()
    /**
     * End of the last match, by rule. An attempt within it would only see the same characters again. It is made within a match that is no
     * secret and whose length is bounded: `token = "password: "…"`.
     */
    const matched = new Map<number, number>()
    for (let hit = 0; hit < hits.length; hit += 2) {
      const at = hits[hit] ?? 0
      for (const index of this.#rulesOf[hits[hit + 1] ?? 0] ?? []) {
        const compiled = this.#compile(index)
        if (compiled.rule.near === true) {
          widen(around, index, at, text.length)
          continue
        }
        if (at < (matched.get(index) ?? 0)) continue
        compiled.pattern.lastIndex = at
        const match = compiled.pattern.exec(text)
        if (match === null) continue
        if (this.#add(spans, compiled, match, 0) || compiled.rule.tail === undefined)
          matched.set(index, at + match[0].length)
      }
    }
    for (const [index, places] of around) {
      const compiled = this.#compile(index)
      for (const { from, to } of places)
        for (const match of text.slice(from, to).matchAll(compiled.pattern))
          this.#add(spans, compiled, match, from)
    }
    return spans
  }

  /**
   * Position of a possible unfinished secret at the end of a text; the length of the text if there is none. `token`: start of the last
   * sequence of key characters.
   */
  unfinished(text: string, token: number, hits: ReadonlyArray<number>): number {
    let place = this.beginning(text)
    for (let hit = 0; hit < hits.length; hit += 2) {
      const at = hits[hit] ?? 0
      const keyword = hits[hit + 1] ?? 0
      for (const index of this.#rulesOf[keyword < 0 ? ~keyword : keyword] ?? [])
        if (at < place) place = Math.min(place, this.#unfinishedOf(index, text, at, token, keyword >= 0))
    }
    return place
  }

  /** The same for one rule and one of its keywords. */
  #unfinishedOf(index: number, text: string, at: number, token: number, isWhole: boolean): number {
    const rule = this.#rules[index]
    const none = text.length
    if (at < Math.min(token, text.length - (rule?.reach ?? TAIL))) return none
    if (rule !== undefined && isForm(rule)) {
      if (at < token) return none
      if (rule.near === true) return isWhole ? token : none
      return at === 0 || !isWord(text.charCodeAt(at - 1)) ? at : none
    }
    const { tail } = this.#compile(index)
    if (!isWhole || tail === undefined) return none
    tail.lastIndex = at
    const match = tail.exec(text)
    return match === null ? none : spanOf(match, 0).start
  }

  /** Position of the last one or two characters if a key can begin with them; else the length of the text. */
  beginning(text: string): number {
    for (let at = Math.max(0, text.length - 2); at < text.length; at++) {
      if (at > 0 && isWord(text.charCodeAt(at)) && isWord(text.charCodeAt(at - 1))) continue
      if (this.#beginnings.has(text, at)) return at
    }
    return text.length
  }

  /** Adds the span of a match that is a secret. Returns whether it is one. */
  #add(spans: Array<Span>, compiled: CompiledRule, match: RegExpExecArray, offset: number): boolean {
    const secret = match.groups?.["secret"] ?? match[0]
    this.#placeholder ??= new RegExp(this.#placeholders.map((source) => `(?:${source})`).join("|"))
    const isSecret = !this.#placeholder.test(secret) && compiled.accepts(secret, match[0])
    if (isSecret) spans.push(spanOf(match, offset))
    return isSecret
  }

  #compile(index: number): CompiledRule {
    const cached = this.#compiled[index]
    if (cached !== undefined) return cached
    const rule = this.#rules[index]
    if (rule === undefined) throw new RangeError("no such rule")
    return (this.#compiled[index] = new CompiledRule(rule))
  }
}

const none: ReadonlyArray<Span> = []

/** Whether the rule matches a key by its format. Other rules match a value after a name. */
const isForm = ({ name, pattern, tail }: SecretRule): boolean =>
  name === undefined && tail === undefined && pattern !== undefined

const isWord = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

/** Adds the surroundings of a keyword. Joins overlapping ones. */
const widen = (
  around: Map<number, Array<{ from: number; to: number }>>,
  index: number,
  at: number,
  length: number
): void => {
  const places = around.get(index) ?? []
  const last = places.at(-1)
  const to = Math.min(length, at + AFTER)
  if (last !== undefined && at - BEFORE <= last.to) last.to = to
  else places.push({ from: Math.max(0, at - BEFORE), to })
  around.set(index, places)
}
