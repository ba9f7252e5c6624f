/**
 * The paths that a tool's input names, as far as names of fields tell them: an approval shows all of them, and policy judges all of them.
 *
 * It does not promise to find every path. An input with an unknown field is not told, and asks: see `ToldInput`.
 */
import { arrayOf, isJsonObject, textOf, type JsonObject } from "../text/Json.ts"

/** The last words of names of fields that hold paths: `file_path`, `targetFile`, `paths`. */
const endings =
  /(^|[_-])(paths?|files?|file_?names?|file_?paths?|notebooks?|dirs?|directory|directories|folders?|destinations?|dest)$/

const holdsPaths = (field: string): boolean =>
  endings.test(field.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, "_").toLowerCase())

/** Policy asks for an action with fewer files than that. */
const MAX_PATHS = 300
const MAX_DEPTH = 4

const collect = (value: unknown, isPath: boolean, depth: number, found: Set<string>): void => {
  if (depth > MAX_DEPTH || found.size >= MAX_PATHS) return
  if (typeof value === "string" && isPath && value !== "") found.add(value)
  else if (Array.isArray(value)) for (const each of arrayOf(value)) collect(each, isPath, depth + 1, found)
  else if (isJsonObject(value))
    for (const [key, each] of Object.entries(value)) collect(each, holdsPaths(key), depth + 1, found)
}

/** All paths of an input, the tool's `target` first where it is known. */
export const pathsIn = (input: JsonObject, target?: string): ReadonlyArray<string> => {
  const found = new Set<string>(target === undefined ? [] : [target])
  collect(input, false, 0, found)
  return [...found]
}

/** The folder from which a pattern of files is looked up, where it may be another one than the tool's: `/etc/*`, `../*`. */
export const folderOfPattern = (pattern: unknown): string | undefined => {
  const fixed = /^[^*?[{]*\//.exec(textOf(pattern) ?? "")?.[0]
  return fixed !== undefined && /^[/~\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)/.test(fixed) ? fixed : undefined
}
