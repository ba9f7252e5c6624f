/** Whether a word of a command line is the same for every shell, whatever is there when it runs. */
import type { Word, WordPart } from "unbash"

/** A home folder (`~`, `a=~/b`), and what zsh looks up (`=ls`). */
const expands = /(^|[=:])~|^=./

/** What means something to a shell where it is not quoted. The parser names most of it; what it takes for text is not believed. */
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

/** Whether the text of a here-document, or between double quotes, is what it says. */
export const isPlainText = (text: string): boolean => !/[$`]/.test(unescaped(text))

/** The word with a letter in the place of each quoted part. */
const bare = ({ parts, text }: Word): string =>
  parts === undefined
    ? unescaped(text)
    : parts.map((part) => (part.type === "Literal" ? unescaped(part.text) : "x")).join("")

/** No variable, substitution, pattern, brace, home folder or quoting that shells read differently. */
export const isLiteral = (word: Word): boolean => {
  if (!(word.parts ?? []).every(isFixed)) return false
  const text = bare(word)
  return !expands.test(text) && !active.test(text) && !expandsInside(text)
}

/** What a word is compared with: text, and signs for any text. */
export const isPattern = (word: Word): boolean =>
  (word.parts ?? []).every((part) => isFixed(part) || part.type === "Glob") && !/[()<>|&;`$]/.test(bare(word))
