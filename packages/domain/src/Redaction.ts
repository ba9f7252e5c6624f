/**
 * Secrets taken out of text: keys that are known by their form, and values that are known to be secret.
 *
 * Pure, and linear in the text. It finds a secret as it is written. It does not find one that is encoded (base64, percent, hex), split over
 * lines, shorter than eight characters, glued to a word before it, or of a form that is not listed.
 */

/** What stands where a secret stood. */
export const REDACTED = "[redacted]"

/** Of each form: how it begins, and what follows. */
const forms: ReadonlyArray<readonly [prefix: string, rest: string]> = [
  ["sk-", "[A-Za-z0-9_-]{16,}"],
  ["sk_live_", "[A-Za-z0-9]{16,}"],
  ["rk_live_", "[A-Za-z0-9]{16,}"],
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((prefix) => [prefix, "[A-Za-z0-9]{20,}"] as const),
  ["github_pat_", "[A-Za-z0-9_]{22,}"],
  ["glpat-", "[A-Za-z0-9_-]{20,}"],
  ...["xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"].map(
    (prefix) => [prefix, "[A-Za-z0-9-]{10,}"] as const
  ),
  ["AKIA", "[A-Z0-9]{16}(?![A-Za-z0-9])"],
  ["ASIA", "[A-Z0-9]{16}(?![A-Za-z0-9])"],
  ["AIza", "[A-Za-z0-9_-]{35,}"],
  ["npm_", "[A-Za-z0-9]{36,}"],
  ["hf_", "[A-Za-z0-9]{30,}"],
  ["eyJ", "[A-Za-z0-9_.-]{24,}"]
]
const known = `(?:${forms.map(([prefix, rest]) => prefix + rest).join("|")})`
const bearer = String.raw`[Bb]earer[ \t]{1,4}[A-Za-z0-9._~+/-]{16,}={0,2}`
const privateKey = String.raw`-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s\\:,]|-(?!----))*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?`

/**
 * Some forms name harmless things too. Whether one is a secret is looked at when it is found, so that finding stays linear: a token has a
 * digit in it, and what is signed has three parts.
 */
const isSecret = (found: string): boolean => {
  if (found.startsWith("eyJ")) return /^[A-Za-z0-9_-]{11,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/.test(found)
  return !/^(?:sk-|[Bb]earer)/.test(found) || /[0-9]/.test(found)
}

const KEY_BEGIN = "-----BEGIN "
const KEY_END = /-----END [A-Z ]{0,40}PRIVATE KEY-----/
/** Of something else that begins as a key does. */
const OTHER_BEGIN = /^(?![A-Z ]{0,40}PRIVATE KEY)(?:[A-Z ]*[^A-Z ]|[A-Z ]{54})/

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

/** A text without any of these holds no secret of a known form: looking for them costs a tenth of looking for the forms. */
const hints: ReadonlyArray<string> = [
  ...new Set([
    "-",
    "earer",
    ...forms.map(([prefix]) => (prefix.includes("-") ? "-" : prefix.includes("_") ? "_" : prefix))
  ])
]

/** Every way in which a secret of a known form may have begun when a text ends. */
const starts: ReadonlySet<string> = new Set(
  [...forms.map(([prefix]) => prefix), "Bearer", "bearer", KEY_BEGIN].flatMap((prefix) =>
    Array.from(prefix, (_, at) => prefix.slice(0, at + 1))
  )
)
const LONGEST_START = Math.max(...Array.from(starts, (start) => start.length))
const begun = new RegExp(`(?<![A-Za-z0-9])(?:${forms.map(([prefix]) => prefix).join("|")})`)

/** By character code: what stands in tokens, and what makes words. */
const codes = (characters: RegExp): ReadonlyArray<boolean> =>
  Array.from({ length: 128 }, (_, code) => characters.test(String.fromCharCode(code)))
const inTokens = codes(/[A-Za-z0-9_./+~=-]/)
const inWords = codes(/[A-Za-z0-9]/)
const DASH = 45

/** A text that runs into the next one is looked at this far back; a token that is longer is none. */
const LONGEST_TOKEN = 4_096
/** A private key that has no end by then is taken out as far as it goes. */
const LONGEST_KEY = 16_384

/** A value that is shorter tells nothing apart: it would be taken out of ordinary words. */
const SHORTEST_VALUE = 8

/** What a text ends with that was cut, and how much of a secret before it tells something. */
const CUT = "…"
const SHORTEST_PIECE = 4

export class Redaction {
  readonly #values: ReadonlyArray<string>
  readonly #onlyValues: RegExp | undefined
  readonly #pattern: RegExp

  /** `values` are secret wherever they stand; those under eight characters are left alone. */
  constructor(values: Iterable<string> = []) {
    this.#values = [...new Set(values)]
      .filter((value) => value.length >= SHORTEST_VALUE)
      .toSorted((a, b) => b.length - a.length)
    const alternatives = this.#values.map(escaped)
    this.#onlyValues = alternatives.length === 0 ? undefined : new RegExp(alternatives.join("|"), "g")
    const forms = `(?<![A-Za-z0-9])(?:${bearer}|${known})`
    this.#pattern = new RegExp([...alternatives, privateKey, forms].join("|"), "g")
  }

  /** The text without its secrets; the very same where there is none. Before a `…` at its end, half a secret is one too. */
  text(text: string): string {
    const found = this.#mayHold(text) ? text.replace(this.#pattern, this.#hidden) : text
    return found.endsWith(CUT) ? this.#withoutPiece(found) : found
  }

  #withoutPiece(text: string): string {
    const whole = text.slice(0, -CUT.length)
    const place = this.unfinished(whole)
    return whole.length - place < SHORTEST_PIECE ? text : whole.slice(0, place) + REDACTED + CUT
  }

  #mayHold(text: string): boolean {
    return hints.some((hint) => text.includes(hint)) || this.#values.some((value) => text.includes(value))
  }

  /** The value with every text in it, and every name of a field, without secrets; the very same where there is none. */
  value<A>(value: A): A {
    return this.#within(value) as A // texts stay texts, objects keep their shape
  }

  /**
   * From where the end of a text may be the beginning of a secret that goes on in the text after it; its length where it is not.
   * What stands before that place can be told apart from what comes.
   */
  unfinished(text: string): number {
    const place = Math.min(this.#unfinishedValue(text), unfinishedKey(text), unfinishedToken(text))
    if (place >= text.length) return text.length
    // It must not cut a secret that is whole.
    for (const { 0: secret, index } of text.matchAll(this.#pattern)) {
      if (index >= place) break
      if (index + secret.length > place) return index
    }
    return place
  }

  readonly #hidden = (found: string): string => {
    if (this.#values.includes(found)) return REDACTED
    if (!isSecret(found)) {
      return this.#onlyValues === undefined ? found : found.replace(this.#onlyValues, REDACTED)
    }
    const scheme = /^[Bb]earer[ \t]+/.exec(found)?.[0] ?? ""
    // The end of a sentence is none of a token's.
    return scheme + REDACTED + (found.endsWith(".") ? "." : "")
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
      const [kept, within] = [this.text(name), this.#within(inner)]
      changed ||= kept !== name || within !== inner
      return [kept, within] as const
    })
    return changed ? Object.fromEntries(entries) : value
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

const unfinishedKey = (text: string): number => {
  const at = text.lastIndexOf(KEY_BEGIN)
  if (at === -1 || text.length - at > LONGEST_KEY) return text.length
  const rest = text.slice(at + KEY_BEGIN.length)
  return OTHER_BEGIN.test(rest) || KEY_END.test(rest) ? text.length : at
}

const unfinishedToken = (text: string): number => {
  const end = text.length
  let token = end
  while (token > 0 && inTokens[text.charCodeAt(token - 1)] === true) token--
  if (end - token > LONGEST_TOKEN) return end
  let scheme = token
  while (scheme > 0 && token - scheme < 4 && /[ \t]/.test(text.charAt(scheme - 1))) scheme--
  if (scheme < token && /[Bb]earer$/.test(text.slice(Math.max(0, scheme - 6), scheme))) return scheme - 6
  const found = end - token < 3 ? -1 : text.slice(Math.max(0, token - 1)).search(begun)
  if (found !== -1) return Math.max(0, token - 1) + found
  for (let at = Math.max(0, end - LONGEST_START); at < end; at++) {
    const starting = text.charCodeAt(at) === DASH || inWords[text.charCodeAt(at - 1)] !== true
    if (starting && starts.has(text.slice(at))) return at
  }
  return end
}

/** Values of an environment that its names call secret, and passwords in its addresses. */
export const secretsOf = (environment: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  Object.entries(environment).flatMap(([name, value]) => {
    if (/KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR)|COOKIE/i.test(name)) return [value]
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^/@:]*:([^/@]+)@/i.exec(value)?.[1]
    return password === undefined ? [] : [password]
  })
