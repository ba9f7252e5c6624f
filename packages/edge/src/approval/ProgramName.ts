/**
 * Name of a program, and whether it is a program of the system. Every list of programs is looked up with these two.
 *
 * Rules that ask or raise a risk use `programOf`, which ignores the folder: `./sudo` may be sudo. Rules that allow use `systemProgramOf`: `./cat`
 * may be any program. Programs that only start another one are looked through if that is certain: `timeout 10 npm test` is `npm test`.
 *
 * Does not: resolve a link under another name, or look at `PATH`.
 */
import { isPlainVariable } from "./ShellWord.ts"

/** GNU programs on systems that have their own version under the plain name: `gsed`, `gtimeout`. */
const ofGnu =
  /^g(awk|sed|tar|find|xargs|env|timeout|nice|nohup|stdbuf|chroot|cat|cp|mv|rm|rmdir|ln|ls|dd|tee|touch|mkdir|install|split|csplit|sort|head|tail|wc|cut|uniq|tr|stat|du|df|date|echo|printf|shred|truncate|chmod|chown|chgrp|kill|mktemp|mknod|readlink|realpath)$/

/** Programs that are installed in several versions: `python3.12`. */
const ofVersion = /^(python|pypy|perl|ruby|php|lua|node|go)-?\d+(\.\d+)*$/

/** A program in a folder of the system or of its package manager. Folders of a user or of one package may contain any program. */
const systemPath =
  /^\/(?:usr\/|usr\/local\/|opt\/homebrew\/|opt\/local\/|home\/linuxbrew\/\.linuxbrew\/)?s?bin\/[^/\\]+$/

const baseOf = (word: string): string => word.split(/[\\/]/).at(-1) ?? ""

/** Canonical name of a program: `/usr/bin/Python3.12`, `python.exe`, `pythonw`, `python3-dbg` and `python` are the same. */
export const programOf = ([word = ""]: ReadonlyArray<string>): string =>
  baseOf(word)
    .toLowerCase()
    .replace(/\.(exe|cmd|bat|ps1)$/, "")
    .replace(/-dbg$/, "")
    .replace(/([a-z])-?\d+(?:\.\d+)*[a-z]?$/, "$1")
    .replace(/^(python|pypy|ruby|perl|java|php|lua|tclsh)w$/, "$1")
    .replace(ofGnu, "$1")

/** Whether a word is a name on `PATH` or a path in a folder of the system. */
export const isOfSystem = (word: string): boolean =>
  word !== "" && (!/[\\/]/.test(word) || systemPath.test(word))

/**
 * Name of a program of the system: of `git`, `/usr/local/bin/git`, `gsed` and `python3.12`. `undefined` for a program elsewhere, and for a
 * spelling that only some file systems accept.
 */
export const systemProgramOf = (words: ReadonlyArray<string>): string | undefined => {
  const [word = ""] = words
  if (!isOfSystem(word)) return undefined
  const base = baseOf(word)
  const name = programOf(words)
  return base === name || ofVersion.test(base) || ofGnu.test(base) ? name : undefined
}

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
