/** Shape of a rule that finds secrets of one kind. Rules are data: `gitleaksRules` is generated, `ownRules` is written by hand. */

export interface SecretRule {
  readonly id: string
  /** Lowercase texts of at least three characters. A rule is tried only where one of them is found. */
  readonly keywords: ReadonlyArray<string>
  /** A name such as `dropbox`, followed by an operator and the secret (`value`). Patterns without flags. */
  readonly name?: string
  readonly value?: string
  /** A whole pattern, where there is no `name`. The group `secret` is what is taken out, or all of it. */
  readonly pattern?: string
  readonly ignoreCase?: boolean
  /** The value is followed by a quote, a space, a semicolon or the end, so that code such as `key = make(…)` is left alone. */
  readonly delimited?: boolean
  /** The keyword may be anywhere in the match or near it. Without it, a match begins with the keyword. */
  readonly near?: boolean
  /** The secret follows a keyword that is not secret: with `pattern`, what may be the beginning of one at the end of a text. */
  readonly tail?: string
  /** Least Shannon entropy of a secret, in bits per character. */
  readonly entropy?: number
  /** Secrets that match one of these, or contain one of the words (separated by spaces), are harmless. */
  readonly allowed?: ReadonlyArray<string>
  readonly allowedMatch?: ReadonlyArray<string>
  readonly stopwords?: string
  /** What a secret must look like besides. */
  readonly isSecret?: (secret: string) => boolean
}
