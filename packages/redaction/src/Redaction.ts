/**
 * Redaction of secrets in text: keys with a known format, values with a secret name, and known secret values.
 *
 * Guarantees: pure and linear in the text. The rules are those of gitleaks (`gitleaksRules`) and our own (`ownRules`).
 * Does not: find secrets that are encoded (base64, percent, hex), split over lines (except private keys), attached to a preceding word, or in
 * a format without a rule.
 */
import { gitleaksRules, placeholders } from "./gitleaksRules.ts"
import { ownRules } from "./ownRules.ts"
import { SecretFinder, type Span } from "./SecretFinder.ts"

/** Text that replaces a secret. */
export const REDACTED = "[redacted]"

let sharedFinder: SecretFinder | undefined
/** Created for the first text, not at the start of a service. */
const finder = (): SecretFinder =>
  (sharedFinder ??= new SecretFinder([...ownRules, ...gitleaksRules()], placeholders(), [KEY_BEGIN]))

/** Private keys and the static keys of OpenVPN, also with line numbers or patch markers before their lines, and with PGP headers. */
const privateKey =
  /-----BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----(?:[A-Za-z0-9+/=\s\\:,.()@<>|\u2192]|-(?!----))*(?:-----END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----)?/g
const KEY_BEGIN = "-----BEGIN "
const KEY_END = /-----END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----/
/** Other text that begins like a private key. */
const OTHER_BEGIN = /^(?![A-Z0-9 ]{0,40}PRIVATE KEY|Op)(?:[A-Z0-9 ]*[^A-Z0-9 ]|[A-Z0-9 ]{54})/

/** By character code: whether the character can be part of a key. */
const inTokens = Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9_./+~=@-]/.test(String.fromCharCode(code))
)

/** By character code: whether the beginning of a private key can end with the character. */
const inKeyBegin = Array.from({ length: 128 }, (_, code) => "-BEGIN".includes(String.fromCharCode(code)))

/** Longest token, in characters, that can continue in the next text. A longer one is not a secret. */
const LONGEST_TOKEN = 4_096
/** Longest wait for the end of a private key, in characters. A longer key is redacted as far as it was read. */
const LONGEST_KEY = 16_384

/** Shortest known value that is redacted, in characters. Shorter values occur in ordinary words. */
const SHORTEST_VALUE = 8
/** Shortest text in which a rule can match: `PWD_=` and four characters. */
const SHORTEST_TEXT = 8

/** Longest distance between the name of a secret and the secret, in characters. */
const CONTEXT = 128
/** Length of the context without a keyword: two characters of a possible keyword and the character before it. */
const SHORT_CONTEXT = 3

/** End of a truncated text. */
const CUT = "…"
/** Shortest part of a secret before `CUT` that is redacted, in characters. */
const SHORTEST_PIECE = 4

/** A redacted piece of streamed text. */
export interface Piece {
  /** Redacted beginning of the piece. */
  readonly shown: string
  /** End of the piece that may be the beginning of a secret. The caller prepends it to the next piece. */
  readonly rest: string
  /** Original text at the end of `shown` that may contain the name of a secret. Context of the next piece. */
  readonly context: string
}

export class Redaction {
  readonly #values: ReadonlyArray<string>

  /** `values` are redacted everywhere, except those with fewer than eight characters. */
  constructor(values: Iterable<string> = []) {
    this.#values = [...new Set(values)]
      .filter((value) => value.length >= SHORTEST_VALUE)
      .toSorted((a, b) => b.length - a.length)
  }

  /** The redacted text; the same string if it has no secrets. Before a `…` at its end, a part of a secret is redacted too. */
  text(text: string): string {
    if (text.length < SHORTEST_TEXT) return text
    return text.endsWith(CUT) ? this.#withoutPiece(text) : this.after("", text)
  }

  /** The redacted text. `context` is the text directly before it, which may contain the name of a secret. */
  after(context: string, text: string): string {
    const whole = context + text
    const spans = this.#spans(whole, finder().hits(whole))
    return spans.length === 0 ? text : without(whole, spans, context.length)
  }

  /** Places of the secrets of a text, in any order. They may overlap. */
  secrets(text: string): ReadonlyArray<Span> {
    return this.#spans(text, finder().hits(text))
  }

  /** The value with all texts and field names redacted; the same value if it has no secrets. */
  value<A>(value: A): A {
    return this.#within(value) as A // redaction keeps the types of texts and the shapes of objects
  }

  /** Redacts a piece of streamed text that directly follows `context`. */
  piece(context: string, text: string): Piece {
    const whole = context === "" ? text : context + text
    const hits = finder().hits(whole)
    const place = Math.max(context.length, this.#unfinished(whole, hits))
    const spans = this.#spans(whole, hits)
    const plain = place === whole.length ? text : whole.slice(context.length, place)
    return {
      shown: spans.length === 0 ? plain : without(whole.slice(0, place), spans, context.length),
      rest: place === whole.length ? "" : whole.slice(place),
      context: contextAt(whole, place, hits)
    }
  }

  /** Position of a possible unfinished secret at the end of the text; the length of the text if there is none. */
  #unfinished(text: string, hits: ReadonlyArray<number>): number {
    let place = Math.min(this.#unfinishedValue(text), unfinishedKey(text, hits), unfinishedToken(text, hits))
    if (place >= text.length) return text.length
    // The position must not split a complete secret. Secrets can overlap.
    const latestFirst = this.#spans(text, hits).toSorted((a, b) => b.start - a.start)
    for (const { start, end } of latestFirst) if (start < place && end > place) place = start
    return place
  }

  #withoutPiece(text: string): string {
    const whole = text.slice(0, -CUT.length)
    const place = this.#unfinished(whole, finder().hits(whole))
    return whole.length - place < SHORTEST_PIECE
      ? this.after("", whole) + CUT
      : this.after("", whole.slice(0, place)) + REDACTED + CUT
  }

  #spans(text: string, hits: ReadonlyArray<number>): ReadonlyArray<Span> {
    const values = this.#values.length === 0 ? none : this.#spansOfValues(text)
    const keys = hasKeyBegin(text, hits)
      ? Array.from(text.matchAll(privateKey), ({ 0: key, index }) => ({
          start: index,
          end: index + key.length
        }))
      : none
    const found = finder().find(text, hits)
    if (values.length === 0 && keys.length === 0) return found
    return [...values, ...keys, ...found]
  }

  #spansOfValues(text: string): ReadonlyArray<Span> {
    const spans: Array<Span> = []
    for (const value of this.#values)
      for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + value.length))
        spans.push({ start: at, end: at + value.length })
    return spans
  }

  #within(value: unknown): unknown {
    if (typeof value === "string") return this.text(value)
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) {
      const items = value.map((item: unknown) => this.#within(item))
      return items.every((item, at) => item === value[at]) ? value : items
    }
    let changed = false
    const entries = Object.entries(value).map(([name, inner]: [string, unknown]) => {
      const [redactedName, redactedValue] = [this.text(name), this.#field(name, inner)]
      changed ||= redactedName !== name || redactedValue !== inner
      return [redactedName, redactedValue] as const
    })
    return changed ? Object.fromEntries(entries) : value
  }

  /** Redacts a field whose name may mark its text as secret. */
  #field(name: string, value: unknown): unknown {
    if (typeof value !== "string" || !mayNameSecret(name)) return this.#within(value)
    const context = `"${name}":"`
    const shown = this.after(context, `${value}"`)
    return shown.length === value.length + 1 && shown.startsWith(value) ? value : shown.slice(0, -1)
  }

  #unfinishedValue(text: string): number {
    let earliest = text.length
    for (const value of this.#values) {
      const first = value.charAt(0)
      let at = text.indexOf(first, Math.max(0, text.length - value.length + 1))
      while (at !== -1 && at < earliest) {
        if (value.startsWith(text.slice(at))) earliest = at
        at = text.indexOf(first, at + 1)
      }
    }
    return earliest
  }
}

const none: ReadonlyArray<Span> = []

/** Cache by field name, because the same names recur: whether the name may mark a secret. */
const namesSecret = new Map<string, boolean>()
const MAX_NAMES = 1_024
const mayNameSecret = (name: string): boolean => {
  const cached = namesSecret.get(name)
  if (cached !== undefined) return cached
  if (namesSecret.size >= MAX_NAMES) namesSecret.clear()
  const may = name.length <= 64 && finder().hits(name).length > 0
  namesSecret.set(name, may)
  return may
}

/** The text after `from`, with `REDACTED` instead of each span. */
const without = (text: string, spans: ReadonlyArray<Span>, from: number): string => {
  let redacted = ""
  let at = from
  for (const { start, end } of [...spans].toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (end <= at || start >= text.length) continue
    // A span that overlaps with the previous one extends it.
    if (start >= at) redacted += text.slice(at, start) + REDACTED
    else if (at === from) redacted += REDACTED
    // A period at the end of a sentence is not part of a key.
    at =
      end === text.length || /\s/.test(text.charAt(end)) ? end - (text.charAt(end - 1) === "." ? 1 : 0) : end
  }
  return redacted + text.slice(at)
}

/** Context of the text after `place`: the text around the last keyword, or the last characters, with which a keyword may begin. */
const contextAt = (text: string, place: number, hits: ReadonlyArray<number>): string => {
  const hasKeyword = hits.length > 0 && (hits.at(-2) ?? 0) >= place - CONTEXT
  return text.slice(Math.max(0, place - (hasKeyword ? CONTEXT : SHORT_CONTEXT)), place)
}

/** Position of the first characters of a key at the end of the text, after `from`; the length of the text if there are none. */
const keyBeginning = (text: string, from: number): number => {
  if (inKeyBegin[text.charCodeAt(text.length - 1)] !== true) return text.length
  for (let length = Math.min(KEY_BEGIN.length - 1, text.length - from); length > 0; length--)
    if (text.endsWith(KEY_BEGIN.slice(0, length))) return text.length - length
  return text.length
}

/** `KEY_BEGIN` is one of the keywords, and to look for it in each text is not cheap. */
const hasKeyBegin = (text: string, hits: ReadonlyArray<number>): boolean =>
  hits.length > 0 && text.includes(KEY_BEGIN)

const unfinishedKey = (text: string, hits: ReadonlyArray<number>): number => {
  // Almost no text contains it, and searching forwards is cheaper than backwards.
  const at = hasKeyBegin(text, hits) ? text.lastIndexOf(KEY_BEGIN) : -1
  if (at === -1) return keyBeginning(text, 0)
  const rest = text.slice(at + KEY_BEGIN.length)
  const end = KEY_END.exec(rest)
  if (end !== null) return keyBeginning(text, text.length - rest.length + end.index + end[0].length)
  return OTHER_BEGIN.test(rest) || text.length - at > LONGEST_KEY
    ? keyBeginning(text, at + KEY_BEGIN.length)
    : at
}

const unfinishedToken = (text: string, hits: ReadonlyArray<number>): number => {
  if (hits.length === 0) return finder().beginning(text)
  const end = text.length
  let token = end
  while (token > 0 && inTokens[text.charCodeAt(token - 1)] === true) token--
  return end - token > LONGEST_TOKEN ? end : finder().unfinished(text, token, hits)
}

/** Secrets in environment variables: values with a secret name, and passwords in URLs. */
export const secretsOf = (environment: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  Object.entries(environment).flatMap(([name, value]) => {
    if (/KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR)|COOKIE/i.test(name)) return [value]
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^/@:]*:([^/@]+)@/i.exec(value)?.[1]
    return password === undefined ? [] : [password]
  })
