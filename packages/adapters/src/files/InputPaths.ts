/**
 * Paths in a tool's input, found by the names of fields, and the allowlist of the fields of tools that read or write, from the recordings and the
 * documentation of the runtimes. An approval shows all paths, and policy checks all of them.
 *
 * An input with only listed fields names every file that the tool would touch. Another field may name another file: as a key, in a patch or deep in
 * a list. So an input with an unknown field always needs a decision of a user.
 */
import { arrayOf, isJsonObject, type JsonObject, textOf } from "../text/Json.ts"
import { namesOnly } from "../text/UnifiedDiff.ts"

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

type Field = (value: unknown, input: JsonObject) => boolean

const isText: Field = (value) => typeof value === "string"
const isPlain: Field = (value) => typeof value === "boolean" || typeof value === "number"
const isCount: Field = (value) => typeof value === "number"
const isOneOf =
  (...words: ReadonlyArray<string>): Field =>
  (value) =>
    typeof value === "string" && words.includes(value)

const fieldsOf = (names: string, field: Field): ReadonlyArray<readonly [string, Field]> =>
  names.split(" ").map((name) => [name, field] as const)

const TARGETS = "file_path filePath filepath path absolute_path notebook_path fileName"

/** Text of a file, before and after. */
const texts = fieldsOf("old_string new_string old_str new_str oldString newString oldText newText", isText)
const flags = fieldsOf("replace_all replaceAll", isPlain)

const areKnown = (input: JsonObject, fields: ReadonlyMap<string, Field>): boolean =>
  Object.entries(input).every(([name, value]) => {
    const field = fields.get(name)
    return field !== undefined && (value === null || field(value, input))
  })

const edit = new Map([...texts, ...flags])
const isEdits: Field = (value) =>
  Array.isArray(value) && value.every((one) => isJsonObject(one) && areKnown(one, edit))

/** A diff of the named file only. */
const isDiff: Field = (value, input) =>
  typeof value === "string" &&
  namesOnly(
    value,
    TARGETS.split(" ").flatMap((name) => textOf(input[name]) ?? [])
  )

const writing: ReadonlyMap<string, Field> = new Map([
  ...fieldsOf(TARGETS, isText),
  ...edit,
  ...fieldsOf("content file_text insert_text new_source cell_id description instruction", isText),
  ...fieldsOf("ai_proposed_content", isText),
  ...fieldsOf("insert_line line cell_number expected_replacements", isCount),
  ...fieldsOf("allow_multiple modified_by_user", isPlain),
  ["edits", isEdits],
  ["diff", isDiff],
  ["cell_type", isOneOf("code", "markdown")],
  ["edit_mode", isOneOf("replace", "insert", "delete")]
])

/** A file pattern that stays below the folder of the search. */
const staysBelow: Field = (value) => typeof value === "string" && folderOfPattern(value) === undefined

const reading: ReadonlyMap<string, Field> = new Map([
  ...fieldsOf(`${TARGETS} pattern description`, isText),
  ...fieldsOf("glob include", staysBelow),
  ...fieldsOf("offset limit start_line end_line line head_limit -A -B -C context", isCount),
  ...fieldsOf("-i -n multiline case_sensitive respect_git_ignore", isPlain),
  ["pages", (value) => typeof value === "string" && /^[\d, -]*$/.test(value)],
  ["type", (value) => typeof value === "string" && /^[a-z]*$/.test(value)],
  ["output_mode", isOneOf("content", "files_with_matches", "count")],
  ["view_range", (value) => Array.isArray(value) && value.every((one) => typeof one === "number")]
])

/** Field names for source and destination of a move. */
const ENDS = [
  ["source", "destination"],
  ["source_path", "destination_path"],
  ["old_path", "new_path"]
] as const

/**
 * Source and destination of a move, if the input has no unknown field.
 *
 * @internal
 */
export const endsOfMove = (input: JsonObject): readonly [string, string] | undefined => {
  for (const [source, destination] of ENDS) {
    const [from, to] = [textOf(input[source]), textOf(input[destination])]
    if (!from || !to) continue
    const fieldsByName = new Map<string, Field>([
      ...fieldsOf(`${source} ${destination} description`, isText),
      ["overwrite", isPlain]
    ])
    return areKnown(input, fieldsByName) ? [from, to] : undefined
  }
  return undefined
}

/**
 * Whether a writing tool's input has only known fields.
 *
 * @internal
 */
export const hasOnlyKnownWriteFields = (input: JsonObject): boolean => areKnown(input, writing)

/**
 * Whether a reading or searching tool's input has only known fields.
 *
 * @internal
 */
export const hasOnlyKnownReadFields = (input: JsonObject): boolean => areKnown(input, reading)
