/**
 * Content of a file after an approved write or edit, from the input that a user saw: the whole content, or texts with their replacements. Pure.
 *
 * Does not: understand patches, or an input with other fields that say what to write. Such an edit has no known content.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"

/** Largest file that is written this way, in characters. */
export const MAX_CONTENT = 1_048_576
const MAX_EDITS = 100

const WHOLE = ["content", "file_text"]
const BEFORE = ["old_string", "old_str", "oldString", "oldText"]
const AFTER = ["new_string", "new_str", "newString", "newText"]
const ALL = ["replace_all", "replaceAll"]
/** Other fields that say what to write. */
const OTHER = [
  "insert_text",
  "insert_line",
  "diff",
  "patch",
  "new_source",
  "ai_proposed_content",
  "instruction"
]

type Input = Readonly<Record<string, unknown>>

const fieldOf = (input: Input, names: ReadonlyArray<string>): unknown =>
  names.map((name) => input[name]).find((value) => value !== undefined && value !== null)

/** The text after one replacement. `undefined` if the text to replace is missing, or is there more than once and not all are meant. */
const replaced = (text: string | undefined, edit: Input): string | undefined => {
  const [before, after] = [fieldOf(edit, BEFORE), fieldOf(edit, AFTER)]
  if (typeof before !== "string" || typeof after !== "string") return undefined
  // An edit of nothing makes the file.
  if (before === "") return (text ?? "") === "" ? after : undefined
  const parts = text?.split(before) ?? []
  const isClear = parts.length === 2 || (parts.length > 2 && fieldOf(edit, ALL) === true)
  return isClear ? parts.join(after) : undefined
}

/** `before`: the content so far; `undefined` if the file does not exist. The result is `undefined` if it is not known. */
export const approvedContent = (input: unknown, before: string | undefined): string | undefined => {
  if (!isJsonObject(input) || fieldOf(input, OTHER) !== undefined) return undefined
  const [whole, edits] = [fieldOf(input, WHOLE), input["edits"]]
  const isReplacing = fieldOf(input, BEFORE) !== undefined
  if ([whole !== undefined, edits !== undefined, isReplacing].filter(Boolean).length !== 1) return undefined
  let content = before
  if (whole !== undefined) content = typeof whole === "string" ? whole : undefined
  else if (isReplacing) content = replaced(before, input)
  else {
    if (!Array.isArray(edits) || edits.length === 0 || edits.length > MAX_EDITS) return undefined
    for (const edit of edits as ReadonlyArray<unknown>) {
      content = isJsonObject(edit) ? replaced(content, edit) : undefined
      if (content === undefined || content.length > MAX_CONTENT) return undefined
    }
  }
  return content !== undefined && content.length <= MAX_CONTENT ? content : undefined
}
