/**
 * What a command does, for the grant `confined`. A program, a subcommand or an option that is not listed asks.
 *
 * Left out on purpose: what deletes, what changes the history of a repository, what writes many files that it does not name (archives,
 * patches, package managers), what starts another program, and what the name of a script or a target calls a removal.
 */
import { keepsHistory } from "./GitOptions.ts"
import { grantabilityOf, interpreters, shells } from "./Interpreters.ts"
import { type OptionList, readWords } from "./KnownOptions.ts"
import { systemProgramOf } from "./ProgramName.ts"
import { moverOptions, readerOptions, speakers, writerOptions } from "./ReaderOptions.ts"
import { isPlainForScript, toolWords, type ToolWords } from "./KnownTools.ts"

/**
 * `reads`: it writes nothing. `edits`: it writes the named files. `moves`: it copies or moves the named files. `runs`: it runs what the
 * project configures. `script`: it runs a script of the project.
 */
export type ConfinedUse =
  | { readonly _tag: "reads" | "edits" | "moves" }
  | ({ readonly _tag: "runs" } & ToolWords)
  | { readonly _tag: "script"; readonly file: string }

const read = (
  args: ReadonlyArray<string>,
  list: OptionList | undefined
): ReadonlyArray<string> | undefined => {
  const words = list === undefined ? undefined : readWords(args, list)
  return words === undefined ? undefined : [...words.operands, ...(words.after ?? [])]
}

/** `date` sets the clock with an operand that is not a format. */
const readsOnly = (program: string, operands: ReadonlyArray<string>): boolean =>
  program !== "date" || operands.every((word) => word.startsWith("+"))

const asksVersion = ([first, ...more]: ReadonlyArray<string>): boolean =>
  more.length === 0 && (first === "--version" || first === "--help")

/** Programs that only print their version with `--version`. */
const versioned = new Set(
  "git node npm pnpm yarn python ruby perl php go cargo rustc gcc clang java javac make just cmake bash tsc".split(
    " "
  )
)

/** What a command does; `undefined` if the grant does not cover it. */
export const confinedUseOf = (words: ReadonlyArray<string>): ConfinedUse | undefined => {
  const [word = "", ...args] = words
  const program = systemProgramOf(words)
  if (program === undefined)
    return word.includes("/") && isPlainForScript(args) ? { _tag: "script", file: word } : undefined
  if (versioned.has(program) && asksVersion(args)) return { _tag: "reads" }
  if (speakers.has(program)) return { _tag: "reads" }
  if (program === "git") return keepsHistory(args) ? { _tag: "reads" } : undefined
  if (program === "sed") return grantabilityOf(words) === "exact" ? { _tag: "edits" } : undefined
  const found = read(args, readerOptions.get(program))
  if (found !== undefined) return readsOnly(program, found) ? { _tag: "reads" } : undefined
  if (read(args, writerOptions.get(program)) !== undefined) return { _tag: "edits" }
  if (read(args, moverOptions.get(program)) !== undefined) return { _tag: "moves" }
  const tool = toolWords(program, args)
  if (tool !== undefined) return { _tag: "runs", ...tool }
  const [file = "", ...rest] = args
  const isScript = (shells.has(program) || interpreters.has(program)) && grantabilityOf(words) === "exact"
  return isScript && isPlainForScript(rest) ? { _tag: "script", file } : undefined
}
