/**
 * Coverage of a configured command with more arguments.
 *
 * Only programs of the allowlist in `PrefixPrograms` may have further arguments. These are operands: no options, no assignments, nothing outside
 * the workspace, and no file that other programs run or obey, because a program may write its files. Words of the rule's `options` may follow
 * too, exactly as written: many programs take code in an option, and complete its abbreviation. A file after such an option asks, because it
 * may be its value.
 */
import type { ShellRule } from "@corral/domain/approval/Grant"
import { posix } from "node:path"
import { grantabilityOf } from "./Interpreters.ts"
import { namedPaths, stayInside } from "./NamedPaths.ts"
import { operandAnswer } from "./OrdinaryFiles.ts"
import type { PathTarget, WorkspacePaths } from "./PathTarget.ts"
import { operandUseOf } from "./PrefixPrograms.ts"
import { isAssignment, unwrapCommand } from "./Wrappers.ts"

/** Options begin with `-`, `+` or, in argument files, with `@`. `a=b` is an assignment. */
const isOperand = (word: string): boolean => /^[^-+@]/.test(word) && !word.includes("=")

/**
 * Names for programs that do more than read: without patterns, code of a shell that a recipe would run, or special syntax of a tool
 * (`:(glob)x`).
 */
const isName = (word: string): boolean => /^[\w./@+,-][\w./@:+,-]*$/.test(word)

/**
 * Operands that may be the value of an option. `--` ends them. `-f x` may run the file x, and so may `--setup a x`.
 */
const valuesOf = (
  further: ReadonlyArray<string>,
  { command, options = [] }: ShellRule
): ReadonlyArray<string> => {
  const takesValues = (word = ""): boolean => word.startsWith("-") && word !== "--" && !word.includes("=")
  const values: Array<string> = []
  let isOpen = takesValues(command.at(-1))
  for (const word of further) {
    if (!options.includes(word)) {
      if (isOpen) values.push(word)
    } else if (word.startsWith("-")) isOpen = takesValues(word)
  }
  return values
}

/** pytest runs the examples in text files. */
const holdsDoctests = (word: string): boolean => /\.(txt|rst)(::|$)/i.test(word)

/** An existing file, or a word that may be one. */
const namesFile = (word: string, folder: string, place: WorkspacePaths): boolean => {
  if (/[./]/.test(word)) return true
  const target = place.targetOf(word, folder)
  return target._tag === "Outside" || (target.kind !== "missing" && target.kind !== "folder")
}

/** A text that names no path outside its folder, also as a part: `a:/b`, `a:~/b`, `https://…`. */
const staysBelow = (text: string): boolean =>
  text
    .split(/\s+/)
    .every((word) => !/(^|[^\w.^{}[\]-])[/\\~]/.test(word) && !word.split(/[^\w.-]/).includes(".."))

/** An existing or new file that is not ordinary, in a folder. A new name alone is a word: `npm run build`. */
const isUnknownFile = (target: PathTarget, place: WorkspacePaths): boolean => {
  if (target._tag === "Outside" || target.kind === "folder") return false
  if (target.kind !== "missing") return true
  const folder = posix.dirname(target.path)
  const parent = place.targetOf(folder)
  return folder !== "." && parent._tag === "Inside" && parent.kind === "folder"
}

const isDelicate = (word: string, folder: string, place: WorkspacePaths): boolean =>
  namedPaths(word).some((path) => {
    const target = place.targetOf(path, folder)
    const { answer, isDelicate } = operandAnswer(target)
    return isDelicate || (answer === "ask" && isUnknownFile(target, place))
  })

/** Whether a program that writes these operands writes a delicate file: an operand, or a file with its name in a folder among them. */
const areDelicate = (words: ReadonlyArray<string>, folder: string, place: WorkspacePaths): boolean => {
  if (words.some((word) => isDelicate(word, folder, place))) return true
  const folders: Array<string> = []
  const names: Array<string> = []
  for (const word of words) {
    const target = place.targetOf(word, folder)
    if (target._tag === "Outside") continue
    if (target.kind === "folder") folders.push(target.path)
    if (target.kind === "file") names.push(posix.basename(word))
  }
  return folders.some((each) => names.some((name) => isDelicate(name, each, place)))
}

/** Whether operands name no file that other programs run or obey, as far as the program is known. */
const areHarmless = (rule: ShellRule, further: ReadonlyArray<string>, place: WorkspacePaths): boolean => {
  const widened = operandUseOf(rule.command)
  const folder = rule.cwd ?? "."
  const operands = further.filter((word) => rule.options?.includes(word) !== true)
  if (widened === undefined) return false
  if (widened === "reads") return true
  if (!operands.every(isName) || areDelicate(operands, folder, place)) return false
  if (widened === "writes") return true
  if (rule.command.includes("pytest") && operands.some(holdsDoctests)) return false
  return !valuesOf(further, rule).some((word) => namesFile(word, folder, place))
}

/** Whether a rule with `prefix` covers a need. */
export const coversByPrefix = (rule: ShellRule, need: ShellRule, place: WorkspacePaths): boolean => {
  const inner = unwrapCommand(need.command) ?? []
  const upToProgram = need.command.slice(0, need.command.length - inner.length + 1)
  const further = inner.slice(rule.command.length)
  const operands = further.filter((word) => rule.options?.includes(word) !== true)
  const folder = need.cwd ?? "."
  if (need.writes !== undefined || upToProgram.some(isAssignment) || (rule.cwd ?? ".") !== folder)
    return false
  if (!rule.command.every((word, i) => inner[i] === word)) return false
  if (grantabilityOf([...rule.command, ...operands]) !== "prefix") return false
  if (need.input !== undefined && (rule.stdin !== true || !staysBelow(need.input))) return false
  if (!operands.every((word) => isOperand(word) && staysBelow(word))) return false
  return stayInside([...operands, need.input ?? ""], folder, place) && areHarmless(rule, further, place)
}

/** Reason why a rule with these fields can never cover anything, as the end of `expected …`. */
export const prefixFault = ({ command, options, prefix, stdin }: ShellRule): string | undefined => {
  if (prefix !== true)
    return options !== undefined || stdin !== undefined
      ? "options and stdin of a grant only with prefix"
      : undefined
  return operandUseOf(command) === undefined
    ? `no prefix after ${JSON.stringify(command.join(" "))}, because its operands may be code: list whole commands`
    : undefined
}
