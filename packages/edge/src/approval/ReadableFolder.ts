/**
 * Folder outside the workspace that a run may read without asking: the files of its conversation.
 *
 * A request qualifies if it does nothing but read: a tool that only reads the files it names, or one plain command that prints files.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { realpathSync } from "node:fs"
import { isAbsolute } from "node:path"
import { isWithin } from "../workspace/PathContainment.ts"
import { segmentsOf } from "./ShellCommand.ts"

/** Maximum number of files of one request that are examined. */
const MAX_FILES = 64

/** Programs that print the files they name, with any option. */
const printers: ReadonlySet<string> = new Set(["cat", "head", "tail", "wc"])
/** An option without a file, such as `-n` or `-20`, and its number. */
const isPlainOption = (word: string): boolean => /^-[a-z]?[0-9]{0,9}$|^[0-9]{1,9}$/.test(word)
/** The lines that `sed -n` prints. */
const isLineRange = (word: string): boolean => /^[0-9]{1,9}(?:,[0-9]{1,9})?p$/.test(word)

/** Files that a command prints, if it does nothing else. */
const filesPrintedBy = (command: string): ReadonlyArray<string> | undefined => {
  const [segment, ...others] = segmentsOf(command)
  if (segment === undefined || others.length > 0) return undefined
  const { assignments, exact, input, opaque, words, writes } = segment
  if (!exact || opaque !== undefined || input !== undefined || assignments.length > 0 || writes.length > 0)
    return undefined
  const [program = "", ...args] = words
  if (program === "sed") return args[0] === "-n" && isLineRange(args[1] ?? "") ? args.slice(2) : undefined
  return printers.has(program) ? args.filter((word) => !isPlainOption(word)) : undefined
}

const filesReadBy = ({
  command,
  files = [],
  readsOnly,
  url
}: ApprovalRequest): ReadonlyArray<string> | undefined => {
  if (url !== undefined) return undefined
  if (command !== undefined) return files.length === 0 ? filesPrintedBy(command) : undefined
  return readsOnly === true ? files : undefined
}

/** Whether a request does nothing but read existing files whose real paths are in the folder. */
export const readsOnlyIn = (folder: string, request: ApprovalRequest): boolean => {
  const files = filesReadBy(request) ?? []
  if (files.length === 0 || files.length > MAX_FILES || !files.every(isAbsolute)) return false
  try {
    const root = realpathSync(folder)
    return files.every((file) => isWithin(root, realpathSync(file)))
  } catch {
    return false
  }
}
