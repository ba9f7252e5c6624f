/**
 * Folders that a program and its interpreter need, found by the links that lead to them.
 *
 * Does not: read the program. A program that loads files from elsewhere names them in its adapter's `folders.reads`.
 */
import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs"
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path"
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

/** Existing folders that a run reads: of its program, of the programs on its PATH, of toolchains, and its certificates. */
export const foldersOfTools = (
  program: string,
  env: Readonly<Record<string, string>>,
  home: string
): ReadonlyArray<string> => {
  const onPath = (env["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder))
  return [
    ...new Set([
      ...toolFolders.map((folder) => join(home, folder)),
      // A name in the folder stands for the programs in it.
      ...onPath.map((folder) => folderOfProgram(home, join(resolve(folder), "program"))),
      ...foldersOfPath(home, program),
      ...CERTIFICATES.flatMap((name) => env[name] ?? []).filter((path) => isAbsolute(path))
    ])
  ].filter((folder) => existsSync(folder))
}
