/**
 * Secrets taken out of text: keys that are known by their form, values that are named as secrets, and values that are known to be secret.
 *
 * Pure, and linear in the text. The rules are those of gitleaks and our own (`redaction/`). Does not find a secret that is encoded (base64,
 * percent, hex), split over lines (private keys excepted), glued to a word before it, or of a form that no rule describes.
 */
import { gitleaksRules, placeholders } from "./gitleaksRules.ts"
import { ownRules } from "./ownRules.ts"
import { SecretFinder, type Span } from "./SecretFinder.ts"

/** What stands where a secret stood. */
export const REDACTED = "[redacted]"

let made: SecretFinder | undefined
/** Made when the first text is read, not when a service starts. */
const finder = (): SecretFinder =>
  (made ??= new SecretFinder([...ownRules, ...gitleaksRules()], placeholders()))

/** Also with line numbers or marks of a patch before its lines, and with the headers of PGP. */
const privateKey =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\:,.()@<>|→]|-(?!----))*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g
const KEY_BEGIN = "-----BEGIN "
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/
/** Of something else that begins as a key does. */
const OTHER_BEGIN = /^(?![A-Z0-9 ]{0,40}PRIVATE KEY)(?:[A-Z0-9 ]*[^A-Z0-9 ]|[A-Z0-9 ]{54})/

/** By character code: characters of keys. */
const inTokens = Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9_./+~=@-]/.test(String.fromCharCode(code))
)

/** Characters of names, and separators in addresses. */
const inNames = Array.from({ length: 128 }, (_, code) => /[\w.:/-]/.test(String.fromCharCode(code)))

/** A text that runs into the next one is looked at this far back; a token that is longer is none. */
const LONGEST_TOKEN = 4_096
/** A private key that has no end by then is taken out as far as it goes. */
const LONGEST_KEY = 16_384

/** A value that is shorter tells nothing apart: it would be taken out of ordinary words. */
const SHORTEST_VALUE = 8
/** No rule finds anything in less: `PWD_=` and four characters. */
const SHORTEST_TEXT = 8

/** The name of a secret is at most this far before it. */
const CONTEXT = 128
/** Where no keyword has begun: two characters of one, and what stands before it. */
const SHORT_CONTEXT = 3

/** What a text ends with that was cut, and how much of a secret before it tells something. */
const CUT = "…"
const SHORTEST_PIECE = 4

/** A piece of streamed text as it is shown. */
export interface Piece {
  /** The beginning of the piece, without secrets. */
  readonly shown: string
  /** Its end, where that may be the beginning of a secret: it comes before the next piece. */
  readonly rest: string
  /** The end of what was shown, as it was, where the name of a secret may be: the next piece is read after it. */
  readonly context: string
}

export class Redaction {
  readonly #values: ReadonlyArray<string>

  /** `values` are secret wherever they stand; those under eight characters are left alone. */
  constructor(values: Iterable<string> = []) {
    this.#values = [...new Set(values)]
      .filter((value) => value.length >= SHORTEST_VALUE)
      .toSorted((a, b) => b.length - a.length)
  }

  /** The text without its secrets; the very same where there is none. Before a `…` at its end, half a secret is one too. */
  text(text: string): string {
    if (text.length < SHORTEST_TEXT) return text
    return text.endsWith(CUT) ? this.#withoutPiece(text) : this.after("", text)
  }

  /** The text without its secrets, where `context` came right before it: a secret may be named there. */
  after(context: string, text: string): string {
    const whole = context + text
    const spans = this.#spans(whole, finder().hits(whole))
    return spans.length === 0 ? text : without(whole, spans, context.length)
  }

  /** The value with every text in it, and every name of a field, without secrets; the very same where there is none. */
  value<A>(value: A): A {
    return this.#within(value) as A // texts stay texts, objects keep their shape
  }

  /** Reads a piece of streamed text that came right after `context`. */
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

  /** Where an unfinished secret may begin at the end of the text; the length of the text if there is none. */
  #unfinished(text: string, hits: ReadonlyArray<number>): number {
    const place = Math.min(this.#unfinishedValue(text), unfinishedKey(text), unfinishedToken(text, hits))
    if (place >= text.length) return text.length
    // It must not cut a secret that is whole.
    const cut = this.#spans(text, hits).filter(({ start, end }) => start < place && end > place)
    return Math.min(place, ...cut.map(({ start }) => start))
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
    const keys = text.includes(KEY_BEGIN)
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
      const [kept, within] = [this.text(name), this.#field(name, inner)]
      changed ||= kept !== name || within !== inner
      return [kept, within] as const
    })
    return changed ? Object.fromEntries(entries) : value
  }

  /** A field's name may say that its text is secret. */
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

/** Names of fields come again and again: whether one may name a secret is remembered. */
const namesSecret = new Map<string, boolean>()
const MOST_NAMES = 1_024
const mayNameSecret = (name: string): boolean => {
  const known = namesSecret.get(name)
  if (known !== undefined) return known
  if (namesSecret.size >= MOST_NAMES) namesSecret.clear()
  const may = name.length <= 64 && finder().hits(name).length > 0
  namesSecret.set(name, may)
  return may
}

/** The text from `from` on, with `REDACTED` for each place. */
const without = (text: string, spans: ReadonlyArray<Span>, from: number): string => {
  let kept = ""
  let at = from
  for (const { start, end } of [...spans].toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (end <= at || start >= text.length) continue
    // What overlaps with the place before is part of it.
    if (start >= at) kept += text.slice(at, start) + REDACTED
    else if (at === from) kept += REDACTED
    // The end of a sentence is none of a key's.
    at =
      end === text.length || /\s/.test(text.charAt(end)) ? end - (text.charAt(end - 1) === "." ? 1 : 0) : end
  }
  return kept + text.slice(at)
}

/** What the text after `place` must be read with: from a keyword on, or the last characters of what may become one. */
const contextAt = (text: string, place: number, hits: ReadonlyArray<number>): string => {
  if ((hits.at(-2) ?? -1) >= place - CONTEXT) return text.slice(Math.max(0, place - CONTEXT), place)
  let from = place
  while (from > 0 && from > place - SHORT_CONTEXT && inNames[text.charCodeAt(from - 1)] === true) from--
  return from === place ? "" : text.slice(from, place)
}

const unfinishedKey = (text: string): number => {
  // Almost no text has it, and a search forwards costs less than one backwards.
  const at = text.includes(KEY_BEGIN) ? text.lastIndexOf(KEY_BEGIN) : -1
  if (at === -1) {
    // The first characters of a key's first line.
    if (!"-BEGIN".includes(text.charAt(text.length - 1))) return text.length
    for (let length = Math.min(KEY_BEGIN.length - 1, text.length); length > 0; length--)
      if (text.endsWith(KEY_BEGIN.slice(0, length))) return text.length - length
    return text.length
  }
  if (text.length - at > LONGEST_KEY) return text.length
  const rest = text.slice(at + KEY_BEGIN.length)
  return OTHER_BEGIN.test(rest) || KEY_END.test(rest) ? text.length : at
}

const unfinishedToken = (text: string, hits: ReadonlyArray<number>): number => {
  if (hits.length === 0) return finder().beginning(text)
  const end = text.length
  let token = end
  while (token > 0 && inTokens[text.charCodeAt(token - 1)] === true) token--
  return end - token > LONGEST_TOKEN ? end : finder().unfinished(text, token, hits)
}

/** Values of an environment that its names call secret, and passwords in its addresses. */
export const secretsOf = (environment: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  Object.entries(environment).flatMap(([name, value]) => {
    if (/KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR)|COOKIE/i.test(name)) return [value]
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^/@:]*:([^/@]+)@/i.exec(value)?.[1]
    return password === undefined ? [] : [password]
  })
