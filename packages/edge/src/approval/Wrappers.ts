/** Programs that only start another one: `timeout 10 npm test` is `npm test`. Looked through if that is certain. */
import { isPlainVariable } from "./ShellWord.ts"
import { systemProgramOf } from "./ProgramName.ts"

/** `NAME=value`, as it may stand before a program. */
export const isAssignment = (word: string): boolean => /^\w+=/.test(word)

/** Whether `NAME=value` changes only how a program prints. */
const isPlainAssignment = (word: string): boolean => {
  const at = word.indexOf("=")
  return isPlainVariable(word.slice(0, at), word.slice(at + 1))
}

/** The words after a wrapper's own, or `undefined` if their position is uncertain. */
type Look = (rest: ReadonlyArray<string>) => ReadonlyArray<string> | undefined

const plain: Look = (rest) => (rest[0]?.startsWith("-") === false ? rest : undefined)

/** Skips options: those of `flags` have no value, those of `valued` take the next word. */
const options =
  (flags: RegExp, valued: RegExp): Look =>
  (rest) => {
    let at = 0
    for (; rest[at]?.startsWith("-") === true; at++) {
      const word = rest[at] ?? ""
      if (valued.test(word)) at++
      else if (!flags.test(word)) return undefined
    }
    return rest.slice(at)
  }

const never = /^(?!)/

const timeout: Look = (rest) => {
  const after = options(
    /^(--foreground|--preserve-status|--verbose|-v|--(signal|kill-after)=.+)$/,
    /^-[sk]$/
  )(rest)
  return after !== undefined && /^\d+(\.\d+)?[smhd]?$/.test(after[0] ?? "")
    ? plain(after.slice(1))
    : undefined
}

/** Without the variables of the caller, a program finds others and its settings elsewhere. */
const env: Look = (rest) => {
  const after = options(never, never)(rest)
  if (after === undefined) return undefined
  // `env` takes any word with a `=` for an assignment, with any name.
  const program = after.findIndex((word) => !word.includes("="))
  const assigned = program === -1 ? after : after.slice(0, program)
  if (!assigned.every(isPlainAssignment)) return undefined
  return program === -1 ? undefined : plain(after.slice(program))
}

const wrappers = new Map<string, Look>([
  ["nohup", plain],
  ["command", plain],
  ["exec", plain],
  // Within a pipe it is a keyword of some shells: what follows may be an assignment, a `!` or another keyword.
  ["time", () => undefined],
  ["nice", options(/^(-\d+|--adjustment=-?\d+)$/, /^-n$/)],
  ["stdbuf", options(/^-[ioe].+$/, never)],
  ["timeout", timeout],
  ["env", env]
])

/** `env` alone and `command -v x` start nothing. */
const startsNothing = ([program = "", first]: ReadonlyArray<string>): boolean =>
  (program === "env" && first === undefined) || (program === "command" && /^-[vV]$/.test(first ?? ""))

/** The words of the program that runs, or `undefined` if that is uncertain. */
export const unwrapCommand = (words: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  let inner: ReadonlyArray<string> = words
  for (let layers = 0; layers < 8; layers++) {
    const look = startsNothing(inner) ? undefined : wrappers.get(systemProgramOf(inner) ?? "")
    if (look === undefined) return inner
    const rest = look(inner.slice(1))
    const [first = ""] = rest ?? []
    if (rest === undefined || first === "" || first.includes("=")) return undefined
    inner = rest
  }
  return undefined
}
