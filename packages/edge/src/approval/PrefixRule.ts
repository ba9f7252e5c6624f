/**
 * What a configured command covers with more arguments after it.
 *
 * The further arguments are operands: no options, no assignments, nothing outside of the workspace, and no file that other programs run or
 * obey, because a program may write each file that it is given. Words that a rule lists under `options` may follow too, exactly as written:
 * many programs take code in an option, and complete its beginning.
 */
import type { ShellRule } from "@corral/domain/Grant"
import { posix } from "node:path"
import { holdOf } from "./Interpreters.ts"
import { namedPaths, stayInside } from "./NamedPaths.ts"
import { operandAnswer } from "./OrdinaryFiles.ts"
import type { PathTarget, Place } from "./PathTarget.ts"
import { programOf } from "./ProgramName.ts"
import { isAssignment, unwrapped } from "./Wrappers.ts"

/** Without options they write nothing and start nothing. */
const readers = new Set(
  "cat head tail wc ls stat file du cmp diff grep egrep fgrep rg nl cut sort echo printf md5sum sha256sum".split(
    " "
  )
)

/** Options of programs begin with `-`, `+` or, in files of arguments, with `@`; `a=b` sets something. */
const isOperand = (word: string): boolean => /^[^-+@]/.test(word) && !word.includes("=")

/** A text that names no path out of its folder, also where that is a part of it: `a:/b`, `a:~/b`, `https://…`. */
const staysBelow = (text: string): boolean =>
  text
    .split(/\s+/)
    .every((word) => !/(^|[^\w.^{}[\]-])[/\\~]/.test(word) && !word.split(/[^\w.-]/).includes(".."))

/** A file of no ordinary type that is there, or would be made in a folder. A new name alone is a word: `npm run build`. */
const isUnknownFile = (target: PathTarget, place: Place): boolean => {
  if (target._tag === "Outside" || target.kind === "folder") return false
  if (target.kind !== "missing") return true
  const folder = posix.dirname(target.path)
  const parent = place.targetOf(folder)
  return folder !== "." && parent._tag === "Inside" && parent.kind === "folder"
}

const isDelicate = (word: string, folder: string, place: Place): boolean =>
  namedPaths(word).some((path) => {
    const target = place.targetOf(path, folder)
    const { answer, isDelicate } = operandAnswer(target)
    return isDelicate || (answer === "ask" && isUnknownFile(target, place))
  })

/** Whether a program that writes these operands writes a delicate file: one of them, or one of that name in a folder among them. */
const areDelicate = (words: ReadonlyArray<string>, folder: string, place: Place): boolean => {
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

/** Whether a rule with `prefix` covers a need. */
export const coversByPrefix = (rule: ShellRule, need: ShellRule, place: Place): boolean => {
  const inner = unwrapped(need.command) ?? []
  const upToProgram = need.command.slice(0, need.command.length - inner.length + 1)
  const further = inner.slice(rule.command.length)
  const operands = further.filter((word) => rule.options?.includes(word) !== true)
  const folder = need.cwd ?? "."
  if (need.writes !== undefined || upToProgram.some(isAssignment) || (rule.cwd ?? ".") !== folder)
    return false
  if (!rule.command.every((word, i) => inner[i] === word)) return false
  if (holdOf([...rule.command, ...operands]) !== "prefix") return false
  if (need.input !== undefined && (rule.stdin !== true || !staysBelow(need.input))) return false
  if (!operands.every((word) => isOperand(word) && staysBelow(word))) return false
  if (!stayInside([...operands, need.input ?? ""], folder, place)) return false
  return readers.has(programOf(inner)) || !areDelicate(operands, folder, place)
}

/** Why a rule with those fields can never cover anything, as the end of `expected …`. */
export const prefixFault = ({ options, prefix, stdin }: ShellRule): string | undefined =>
  prefix !== true && (options !== undefined || stdin !== undefined)
    ? "options and stdin of a grant only with prefix"
    : undefined
