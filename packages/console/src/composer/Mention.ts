/** Completion of paths after `@`, folder by folder. Pure. */
import type { FileEntry } from "@corral/domain/device/Workspace"

/** Longest path that is completed. */
const MAX_PATH = 256
/** Most entries that are shown. */
export const MAX_SHOWN_ENTRIES = 50

/** A path that the caret is at the end of. */
export interface Mention {
  /** Position of `@` in the text. */
  readonly start: number
  /** Folder whose entries complete the path, without a trailing slash. */
  readonly folder: string
  /** Beginning of the entry's name. */
  readonly name: string
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
  const path = text.slice(start + 1, caret)
  const slash = path.lastIndexOf("/")
  return { start, folder: path.slice(0, Math.max(slash, 0)), name: path.slice(slash + 1) }
}

const isSubsequence = (part: string, whole: string): boolean => {
  let at = 0
  for (const character of whole) if (character === part[at]) at += 1
  return at === part.length
}

/** Lower is better, `undefined` is no match. */
const rankOf = (name: string, part: string): number | undefined => {
  const at = name.indexOf(part)
  if (at === 0) return 0
  if (at > 0) return "-_. ".includes(name.charAt(at - 1)) ? 1 : 2
  return isSubsequence(part, name) ? 3 : undefined
}

/** Entries that match the beginning of a name, best first. */
export const rankEntries = (
  entries: ReadonlyArray<FileEntry>,
  beginning: string
): ReadonlyArray<FileEntry> => {
  const part = beginning.toLowerCase()
  return entries
    .flatMap((entry) => {
      const rank = rankOf(entry.name.toLowerCase(), part)
      return rank === undefined || entry.kind === "other" ? [] : [{ entry, rank }]
    })
    .toSorted((a, b) => a.rank - b.rank || a.entry.name.localeCompare(b.entry.name))
    .slice(0, MAX_SHOWN_ENTRIES)
    .map(({ entry }) => entry)
}

/** The text with the entry's path, and the caret after it. A folder stays open for its entries. */
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
