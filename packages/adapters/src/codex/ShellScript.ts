/**
 * Script in a command like `/bin/bash -lc '…'`: Codex runs each command in the user's login shell, quoted as one word.
 *
 * A line that is not exactly three plain words is returned unchanged.
 */
import { capped } from "@corral/domain/text/CappedPattern"

/** Maximum length of a command. On a longer text a pattern may run out of memory. */
const MAX_CHARACTERS = 100_000

const DOUBLE = capped(MAX_CHARACTERS, /"([^"\\$`]*(?:\\["\\$`][^"\\$`]*)*)"/).source
const WORD = capped(
  MAX_CHARACTERS,
  new RegExp(`[\\w@%+=:,./\\]^-]*(?:(?:'[^']*'|${DOUBLE})[\\w@%+=:,./\\]^-]*)*`, "y")
)
const PART = capped(MAX_CHARACTERS, new RegExp(`'([^']*)'|${DOUBLE}|[^'"]+`, "g"))

const unquote = (word: string): string => {
  if (!/['"]/.test(word)) return word
  // Codex puts nearly every script into one pair of single quotes.
  if (word.startsWith("'") && word.indexOf("'", 1) === word.length - 1) return word.slice(1, -1)
  return word.replaceAll(PART, (part: string, single?: string, double?: string) => {
    if (single !== undefined) return single
    return double === undefined ? part : double.replaceAll(/\\(["\\$`])/g, "$1")
  })
}

/** Words of a line in which a shell expands nothing; `undefined` for other lines. */
const splitPlainWords = (line: string): ReadonlyArray<string> | undefined => {
  const words: Array<string> = []
  for (let at = 0; at < line.length;) {
    WORD.lastIndex = at
    const [word] = WORD.exec(line) ?? []
    if (word === undefined || word === "") return undefined
    words.push(unquote(word))
    at += word.length
    if (at === line.length) return words
    if (line[at] !== " ") return undefined
    at++
  }
  return undefined
}

/** Script of a shell's `-c`. Any other command is returned unchanged. */
export const scriptOf = (command: string): string => {
  if (command.length > MAX_CHARACTERS) return command
  const [shell = "", option = "", script, ...more] = splitPlainWords(command) ?? []
  const runs = /^(?:\/.*\/)?(?:bash|zsh|sh)$/.test(shell) && (option === "-lc" || option === "-c")
  return runs && script !== undefined && more.length === 0 ? script : command
}
