/**
 * Paths that the words of a command may name: each word, the values in it, and files next to named files in folders.
 *
 * Returns too many rather than too few: text that is not a path leads to a file that does not exist. Network addresses are not paths.
 */
import { basename } from "node:path"
import { isGrantableTarget, type WorkspacePaths } from "./PathTarget.ts"
import { withoutSedScripts } from "./CarriedCommand.ts"
import { isAssignment, isOfSystem, programOf, unwrapCommand } from "./ProgramName.ts"

/** Maximum number of lookups per command. */
const MAX_PATHS = 1_024

const address = /\b(?:https?|wss?|ssh|git|s?ftp):\/\/[^\s"'=@]*/gi
const separators = /[\s=:,;@|<>()"'`&*?{}]+/

/** An option's letters may end anywhere before its value: `-C../x`, `-xvCout/x`. */
const withoutLetters = (word: string): ReadonlyArray<string> => {
  const letters = /^-+[A-Za-z0-9]*/.exec(word)?.[0].length ?? 0
  return Array.from({ length: letters }, (_, i) => word.slice(i + 1))
}

/** All parts of a word that may be paths. */
export const namedPaths = (word: string): ReadonlyArray<string> => {
  const text = word.replaceAll(address, " ")
  return [...new Set([text.trim(), ...text.split(separators)])]
    .flatMap((part) => (part.startsWith("-") ? withoutLetters(part) : [part]))
    .filter((part) => part !== "")
}

const isDevice = (path: string): boolean => path === "/dev/null"

/** Whether every path in these texts, relative to a folder of the workspace, is a file in it that a grant may cover. */
export const stayInside = (texts: ReadonlyArray<string>, folder: string, place: WorkspacePaths): boolean => {
  const paths = new Set(texts.flatMap(namedPaths))
  const folders: Array<string> = []
  if (paths.size > MAX_PATHS) return false
  for (const path of paths) {
    if (isDevice(path)) continue
    const target = place.targetOf(path, folder)
    if (!isGrantableTarget(target)) return false
    if (target.kind === "folder") folders.push(target.path)
  }
  // `cp a dir` writes dir/a, wherever that leads.
  if (paths.size * folders.length > MAX_PATHS) return false
  const names = new Set([...paths].map((path) => basename(path)).filter((name) => !/^\.{0,2}$/.test(name)))
  return folders.every((each) => [...names].every((name) => isGrantableTarget(place.targetOf(name, each))))
}

/** Whether all files that a command's words or input name are inside the workspace. */
export const touchesInsideOnly = (
  command: ReadonlyArray<string>,
  input: string | undefined,
  folder: string,
  place: WorkspacePaths
): boolean => {
  const start = command.findIndex((word) => !isAssignment(word))
  const words = command.slice(Math.max(0, start))
  const inner = unwrapCommand(words) ?? words
  const programs = new Set([start, command.length - inner.length])
  const isProgram = (word: string, at: number): boolean => programs.has(at) && isOfSystem(word)
  const args = programOf(inner) === "sed" ? withoutSedScripts(inner.slice(1)) : inner.slice(1)
  const named = [
    ...command.slice(0, command.length - inner.length + 1).filter((word, at) => !isProgram(word, at)),
    ...args,
    ...(input === undefined ? [] : [input])
  ]
  return stayInside(named, folder, place)
}
