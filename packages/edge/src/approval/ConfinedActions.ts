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
import type { ParsedSegment } from "./ParsedSegment.ts"
import type { RequestPaths } from "./PathTarget.ts"
import { editsOnly } from "./Policy.ts"
import { isOfSystem, systemProgramOf } from "./ProgramName.ts"
import { assessRisk } from "./Risk.ts"
import { inFolder } from "./ShellCommand.ts"
import { foldedName, packageFolders } from "./FileNames.ts"
import { isPackagedTool } from "./KnownTools.ts"

// Programs of packages and scripts of the project, in a workspace.
//
// A tool that is installed in the workspace counts as the tool, however it is started: `npx tsc`, `node_modules/.bin/tsc`,
// `python -m pytest`, `.venv/bin/pytest`, `./gradlew`. Other programs in folders of packages are not scripts of the project.

/** Whether a path is an existing file of the workspace. */
type IsFile = (path: string) => boolean

const inPackages = /^(?:\.\/)?(?:[\w-]+\/)*(?:node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\/([a-z][\w-]*)$/
const wrappers: ReadonlyMap<string, string> = new Map([
  ["gradlew", "gradle"],
  ["mvnw", "mvn"]
])

/** The words of `npx` without its options. */
const afterNpx = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args[0] === "--no" || args[0] === "--no-install" ? args.slice(1) : args

/** The words of a tool that is installed in the workspace; `undefined` if the command starts none. */
const packagedWords = (words: ReadonlyArray<string>, isFile: IsFile): ReadonlyArray<string> | undefined => {
  const [word = "", ...args] = words
  const ifListed = (tool: ReadonlyArray<string>): ReadonlyArray<string> | undefined =>
    isPackagedTool(tool[0] ?? "", tool[1]) ? tool : undefined
  const program = systemProgramOf(words)
  if (program === "npx") {
    const tool = afterNpx(args)
    return isFile(`node_modules/.bin/${tool[0] ?? ""}`) ? ifListed(tool) : undefined
  }
  if (program === "python" && args[0] === "-m") return ifListed(args.slice(1))
  if (program !== undefined || !isFile(word)) return undefined
  const wrapped = wrappers.get(/^\.\/(\w+)$/.exec(word)?.[1] ?? "")
  if (wrapped !== undefined) return [wrapped, ...args]
  const name = inPackages.exec(word)?.[1]
  return name === undefined ? undefined : ifListed([name, ...args])
}

/** Types of scripts. A program without one may be anything. */
const scriptType = /\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|mts|cts|tsx|rb|pl|php|lua|r|jl)$/

/** Whether a path is a script of the project: an existing file with the type of one, and its real target is not in a folder of packages. */
const isProjectScript = (path: string, folder: string, look: RequestPaths): boolean => {
  const target = look.targetOf(path, folder)
  if (target._tag === "Outside" || target.kind !== "file" || target.isRepository || target.hasOtherNames)
    return false
  const names = target.path.split("/").map(foldedName)
  return (
    scriptType.test(names.at(-1) ?? "") &&
    !names.some((name) => name.startsWith(".") || packageFolders.has(name))
  )
}

// Names of scripts and targets by which something is removed, replaced, published or deployed: `clean`, `db:reset`, `./scripts/wipe.sh`,
// `resetDb`. Data and its lookup.
//
// Does not: know what a script does. A script of any other name may remove files too.

const removals = new Set(
  (
    "bump clear delete deploy destroy discard down drop eject empty erase expunge flush fresh kill nuke obliterate overwrite prune publish " +
    "purge push release remove reset restore revert rimraf rm rollback scrub shred tag teardown trash truncate undo uninstall unlink unpublish upload " +
    "wipe zap"
  ).split(" ")
)

/** The words of a name: `resetDb` and `reset-db` have the same. */
const wordsOf = (name: string): ReadonlyArray<string> =>
  name
    .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .split(/[^a-z]+/)

const namesRemoval = (name: string): boolean =>
  wordsOf(name).some((word) => removals.has(word) || word.endsWith("clean") || word.startsWith("clean"))

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
