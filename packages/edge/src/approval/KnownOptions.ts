/**
 * Options of a program that are known to be harmless. An allowlist: an option that is not listed, or written in another form, is unknown.
 *
 * A list is one text of words:
 *
 * - `abc`: letters, alone or in a cluster such as `-ab`
 * - `j#`: letters with a number or without, as in `-j` and `-j4`
 * - `d:`: letters with a value, as in `-d1`, `-d 1` and `-abd 1`
 * - `--name`, `-name`: a whole option without a value
 * - `--name=`: the same, or with a value after `=`
 * - `--name:`: an option with a value, after `=` or in the next word
 * - `#`: a number alone, as in `-20`
 *
 * Does not: judge values and operands. They are paths, patterns and names.
 */

/** Options of one program. */
export interface OptionList {
  readonly letters: string
  readonly valued: string
  readonly numbered: string
  readonly hasNumber: boolean
  readonly flags: ReadonlySet<string>
  /** Options that may have a value after `=`. */
  readonly optional: ReadonlySet<string>
  /** Options that have a value. */
  readonly withValue: ReadonlySet<string>
}

const endsWith =
  (end: string) =>
  (word: string): boolean =>
    word.endsWith(end)
const cut = (word: string): string => word.slice(0, -1)

/** Reads a list of options. */
export const optionList = (text: string): OptionList => {
  const words = text.split(" ").filter((word) => word !== "")
  const named = words.filter((word) => word.startsWith("-"))
  const letters = words.filter((word) => !word.startsWith("-") && word !== "#")
  const isPlain = (word: string): boolean => !/[:=#]$/.test(word)
  return {
    letters: letters.filter(isPlain).join(""),
    valued: letters.filter(endsWith(":")).map(cut).join(""),
    numbered: letters.filter(endsWith("#")).map(cut).join(""),
    hasNumber: words.includes("#"),
    flags: new Set(named.filter(isPlain)),
    optional: new Set(named.filter(endsWith("=")).map(cut)),
    withValue: new Set(named.filter(endsWith(":")).map(cut))
  }
}

/** Number of words that a known option takes, its value included; `undefined` if it is unknown. */
const lengthOf = (word: string, list: OptionList): 1 | 2 | undefined => {
  const { flags, hasNumber, letters, numbered, optional, valued, withValue } = list
  if (flags.has(word) || optional.has(word)) return 1
  if (withValue.has(word)) return 2
  const at = word.indexOf("=")
  if (at > 0) {
    const name = word.slice(0, at)
    if (optional.has(name) || withValue.has(name)) return 1
  }
  if (word.startsWith("--")) return undefined
  if (hasNumber && /^-\d+$/.test(word)) return 1
  if (/^-[A-Za-z]\d*$/.test(word) && numbered.includes(word.charAt(1))) return 1
  const cluster = word.slice(1)
  const end = [...cluster].findIndex((letter) => !letters.includes(letter))
  if (end === -1) return 1
  if (!valued.includes(cluster.charAt(end))) return undefined
  return end === cluster.length - 1 ? 2 : 1
}

/** Words of a command after its program, by their use. */
export interface ReadWords {
  /** Options without their values. */
  readonly options: ReadonlyArray<string>
  readonly operands: ReadonlyArray<string>
  /** Words after `--`; `undefined` without one. */
  readonly after: ReadonlyArray<string> | undefined
}

/** The words of a command, if every option is known. */
export const readWords = (args: ReadonlyArray<string>, list: OptionList): ReadWords | undefined => {
  const options: Array<string> = []
  const operands: Array<string> = []
  for (let at = 0; at < args.length;) {
    const word = args[at] ?? ""
    if (word === "--") return { options, operands, after: args.slice(at + 1) }
    if (!word.startsWith("-") || word === "-") {
      operands.push(word)
      at++
      continue
    }
    const length = lengthOf(word, list)
    if (length === undefined || at + length > args.length) return undefined
    // A word that begins with `-` may be an option: programs differ in which options take the next word.
    if (length === 2 && args[at + 1]?.startsWith("-") === true) return undefined
    options.push(word)
    at += length
  }
  return { options, operands, after: undefined }
}
