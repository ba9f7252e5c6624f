/**
 * The command that is meant where Codex says `/bin/bash -lc '…'`: it runs each command through the person's login shell and quotes it
 * as one word.
 *
 * A line that is not exactly three plain words is returned unchanged.
 */
import { capped } from "@corral/domain/text/CappedPattern"

/** Commands are shorter; a pattern that is given more may run out of memory. */
const MAX_CHARACTERS = 100_000

const DOUBLE = capped(MAX_CHARACTERS, /"([^"\\$`]*(?:\\["\\$`][^"\\$`]*)*)"/).source
const WORD = capped(
  MAX_CHARACTERS,
  new RegExp(`[\\w@%+=:,./\\]^-]*(?:(?:'[^']*'|${DOUBLE})[\\w@%+=:,./\\]^-]*)*`, "y")
)
const PART = capped(MAX_CHARACTERS, new RegExp(`'([^']*)'|${DOUBLE}|[^'"]+`, "g"))

const unquoted = (word: string): string => {
  if (!/['"]/.test(word)) return word
  // One pair around it all is how Codex writes nearly every script.
  if (word.startsWith("'") && word.indexOf("'", 1) === word.length - 1) return word.slice(1, -1)
  return word.replaceAll(PART, (part: string, single?: string, double?: string) => {
    if (single !== undefined) return single
    return double === undefined ? part : double.replaceAll(/\\(["\\$`])/g, "$1")
  })
}

/** The words of a line in which a shell would expand nothing; `undefined` for any other. */
const plainWords = (line: string): ReadonlyArray<string> | undefined => {
  const words: Array<string> = []
  for (let at = 0; at < line.length;) {
    WORD.lastIndex = at
    const [word] = WORD.exec(line) ?? []
    if (word === undefined || word === "") return undefined
    words.push(unquoted(word))
    at += word.length
    if (at === line.length) return words
    if (line[at] !== " ") return undefined
    at++
  }
  return undefined
}

/** The script of a shell's `-c`, and any other command as it is. */
export const scriptOf = (command: string): string => {
  if (command.length > MAX_CHARACTERS) return command
  const [shell = "", option = "", script, ...more] = plainWords(command) ?? []
  const runs = /^(?:\/.*\/)?(?:bash|zsh|sh)$/.test(shell) && (option === "-lc" || option === "-c")
  return runs && script !== undefined && more.length === 0 ? script : command
}
