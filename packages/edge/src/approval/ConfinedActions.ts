/**
 * Actions that the workspace's grant `confined` allows in a run that the kernel confines: edits of ordinary files, and commands that read or
 * write only the workspace, by the list of `ConfinedPrograms`. In doubt, the user is asked.
 *
 * Guarantees: an action is allowed only if a user could have allowed it for always, its risk is not high, and it names no protected file to
 * a program that may write it. Pure, except for the file system that `RequestPaths` reads.
 * Does not: know what a script of the project does. The kernel limits it to the workspace, without the network (ADR 63).
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { basename } from "node:path"
import { confinedUseOf } from "./ConfinedPrograms.ts"
import { namedPaths } from "./NamedPaths.ts"
import { isRememberable, needsOf } from "./Needs.ts"
import { editAnswer, operandAnswer } from "./OrdinaryFiles.ts"
import { isProjectScript, packagedWords } from "./PackagedProgram.ts"
import type { ParsedSegment } from "./ParsedSegment.ts"
import type { RequestPaths } from "./PathTarget.ts"
import { editsOnly } from "./Policy.ts"
import { isOfSystem } from "./ProgramName.ts"
import { namesRemoval } from "./RemovalNames.ts"
import { assessRisk } from "./Risk.ts"
import { inFolder } from "./ShellCommand.ts"

/** Maximum number of paths of a command that are examined. */
const MAX_PATHS = 256

/** Whether the grant covers a request, as the runtime made it. */
export const isConfinedAction = (
  request: ApprovalRequest,
  segments: ReadonlyArray<ParsedSegment>,
  look: RequestPaths
): boolean => {
  // A runtime that offers only `once` asks each time.
  if (!request.scopes.some((scope) => scope !== "once")) return false
  const parts = segments.map((segment) => withoutLauncher(segment, request.cwd ?? ".", look))
  const assessed = { ...request, ...assessRisk(request, parts, look) }
  const isOrdinary = (file: string, folder?: string) =>
    editAnswer(look.targetOf(file, folder)).answer === "allow"
  if (editsOnly(assessed, isOrdinary)) return !look.isExhausted
  const { action, command, cwd = ".", files = [], risk, url } = assessed
  if (action !== "shell" || command === undefined || url !== undefined || risk === "high") return false
  if (!files.every((file) => isOrdinary(file))) return false
  const needs = needsOf(assessed, parts, look)
  if (needs?.every((need) => isRememberable(need, look)) !== true) return false
  const stays = parts.every(({ cwd: inside = "", inner, writes }) => {
    const folder = inFolder(cwd, inside)
    return writes.every(({ file }) => isOrdinary(file, folder)) && isConfinedCommand(inner, folder, look)
  })
  return stays && !look.isExhausted
}

/** A tool of a package as if it was started by its name. */
const withoutLauncher = (segment: ParsedSegment, cwd: string, look: RequestPaths): ParsedSegment => {
  if (!segment.exact) return segment
  const folder = inFolder(cwd, segment.cwd ?? ".")
  const words = packagedWords(segment.inner, (path) => {
    const target = look.targetOf(path, folder)
    return target._tag === "Inside" && target.kind === "file"
  })
  if (words === undefined) return segment
  const before = segment.words.slice(0, segment.words.length - segment.inner.length)
  return { ...segment, words: [...before, ...words], inner: words }
}

const isConfinedCommand = (words: ReadonlyArray<string>, folder: string, look: RequestPaths): boolean => {
  const [program = "", ...args] = words
  const use = confinedUseOf(words)
  if (use === undefined || isReplaceable(program, folder, look)) return false
  switch (use._tag) {
    case "reads":
      return true
    case "edits":
      return namesNothingProtected(args, folder, look)
    case "moves":
      return movesFilesOnly(args, folder, look) && namesNothingProtected(args, folder, look)
    case "runs":
      return (
        !use.names.some(namesRemoval) &&
        namesNothingProtected(values(args), folder, look) &&
        (use.rewritten === undefined || rewritesFilesOnly(use.rewritten, folder, look))
      )
    case "script":
      return (
        !operands(words).some(namesRemoval) &&
        isProjectScript(use.file, folder, look) &&
        namesNothingProtected(
          values(args).filter((word) => word !== use.file),
          folder,
          look
        )
      )
  }
}

const operands = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.filter((word) => !word.startsWith("-"))

/** Words without the names of known options, which are no files. */
const values = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((word) => {
    if (!word.startsWith("--")) return [word]
    const at = word.indexOf("=")
    return at === -1 ? [] : [word.slice(at + 1)]
  })

/** Whether a path of the system is inside of the workspace, so that a run can write it. */
const isReplaceable = (program: string, folder: string, look: RequestPaths): boolean =>
  isOfSystem(program) && program.includes("/") && look.targetOf(program, folder)._tag === "Inside"

/** Whether a tool rewrites existing files only, and all of them are ordinary. */
const rewritesFilesOnly = (files: ReadonlyArray<string>, folder: string, look: RequestPaths): boolean =>
  files.length > 0 &&
  files.every((file) => {
    const target = look.targetOf(file, folder)
    return target._tag === "Inside" && target.kind === "file" && editAnswer(target).answer === "allow"
  })

/** Whether no word is a path of a file that other programs run or obey. */
const namesNothingProtected = (args: ReadonlyArray<string>, folder: string, look: RequestPaths): boolean => {
  const paths = [...new Set(args.flatMap(namedPaths))].filter((path) => path !== "/dev/null")
  return (
    paths.length <= MAX_PATHS &&
    paths.every((path) => isPattern(path) || !operandAnswer(look.targetOf(path, folder)).isDelicate)
  )
}

/** `./...` of Go: all packages. */
const isPattern = (path: string): boolean => /^(\.\/)?\.{3}$/.test(path)

/** Whether a copy or a move has no options, and neither takes a folder nor writes a protected name into one. */
const movesFilesOnly = (args: ReadonlyArray<string>, folder: string, look: RequestPaths): boolean => {
  const [to = "", ...from] = args.toReversed()
  if (from.length === 0 || args.some((word) => word.startsWith("-"))) return false
  const kindOf = (path: string) => {
    const target = look.targetOf(path, folder)
    return target._tag === "Inside" ? target.kind : "special"
  }
  if (!from.every((path) => kindOf(path) === "file")) return false
  if (kindOf(to) !== "folder") return true
  return namesNothingProtected(
    from.map((path) => basename(path)),
    inFolder(folder, to),
    look
  )
}
