/**
 * Scripts of `sed` that only print, delete and substitute. `e` runs commands, and `w` and `r` access other files, in many spellings, so only
 * clear cases are accepted. Linear in the script's length.
 */
import { capped } from "@corral/domain/text/CappedPattern"

// Versions of sed differ in whether a separator in brackets ends a part.
const plain = String.raw`\[[\w ^-]+\]|\\.`
const address = String.raw`(?:\d+|\$|/(?:${plain}|[^/\\[\n])+/)`
const part = String.raw`(?:${plain}|(?!\1)[^\\[\n])*`
const substitution = String.raw`s([/|#,:@%!])${part}\1${part}\1[gIip\d]*`
const statement = capped(
  2_048,
  new RegExp(`(?:${address}(?:,${address})?)?!?(?:[dpq=]|${substitution})(?:;\\s*|$)`, "y")
)

const isHarmless = (script: string): boolean => {
  statement.lastIndex = 0
  // A failed match resets it to the start.
  while (statement.test(script)) if (statement.lastIndex === script.length) return true
  return false
}

const options = /^(-[nErsuz]+|-i[\w.]*|--(quiet|silent|in-place|regexp-extended|null-data|separate|posix))$/

interface SedWords {
  readonly scripts: ReadonlyArray<string>
  readonly options: ReadonlyArray<string>
  readonly files: ReadonlyArray<string>
}

const wordsOf = (args: ReadonlyArray<string>): SedWords => {
  const scripts: Array<string> = []
  const found: Array<string> = []
  const files: Array<string> = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ""
    if (word === "-e") scripts.push(args[++at] ?? "")
    else if (word.startsWith("-")) found.push(word)
    else files.push(word)
  }
  if (scripts.length === 0) scripts.push(files.shift() ?? "")
  return { scripts, options: found, files }
}

/** Whether `sed` with these arguments only changes the text of its input. */
export const changesTextOnly = (args: ReadonlyArray<string>): boolean => {
  const words = wordsOf(args)
  return words.options.every((word) => options.test(word)) && words.scripts.every(isHarmless)
}

/** Arguments that are not scripts. */
export const withoutSedScripts = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const words = wordsOf(args)
  return [...words.options, ...words.files]
}
