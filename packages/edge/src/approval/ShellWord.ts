/**
 * Whether a word of a command line has the same value in every shell, independent of the files and variables at run time. Also the table of variables
 * that may be set for a program.
 *
 * An allowlist: a character that is not listed may have a meaning in one of the shells, now or with another option of that shell.
 */
import type { Word, WordPart } from "unbash"

// Allowlist of variables that may be set for a program. Data and its lookup.
//
// Variables carry options, files to load and code to programs, and each program has its own: `MAKEFLAGS`, `PYTEST_ADDOPTS`,
// `RIPGREP_CONFIG_PATH`. A variable that is not listed makes a command `opaque`.

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Language, time zone, terminal, color, verbosity, and limits. */
const plain = named(
  "LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER " +
    "LC_TELEPHONE LC_TIME TZ CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS LINES TERM DEBUG LOG_LEVEL NODE_ENV " +
    "NODE_NO_WARNINGS RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR GOMAXPROCS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED " +
    "PYTHONUTF8 MIX_ENV PORT"
)

/** No path, no space, and nothing that a shell or a recipe would evaluate. A time zone has a slash: `Europe/Berlin`. */
const plainValue = /^[\w.,:@+*=-]*$/
const zone = /^\w[\w+-]*(?:\/\w[\w+-]*)*$/

/** Whether a variable with this value changes how a program prints, and not what it runs or reads. */
export const isPlainVariable = (name: string, value: string): boolean =>
  plain.has(name) && (plainValue.test(value) || (name === "TZ" && zone.test(value)))

/** Names for the variable of a loop. A loop over another name may change a variable of the shell: `path` is `PATH` in zsh. */
const counters = named(
  "a b c d e f g h i j k l m n o p q r s t u v w x y z arg branch dir entry file folder id item key lang line mod module n name num " +
    "package pkg project repo script suite target task test url value version word"
)

/** Whether a loop over a variable of this name changes nothing else. */
export const isLoopVariable = (name: string): boolean => counters.has(name)

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
