/**
 * Coverage of grant rules: the rule itself, and for rules of the configuration, prefixes and patterns. Also the grants of the
 * configuration: for a workspace, and of an agent.
 *
 * Only programs of the allowlist in `CarriedCommand` may have arguments after the words of a rule with `prefix`. These are operands:
 * no options, no assignments, nothing outside the workspace, and no file that other programs run or obey, because a program may write
 * its files. Words of the rule's `options` may follow too, exactly as written: many programs take code in an option, and complete its
 * abbreviation. A file after such an option asks, because it may be its value.
 *
 * In file patterns `*` and `?` match within a name, `**` across folders. Names that begin with a dot must be written out. Matching
 * takes at most the product of the lengths of pattern and path.
 */
import type { GrantRule, ShellRule, WriteRule } from "@corral/domain/approval/Grant"
import { posix } from "node:path"
import type { NamedGrant, WorkspaceEntry } from "../config/WorkspaceEntries.ts"
import { grantabilityOf } from "./Interpreters.ts"
import { namedPaths, stayInside } from "./NamedPaths.ts"
import type { Need } from "./Needs.ts"
import { operandAnswer } from "./OrdinaryFiles.ts"
import type { PathTarget, WorkspacePaths } from "./PathTarget.ts"
import { operandUseOf } from "./CarriedCommand.ts"
import { isAssignment, unwrapCommand } from "./ProgramName.ts"

/** Whether `items` match `pattern`. A part with `isMany(part)` matches any number of items that `mayFill`. */
const fits = <P, I>(
  pattern: ReadonlyArray<P>,
  items: ReadonlyArray<I>,
  rules: {
    readonly isMany: (part: P) => boolean
    readonly mayFill: (item: I) => boolean
    readonly isOne: (part: P, item: I) => boolean
  }
): boolean => {
  let part = 0
  let retryPart = -1
  let retryItem = 0
  for (let item = 0; item < items.length;) {
    const wanted = pattern[part]
    const found = items[item] as I // below the length
    if (wanted !== undefined && rules.isMany(wanted)) {
      retryPart = part++
      retryItem = item
    } else if (wanted !== undefined && rules.isOne(wanted, found)) {
      part++
      item++
    } else {
      // The last wildcard takes one more item. Earlier wildcards need not, because the items between them match already.
      const next = items[retryItem]
      if (retryPart === -1 || next === undefined || !rules.mayFill(next)) return false
      part = retryPart + 1
      item = ++retryItem
    }
  }
  return pattern.slice(part).every(rules.isMany)
}

const hides = (name: string): boolean => name.startsWith(".")

/** Whether the name of a file or folder matches one name of a pattern. */
const fitsName = (pattern: string, name: string): boolean =>
  name !== "" &&
  !(hides(name) && /^[*?]/.test(pattern)) &&
  fits([...pattern], [...name], {
    isMany: (part) => part === "*",
    mayFill: () => true,
    isOne: (part, character) => part === "?" || part === character
  })

/** Whether a relative, normalized path matches a pattern. */
export const matchesPath = (pattern: string, path: string): boolean => {
  const parts = pattern.split("/")
  // A folder is not inside itself: `**` at the end matches at least one name.
  if (parts.at(-1) === "**") parts.push("*")
  return fits(parts, path.split("/"), {
    isMany: (part) => part === "**",
    mayFill: (name) => name !== "" && !hides(name),
    isOne: fitsName
  })
}

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
const isFileWord = (word: string, folder: string, place: WorkspacePaths): boolean => {
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
  return !valuesOf(further, rule).some((word) => isFileWord(word, folder, place))
}

/** Whether a rule with `prefix` covers a need. */
const coversByPrefix = (rule: ShellRule, need: ShellRule, place: WorkspacePaths): boolean => {
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
const prefixFault = ({ command, options, prefix, stdin }: ShellRule): string | undefined => {
  if (prefix !== true)
    return options !== undefined || stdin !== undefined
      ? "options and stdin of a grant only with prefix"
      : undefined
  return operandUseOf(command) === undefined
    ? `no prefix after ${JSON.stringify(command.join(" "))}, because its operands may be code: list whole commands`
    : undefined
}

/** Key of an exact rule. Equal rules have equal keys. */
export const ruleKey = (rule: GrantRule): string => {
  switch (rule.action) {
    case "shell": {
      const { command, cwd = ".", input, prefix = false, writes = [] } = rule
      const files = writes.map(({ append = false, file }) => [file, append])
      return JSON.stringify(["shell", command, cwd, prefix, input ?? null, files])
    }
    case "write":
      return JSON.stringify(["write", rule.files, rule.tool ?? null])
    case "network":
      return JSON.stringify(["network", rule.host, rule.tool ?? null])
    case "tool":
      return JSON.stringify(["tool", rule.tool, rule.input])
  }
}

/** A shell need without its written files. */
export const withoutWrites = ({ action, command, cwd, input }: ShellRule): ShellRule => ({
  action,
  command,
  ...(cwd === undefined ? {} : { cwd }),
  ...(input === undefined ? {} : { input })
})

/** Whether a rule of the configuration covers a need. Written files are not part of it: each needs its own rule. */
export const covers = (rule: GrantRule, need: Need, place: WorkspacePaths): boolean => {
  switch (need.action) {
    case "shell":
      return (
        rule.action === "shell" &&
        (rule.prefix === true ? coversByPrefix(rule, need, place) : ruleKey(rule) === ruleKey(need))
      )
    case "write":
      return (
        rule.action === "write" && usesTool(rule, need) && need.files.every((file) => namesFile(rule, file))
      )
    case "network":
      return rule.action === "network" && usesTool(rule, need) && rule.host === need.host
    case "tool":
      return ruleKey(rule) === ruleKey(need)
  }
}

/** Whether a rule of the configuration allows a redirection to write a file. */
export const coversFile = (rule: GrantRule, file: string): boolean =>
  rule.action === "write" && rule.tool === undefined && namesFile(rule, file)

const namesFile = ({ files }: WriteRule, file: string): boolean =>
  files.some((pattern) => matchesPath(pattern, file))

const usesTool = (rule: { readonly tool?: string }, need: { readonly tool?: string }): boolean =>
  rule.tool === undefined || rule.tool === need.tool

/** Reason why a rule of the configuration can never cover anything, as the end of `expected …`. */
export const unusableReason = (rule: GrantRule): string | undefined => {
  switch (rule.action) {
    case "write":
      return rule.files.some((file) => /^[/\\]|^[A-Za-z]:/.test(file) || file.split("/").includes(".."))
        ? "the files of a grant to be inside the workspace"
        : undefined
    case "shell": {
      const program = rule.command.findIndex((word) => !isAssignment(word))
      const words = program === -1 ? [] : rule.command.slice(program)
      const inner = unwrapCommand(words) ?? []
      const hold = grantabilityOf(inner)
      const quoted = JSON.stringify(words[0] ?? "")
      if (hold === "never") return `a grant to name a program, and ${quoted} runs another program or a script`
      const widens = hold === "exact" || program > 0 || inner.length < words.length
      return rule.prefix === true && widens
        ? `a grant for ${quoted} without prefix, because more arguments make it another program`
        : prefixFault(rule)
    }
    default:
      return undefined
  }
}

export type ConfiguredGrant = NamedGrant | GrantRule

export const rulesOf = (grants: ReadonlyArray<ConfiguredGrant>): ReadonlyArray<GrantRule> =>
  grants.filter((grant) => typeof grant !== "string")

/** Reason to reject grants that would allow too much. */
export const unusableGrant = (entries: ReadonlyArray<WorkspaceEntry>): string | undefined =>
  entries.flatMap(({ grants = [] }) => rulesOf(grants)).flatMap((rule) => unusableReason(rule) ?? [])[0]
