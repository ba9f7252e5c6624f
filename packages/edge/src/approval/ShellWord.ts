/**
 * Whether a word of a command line has the same value in every shell, independent of the files and variables at run time.
 *
 * An allowlist: a character that is not listed may have a meaning in one of the shells, now or with another option of that shell.
 */
import type { Word, WordPart } from "unbash"

/** Unquoted characters that shells pass on. `@{1}` is a revision of Git. */
const passedOn = /^(?:[\p{L}\p{N}\p{M}_./:@%+,=^~-]|@\{[\w-]*\})*$/u

/** Words that are one character with a meaning elsewhere: operands of `test` and `find`. */
const operators = new Set(["!", "[", "]"])

/** A home folder (`~`, `a=~/b`), what zsh looks up (`=ls`), and what replaces in a history (`^a^b`). */
const expands = /(^|[=:])~|^=.|^\^/

/** The text with a letter instead of each escaped character. A continued line leaves nothing. */
const unescaped = (text: string): string => text.replaceAll("\\\n", "").replaceAll(/\\./gsu, "x")

const isFixed = (part: WordPart): boolean => {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
      return true
    case "DoubleQuoted":
      return (
        part.parts.every(({ type }) => type === "Literal") &&
        isPlainText(part.text) &&
        !recalls.test(part.text)
      )
    default:
      return false
  }
}

/** `"a!b"` refers to the history of an interactive shell. */
const recalls = /![^\s"]/

/** Whether the text of a here-document, or between double quotes, is literal. */
export const isPlainText = (text: string): boolean => !/[$`]/.test(unescaped(text))

const isEmptyQuote = ({ text }: WordPart): boolean => text === "''" || text === '""'

/** The word with a letter instead of each quoted part, and nothing instead of an empty one: `''~` is a home folder in zsh. */
const bare = ({ parts, text }: Word): string =>
  parts === undefined
    ? unescaped(text)
    : parts
        .map((part) => (part.type === "Literal" ? unescaped(part.text) : isEmptyQuote(part) ? "" : "x"))
        .join("")

/** Whether a word has only characters that every shell passes on, and quoted or escaped ones. */
export const isLiteral = (word: Word): boolean => {
  if (!(word.parts ?? []).every(isFixed)) return false
  const text = bare(word)
  return operators.has(word.text) || (passedOn.test(text) && !expands.test(text))
}

/** Whether a word is a pattern to compare with: literal text and wildcards. */
export const isPattern = (word: Word): boolean =>
  (word.parts ?? []).every((part) => isFixed(part) || part.type === "Glob") &&
  passedOn.test(bare(word).replaceAll(/[*?]/g, "")) &&
  !expands.test(bare(word))
