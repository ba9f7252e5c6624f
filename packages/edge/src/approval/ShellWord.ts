/** Whether a word of a command line is the same for every shell, whatever is there when it runs. */
import type { Word, WordPart } from "unbash"

/** A home folder (`~`, `a=~/b`), and what zsh looks up (`=ls`). */
const expands = /(^|[=:])~|^=./

const isFixed = (part: WordPart): boolean => {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
      return true
    case "DoubleQuoted":
      return part.parts.every(({ type }) => type === "Literal")
    default:
      return false
  }
}

/** No variable, substitution, pattern, brace, home folder or quoting that shells read differently. */
export const isLiteral = ({ parts, text }: Word): boolean =>
  parts === undefined
    ? !expands.test(text)
    : parts.every((part, i) => isFixed(part) && !(i === 0 && opens(part)))

const opens = (part: WordPart): boolean => part.type === "Literal" && expands.test(part.text)
