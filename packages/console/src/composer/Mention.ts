/** Completion of paths after `@`. Pure. */
import type { FileEntry } from "@corral/domain/device/Workspace"

/** Longest path that is completed. */
const MAX_PATH = 256
/** A path that the caret is at the end of. */
export interface Mention {
  /** Position of `@` in the text. */
  readonly start: number
  /** Part of the name or path of a file. */
  readonly query: string
}

const isSpace = (character: string): boolean => character.trim() === ""

/** The mention that ends at the caret. An address such as `ana@example.test` is none. */
export const mentionAt = (text: string, caret: number): Mention | undefined => {
  let start = caret - 1
  while (start >= 0 && caret - start <= MAX_PATH && text[start] !== "@") {
    if (isSpace(text.charAt(start))) return undefined
    start -= 1
  }
  if (text[start] !== "@") return undefined
  const before = text.charAt(start - 1)
  if (!isSpace(before) && !"([{\"'`".includes(before)) return undefined
  return { start, query: text.slice(start + 1, caret) }
}

/** The text with the entry's path, and the caret after it. A folder stays open: its entries come first. */
export const completeMention = (
  text: string,
  { start }: Mention,
  caret: number,
  { kind, path }: FileEntry
): { readonly text: string; readonly caret: number } => {
  const rest = text.slice(caret)
  const end = kind === "directory" ? "/" : isSpace(rest.charAt(0)) && rest !== "" ? "" : " "
  const head = `${text.slice(0, start)}@${path}${end}`
  return { text: head + rest, caret: head.length }
}
