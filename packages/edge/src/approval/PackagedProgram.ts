/**
 * Programs of packages and scripts of the project, in a workspace.
 *
 * A tool that is installed in the workspace counts as the tool, however it is started: `npx tsc`, `node_modules/.bin/tsc`,
 * `python -m pytest`, `.venv/bin/pytest`, `./gradlew`. Other programs in folders of packages are not scripts of the project.
 */
import { packageFolders } from "./FileNames.ts"
import { foldedName } from "./FoldedName.ts"
import type { RequestPaths } from "./PathTarget.ts"
import { systemProgramOf } from "./ProgramName.ts"
import { isPackagedTool } from "./KnownTools.ts"

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
export const packagedWords = (
  words: ReadonlyArray<string>,
  isFile: IsFile
): ReadonlyArray<string> | undefined => {
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
export const isProjectScript = (path: string, folder: string, look: RequestPaths): boolean => {
  const target = look.targetOf(path, folder)
  if (target._tag === "Outside" || target.kind !== "file" || target.isRepository || target.hasOtherNames)
    return false
  const names = target.path.split("/").map(foldedName)
  return (
    scriptType.test(names.at(-1) ?? "") &&
    !names.some((name) => name.startsWith(".") || packageFolders.has(name))
  )
}
