/**
 * Paths in a tool's input, found by the names of fields. An approval shows all of them, and policy checks all of them.
 *
 * Does not: find every path. An input with an unknown field needs a decision of a user: see `KnownFields`.
 */
import { arrayOf, isJsonObject, textOf, type JsonObject } from "../text/Json.ts"

/** Last words of field names with paths: `file_path`, `targetFile`, `paths`. */
const pathFieldNames =
  /(^|[_-])(paths?|files?|file_?names?|file_?paths?|notebooks?|dirs?|directory|directories|folders?|destinations?|dest)$/

const holdsPaths = (field: string): boolean =>
  pathFieldNames.test(field.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, "_").toLowerCase())

/** Maximum number of paths. Policy requests a decision for far fewer files. */
const MAX_PATHS = 300
const MAX_DEPTH = 4

const collect = (value: unknown, isPath: boolean, depth: number, found: Set<string>): void => {
  if (depth > MAX_DEPTH || found.size >= MAX_PATHS) return
  if (typeof value === "string" && isPath && value !== "") found.add(value)
  else if (Array.isArray(value)) for (const each of arrayOf(value)) collect(each, isPath, depth + 1, found)
  else if (isJsonObject(value))
    for (const [key, each] of Object.entries(value)) collect(each, holdsPaths(key), depth + 1, found)
}

/** All paths of an input, the tool's `target` first if it is known. */
export const pathsIn = (input: JsonObject, target?: string): ReadonlyArray<string> => {
  const found = new Set<string>(target === undefined ? [] : [target])
  collect(input, false, 0, found)
  return [...found]
}

/** Start folder of a file pattern, if it may be outside of the tool's folder: `/etc/*`, `../*`. */
export const folderOfPattern = (pattern: unknown): string | undefined => {
  const fixed = /^[^*?[{]*\//.exec(textOf(pattern) ?? "")?.[0]
  return fixed !== undefined && /^[/~\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)/.test(fixed) ? fixed : undefined
}
