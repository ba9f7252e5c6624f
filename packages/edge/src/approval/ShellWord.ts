/** Whether a word of a command line has the same value in every shell, independent of the files and variables at run time. */
import type { Word, WordPart } from "unbash"

/** A home folder (`~`, `a=~/b`), and what zsh looks up (`=ls`). */
const expands = /(^|[=:])~|^=./

/** Unquoted characters with a meaning in a shell. The parser reports most of them, and this check covers the rest. */
const active = /[()<>|&;`$"'\s*?\\]/

/** `[a]`, `{a,b}` and `{1..3}`, with anything in between. */
const expandsInside = (text: string): boolean => {
  const bracket = text.indexOf("[")
  if (bracket !== -1 && text.includes("]", bracket)) return true
  const [from, to] = [text.indexOf("{"), text.lastIndexOf("}")]
  const braces = from === -1 || to < from ? "" : text.slice(from, to)
  return braces.includes(",") || braces.includes("..")
}

const unescaped = (text: string): string => text.replaceAll(/\\./gs, "")

const isFixed = (part: WordPart): boolean => {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
      return true
    case "DoubleQuoted":
      return part.parts.every(({ type }) => type === "Literal") && isPlainText(part.text)
    default:
      return false
  }
}

/** Whether the text of a here-document, or between double quotes, is literal. */
export const isPlainText = (text: string): boolean => !/[$`]/.test(unescaped(text))

/** The word with a letter instead of each quoted part. */
const bare = ({ parts, text }: Word): string =>
  parts === undefined
    ? unescaped(text)
    : parts.map((part) => (part.type === "Literal" ? unescaped(part.text) : "x")).join("")

/** Whether a word has no variable, substitution, pattern, brace, home folder, or quoting that shells read differently. */
export const isLiteral = (word: Word): boolean => {
  if (!(word.parts ?? []).every(isFixed)) return false
  const text = bare(word)
  return !expands.test(text) && !active.test(text) && !expandsInside(text)
}

/** Whether a word is a pattern to compare with: literal text and wildcards. */
export const isPattern = (word: Word): boolean =>
  (word.parts ?? []).every((part) => isFixed(part) || part.type === "Glob") && !/[()<>|&;`$]/.test(bare(word))
