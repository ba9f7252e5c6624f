/** Shape of a rule that finds secrets of one kind. Rules are data: `gitleaksRules` is generated, `ownRules` is written by hand. */

export interface SecretRule {
  readonly id: string
  /** Lowercase texts of at least three characters. The rule is tried only at their positions. */
  readonly keywords: ReadonlyArray<string>
  /** A name such as `dropbox`, followed by an operator and the secret (`value`). Patterns without flags. */
  readonly name?: string
  readonly value?: string
  /** Pattern of a rule without `name`. Its group `secret` is redacted, or the whole match if there is no such group. */
  readonly pattern?: string
  readonly ignoreCase?: boolean
  /** A quote, a space, a semicolon or the end must follow the value, so that code such as `key = make(…)` does not match. */
  readonly delimited?: boolean
  /** Whether the keyword can be anywhere in the match or near it. By default a match begins with the keyword. */
  readonly near?: boolean
  /** For a secret that follows a keyword that is not secret: pattern of an incomplete match at the end of a text. */
  readonly tail?: string
  /** Longest distance between the keyword and the end of an incomplete match, in characters. 400 by default. */
  readonly reach?: number
  /** Minimum Shannon entropy of a secret, in bits per character. */
  readonly entropy?: number
  /** Secrets that match one of these, or contain one of the words (separated by spaces), are harmless. */
  readonly allowed?: ReadonlyArray<string>
  readonly allowedMatch?: ReadonlyArray<string>
  readonly stopwords?: string
  /** Additional condition for a secret. */
  readonly isSecret?: (secret: string) => boolean
}

export const hasDigit = (secret: string): boolean => /[0-9]/.test(secret)
export const hasDigitAndLetter = (secret: string): boolean => hasDigit(secret) && /[A-Za-z]/.test(secret)

/** Random bytes as base64, not a word or a digest. */
export const isKeyText = (secret: string): boolean =>
  hasDigit(secret) && /[a-z]/.test(secret) && /[A-Z]/.test(secret)

/** Neither a number nor a word of settings. */
export const isNoWord = (secret: string): boolean =>
  /[^0-9.]/.test(secret) && !/^(?:true|false|none|null|undefined|required|optional)$/i.test(secret)
