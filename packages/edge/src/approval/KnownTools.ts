/**
 * Lookup of tools by their words, for the grant `confined`. A tool, an option or an operand that is not listed is unknown.
 */
import { readWords } from "./KnownOptions.ts"
import { anyOperand, packagedTools, plainWord, scriptOptions, systemTools, type Tool } from "./ToolOptions.ts"

const find = (
  tables: Readonly<Record<string, Tool>>,
  program: string,
  first: string
): readonly [Tool, number] | undefined => {
  const name = `${program} ${first}`
  const bySubcommand = Object.hasOwn(tables, name) ? tables[name] : undefined
  if (bySubcommand !== undefined) return [bySubcommand, 2]
  const whole = Object.hasOwn(tables, program) ? tables[program] : undefined
  return whole === undefined ? undefined : [whole, 1]
}

/** Whether a package's program of this name is known, with its first word. */
export const isPackagedTool = (program: string, first = ""): boolean =>
  find(packagedTools, program, first) !== undefined

/** Words of a tool whose options are all known. */
export interface ToolWords {
  /** Files that the tool rewrites; `undefined` without an option that rewrites. */
  readonly rewritten: ReadonlyArray<string> | undefined
  /** Operands that name scripts or targets of the project. */
  readonly names: ReadonlyArray<string>
}

/** A tool with known options and operands; `undefined` for any other. `program` is the name of a program of the system or of a package. */
export const toolWords = (program: string, args: ReadonlyArray<string>): ToolWords | undefined => {
  const found = find(systemTools, program, args[0] ?? "") ?? find(packagedTools, program, args[0] ?? "")
  if (found === undefined) return undefined
  const [{ after, first, isRecipe, operand, options, rewriting, runsNames }, length] = found
  if (isRecipe && !args.every((word) => word.startsWith("-") || plainWord.test(word))) return undefined
  const read = readWords(args.slice(length - 1), options)
  if (read === undefined) return undefined
  const { operands } = read
  if (operands.length > 0 && !first.test(operands[0] ?? "")) return undefined
  if (!operands.slice(1).every((word) => operand.test(word))) return undefined
  const passed = read.after === undefined ? undefined : readWords(read.after, after)
  if (read.after !== undefined && passed === undefined) return undefined
  // A second `--` may end the options of another program in between.
  if (passed?.after !== undefined) return undefined
  if (passed?.operands.every((word) => anyOperand.test(word)) === false) return undefined
  const rewrites = read.options.some((word) => rewriting.has(word))
  return {
    rewritten: rewrites ? [...operands, ...(passed?.operands ?? [])] : undefined,
    names: runsNames ? [...operands, ...(passed?.operands ?? [])] : []
  }
}

/** Whether the words after a script of the project are operands and options that only change what it prints or selects. */
export const isPlainForScript = (args: ReadonlyArray<string>): boolean => {
  const read = readWords(args, scriptOptions)
  return (
    read !== undefined && [...read.operands, ...(read.after ?? [])].every((word) => /^[^-@+]/s.test(word))
  )
}
