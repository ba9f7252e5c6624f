/**
 * Folders that a program and its interpreter need, found by the links that lead to them.
 *
 * Does not: read the program. A program that loads files from elsewhere names them in its adapter's `folders.reads`.
 */
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs"
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path"
import { folderOfProgram, toolFolders } from "./ToolFolders.ts"

const MAX_LINKS = 20

/** The path and every path that its links name, the real path last. */
const linksOf = (path: string): ReadonlyArray<string> => {
  const found = [path]
  let at = path
  for (let links = 0; links < MAX_LINKS; links++) {
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() !== true) break
    at = resolve(dirname(at), readlinkSync(at))
    found.push(at)
  }
  return [...found, realpathSync(path)]
}

const foldersOfPath = (home: string, path: string): ReadonlyArray<string> => {
  try {
    return linksOf(path).map((each) => folderOfProgram(home, each))
  } catch {
    // It does not exist.
    return []
  }
}

/** Variables with certificates that programs read. */
const CERTIFICATES = ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"]

const INTERPRETERS = /^(?:node|nodejs|bun|python3?(?:\.\d+)?|ruby|perl|php|sh|bash)$/

/**
 * The script that an interpreter starts: its first argument that is not an option. Later arguments may hold a prompt, which must not make a
 * folder readable.
 */
const scriptOf = (program: string, args: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (!INTERPRETERS.test(basename(program))) return []
  const script = args.find((each) => !each.startsWith("-"))
  return script !== undefined && isAbsolute(script) && isFile(script) ? [script] : []
}

const isFile = (path: string): boolean => {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** Existing folders that a run reads: of its program and script, of the programs on its PATH, of toolchains, and its certificates. */
export const foldersOfTools = (
  program: string,
  env: Readonly<Record<string, string>>,
  home: string,
  args: ReadonlyArray<string> = []
): ReadonlyArray<string> => {
  const onPath = (env["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder))
  return [
    ...new Set([
      ...toolFolders.map((folder) => join(home, folder)),
      // A name in the folder stands for the programs in it.
      ...onPath.map((folder) => folderOfProgram(home, join(resolve(folder), "program"))),
      ...[program, ...scriptOf(program, args)].flatMap((path) => foldersOfPath(home, path)),
      ...CERTIFICATES.flatMap((name) => env[name] ?? []).filter((path) => isAbsolute(path))
    ])
  ].filter((folder) => existsSync(folder))
}
