/**
 * Files that `auto_edit` writes without asking: regular files of listed types, in folders and with names that no tool reads as commands,
 * settings or instructions. Every other file asks.
 *
 * A source file runs when a user runs the program or its tests. Files that ask are those that another program runs or obeys by itself: a
 * shell, Git, an editor, a package manager, a build, a test runner, CI or an agent. ADR 26 gives the reasons, `docs/auto-edit.md` a table.
 */
import type { Risk } from "@corral/domain/approval/Approval"
import {
  agentFolders,
  autoLoadedNames,
  autoLoadedTestNames,
  dataFolderParents,
  dataFolders,
  dataFoldersBelow,
  dataTypes,
  docFolders,
  documentationTypes,
  documentNames,
  foldedName,
  installationFolderNames,
  instructionNames,
  isPlainName,
  runFolders,
  runFoldersOfProject,
  runFoldersOfTests,
  runFoldersOfTypes,
  scriptTypes,
  settingsFiles,
  sourceFolders,
  sourceTypes,
  testFolders
} from "./FileNames.ts"
import type { InsideTarget, PathTarget } from "./PathTarget.ts"

/** The answer of `auto_edit` for one file. */
export interface EditAnswer {
  readonly answer: "allow" | "ask"
  /** Minimum risk of a write. */
  readonly risk: Risk
  /** Reason, as a sentence. */
  readonly reason: string
  /** Whether other programs run or obey the file. */
  readonly isDelicate: boolean
}

/** Maximum length of a name on common file systems. */
const MAX_NAME = 255

const delicate = (reason: string): EditAnswer => ({ answer: "ask", risk: "high", reason, isDelicate: true })
const unusual = (reason: string, isDelicate = false): EditAnswer => ({
  answer: "ask",
  risk: "medium",
  reason,
  isDelicate
})
const allowed = (reason: string): EditAnswer => ({ answer: "allow", risk: "low", reason, isDelicate: false })

type Folders = ReadonlyArray<string>

const typeOf = (name: string): string => /\.([a-z0-9]+)$/.exec(name)?.[1] ?? ""

const isBelow = (folders: Folders, at: number, above: ReadonlySet<string>): boolean =>
  folders.slice(0, at).some((folder) => above.has(folder))

/** A file that agents read because of its name or folder. */
const isInstruction = (name: string, folded: string, folders: Folders): boolean => {
  if (instructionNames.test(folded) || folders.some((folder) => instructionNames.test(folder))) return true
  const type = typeOf(folded)
  if (!documentationTypes.has(type) && type !== "mdx") return false
  if (folders.some((folder, at) => agentFolders.has(folder) && !isBelow(folders, at, docFolders))) return true
  const [stem = ""] = name.split(".", 1)
  return (
    /^(md|markdown)$/.test(type) && /^[A-Z][A-Z0-9_-]+$/.test(stem) && !documentNames.has(stem.toLowerCase())
  )
}

/** React calls its own functions hooks. */
const isComponentHook = (folder: string, type: string): boolean =>
  folder === "hooks" && /^[jt]sx?$/.test(type)

/** Whether other programs run the files of a folder on the path. */
const isRun = (folders: Folders, type: string): boolean =>
  folders.some((folder, at) => {
    if (runFolders.has(folder) || installationFolderNames.test(folder)) return true
    if (runFoldersOfTypes.get(folder)?.has(type) === true) return true
    if (!scriptTypes.has(type)) return false
    const isOfTests = runFoldersOfTests.has(folder) && testFolders.has(folders[at - 1] ?? "")
    const isOfSources =
      isBelow(folders, at, sourceFolders) && (folder !== "hooks" || isComponentHook(folder, type))
    return isOfTests || (runFoldersOfProject.has(folder) && !isOfSources)
  })

/** Whether a tool looks for this name in this folder. Some tools accept a folder instead of the file. */
const isLookedUp = (name: string, folders: Folders): boolean => {
  if (
    autoLoadedNames.test(name) ||
    folders.some((folder) => folder.includes(".") && autoLoadedNames.test(folder))
  )
    return true
  if (!scriptTypes.has(typeOf(name))) return false
  if (name === "__init__.py" && autoLoadedNames.test(`${folders.at(-1) ?? ""}.py`)) return true
  return autoLoadedTestNames.test(name) && folders.some((folder) => testFolders.has(folder))
}

const isData = (folders: Folders): boolean =>
  folders.some(
    (folder, at) =>
      dataFolders.has(folder) || (dataFoldersBelow.has(folder) && isBelow(folders, at, dataFolderParents))
  )

const answerForType = (type: string, folders: Folders): EditAnswer => {
  if (sourceTypes.has(type)) return allowed("Source code. It runs when you run the program or its tests.")
  if (documentationTypes.has(type)) return allowed("Documentation.")
  if (dataTypes.has(type)) return allowed("Data.")
  if (!settingsFiles.has(type)) return unusual("Its type is not on the list of ordinary types.")
  return isData(folders)
    ? allowed("Data.")
    : unusual("Tools read settings in this format. It is data only in a folder for data.", true)
}

/** Why another program runs or obeys a file, by its names. `name`: the last one. `folded`: all names as file systems compare them. */
export const loadedReason = (name: string, folded: ReadonlyArray<string>): string | undefined => {
  const last = folded.at(-1) ?? ""
  const folders = folded.slice(0, -1)
  if (folded.some((each) => each.startsWith(".")))
    return "Names that begin with a dot belong to tools: settings, hooks and commands."
  if (isRun(folders, typeOf(last))) return "Other programs run the files of this folder."
  if (isInstruction(name, last, folders)) return "Agents read it as instructions."
  if (isLookedUp(last, folders))
    return "A build, a package manager, a test runner or an editor runs or obeys it."
  return undefined
}

const answerForName = (target: InsideTarget): EditAnswer => {
  const names = target.path.split("/")
  if (names.some((name) => name.length > MAX_NAME)) return unusual("Its name is too long to be judged.")
  const folded = names.map(foldedName)
  const [name = "", last = ""] = [names.at(-1), folded.at(-1)]
  const folders = folded.slice(0, -1)
  const type = typeOf(last)
  const reason = loadedReason(name, folded)
  if (reason !== undefined) return delicate(reason)
  if (!names.every(isPlainName)) return unusual("File systems or tools read its name in different ways.")
  if (scriptTypes.has(type) && target.isAtTop)
    return unusual("Tools look for files by name where a project or a package begins.", true)
  return answerForType(typeOf(name.toLowerCase()), folders)
}

const answerOnDisk = ({
  hasOtherNames,
  isExecutable,
  isRepository,
  kind
}: InsideTarget): EditAnswer | undefined => {
  if (isRepository) return delicate("Git's own data. Hooks and settings there are commands.")
  if (kind === "folder" || kind === "special") return delicate("It is not a regular file.")
  if (hasOtherNames) return delicate("It has hard links, which may be anywhere.")
  return isExecutable ? delicate("It is executable.") : undefined
}

/** The answer of `auto_edit` for a write to a target. */
export const editAnswer = (target: PathTarget): EditAnswer =>
  target._tag === "Outside" ? delicate(target.reason) : (answerOnDisk(target) ?? answerForName(target))

/** The answer for an operand of a command, which may be a folder. */
export const operandAnswer = (target: PathTarget): EditAnswer => {
  if (target._tag === "Outside" || target.kind !== "folder" || target.isRepository) return editAnswer(target)
  return target.path === "." ? allowed("The workspace.") : answerForName(target)
}
