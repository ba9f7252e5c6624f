/**
 * Files of a change set as files of a review: their hunks with the ids that a decision names, which of them differ only in white space, and the
 * comments that go along with a rejection. Pure.
 *
 * Guarantees: ids are those of the Edge, regardless of what is shown. The same content is the same file, so that its rows do not render again.
 */
import type {
  ChangeComment,
  ChangedFile,
  ChangeHunk,
  ChangeSelection,
  ConflictSides
} from "@corral/domain/edge-api/ChangeSet"
import type { DiffHunk } from "@corral/domain/edge-api/Diff"
import { visibleText } from "../markdown/visible.ts"
import type { LineRef, LineSpan, PlacedComment } from "./LineComment.ts"
import { type CommentWords, describeSpan } from "./commentsMessage.ts"
import type { ReviewFile } from "./useChanges.ts"

/** All hunks of a file. `isCut`: the last ones are missing. */
export interface SetContent {
  readonly hunks: ReadonlyArray<ChangeHunk>
  readonly isCut: boolean
  readonly sides?: ConflictSides
}

/** What a review can decide of a file. */
export interface FileParts {
  readonly changed: ChangedFile
  /** Ids of the hunks that are shown, in their order. */
  readonly hunkIds: ReadonlyArray<ChangeHunk["id"]>
  /** Whether its hunks are loaded. */
  readonly isLoaded: boolean
  /** Hunks whose lines are hidden, because they differ only in white space. */
  readonly folded: ReadonlySet<ChangeHunk["id"]>
  readonly sides?: ConflictSides
}

const blank = /\s/gu

/** Whether a hunk changes nothing but white space. */
export const isBlankChange = ({ lines }: Pick<DiffHunk, "lines">): boolean => {
  const textOf = (mark: "+" | "-") =>
    lines.flatMap((line) => (line[0] === mark ? [line.slice(1).replaceAll(blank, "")] : [])).join("")
  return textOf("-") === textOf("+")
}

/** Lines at the start of a hunk that do not change. */
const leadingOf = ({ lines }: DiffHunk): number => {
  const first = lines.findIndex((line) => line[0] !== " ")
  return first === -1 ? lines.length : first
}

/** Hunks with more context can show the same unchanged lines: the later one of two leaves them out. */
export const withoutOverlap = (hunks: ReadonlyArray<ChangeHunk>): ReadonlyArray<ChangeHunk> => {
  let shown = 0
  return hunks.map((hunk) => {
    const surplus = Math.min(Math.max(0, shown - hunk.oldStart), leadingOf(hunk))
    shown = Math.max(shown, hunk.oldStart + hunk.oldLines)
    if (surplus === 0 || hunk.oldLines === 0) return hunk
    return {
      ...hunk,
      oldStart: hunk.oldStart + surplus,
      oldLines: hunk.oldLines - surplus,
      newStart: hunk.newStart + surplus,
      newLines: hunk.newLines - surplus,
      lines: hunk.lines.slice(surplus)
    }
  })
}

const loaded = new WeakMap<SetContent, Map<string, ReviewFile>>()
const unloaded = new WeakMap<ChangedFile, ReviewFile>()

const fileOf = (changed: ChangedFile, content: SetContent | undefined, hidesBlank: boolean): ReviewFile => {
  const { additions, binary, deletions, fromPath, path, status, version, whole } = changed
  const hunks = withoutOverlap((content?.hunks ?? []).filter(({ lines }) => lines.length > 0))
  const isTooLarge = content?.isCut === true || whole === "large"
  return {
    hash: version,
    diff: {
      path,
      ...(fromPath === undefined ? {} : { fromPath }),
      status,
      binary,
      additions,
      deletions,
      hunks,
      ...(isTooLarge ? { truncated: true as const } : {})
    },
    parts: {
      changed,
      hunkIds: hunks.map(({ id }) => id),
      isLoaded: content !== undefined,
      folded: new Set(hidesBlank ? hunks.filter(isBlankChange).map(({ id }) => id) : []),
      ...(content?.sides === undefined ? {} : { sides: content.sides })
    }
  }
}

/** A file of a set for the review, without lines until its content is loaded. */
export const setFile = (
  changed: ChangedFile,
  content: SetContent | undefined,
  hidesBlank: boolean
): ReviewFile => {
  if (content === undefined) {
    const file = unloaded.get(changed) ?? fileOf(changed, undefined, hidesBlank)
    unloaded.set(changed, file)
    return file
  }
  const key = `${hidesBlank} ${changed.version}`
  const files = loaded.get(content) ?? new Map<string, ReviewFile>()
  loaded.set(content, files)
  const file = files.get(key) ?? fileOf(changed, content, hidesBlank)
  files.set(key, file)
  return file
}

/** Whether each hunk is decided, not only the file. */
export const hasHunkDecisions = ({ changed }: FileParts): boolean =>
  changed.whole === undefined && changed.hunks > 1

/** Files that are not part of `all` come last. */
export const apartLast = (files: ReadonlyArray<ChangedFile>): ReadonlyArray<ChangedFile> => [
  ...files.filter(({ apart }) => apart === undefined),
  ...files.filter(({ apart }) => apart !== undefined)
]

/** A part that a person decides: a file, or one of its hunks. */
export interface DecidedPart {
  readonly file: ReviewFile
  readonly hunkId?: ChangeHunk["id"]
}

/** Names a part in a decision. A file goes with the version that was shown. */
export const selectionOf = ({ hunkId }: DecidedPart, changed: ChangedFile): ChangeSelection =>
  hunkId === undefined
    ? { files: [changed.id], versions: { [changed.id]: changed.version } }
    : { hunks: [hunkId] }

const isInHunk = ({ line, side }: LineRef, hunk: DiffHunk): boolean => {
  const [start, count] = side === "old" ? [hunk.oldStart, hunk.oldLines] : [hunk.newStart, hunk.newLines]
  return line >= start && line < start + count
}

/** Comments on a part: those on the file, or on lines of the hunk. */
export const commentsOn = (
  { file, hunkId }: DecidedPart,
  comments: ReadonlyArray<PlacedComment>
): ReadonlyArray<PlacedComment> => {
  const ofFile = comments.filter(({ comment }) => comment.path === file.diff.path)
  if (hunkId === undefined) return ofFile
  const hunk = file.diff.hunks[file.parts?.hunkIds.indexOf(hunkId) ?? -1]
  return hunk === undefined ? [] : ofFile.filter(({ span }) => span !== undefined && isInHunk(span.to, hunk))
}

/** The hunk that has the last line of a comment, with its id. */
export const hunkOf = (
  file: ReviewFile,
  span: LineSpan | undefined
): { readonly id: ChangeHunk["id"]; readonly hunk: DiffHunk } | undefined => {
  const at = span === undefined ? -1 : file.diff.hunks.findIndex((hunk) => isInHunk(span.to, hunk))
  const [id, hunk] = [file.parts?.hunkIds[at], file.diff.hunks[at]]
  return id === undefined || hunk === undefined ? undefined : { id, hunk }
}

/** Lines that an edit of a hunk replaces: from its first to its last changed line, without removed ones and without signs. */
export const editedLines = ({ lines }: Pick<DiffHunk, "lines">): ReadonlyArray<string> => {
  const isChange = (line: string) => line[0] === "+" || line[0] === "-"
  const [first, last] = [lines.findIndex(isChange), lines.findLastIndex(isChange)]
  if (first === -1) return []
  return lines
    .slice(first, last + 1)
    .flatMap((line) => (line[0] === "+" || line[0] === " " ? [line.slice(1)] : []))
}

/** Whether a person can write a hunk of the file in another version: of files that are decided as a whole, only of an added one with text. */
export const canEdit = (file: ReviewFile): boolean => {
  const { changed } = file.parts ?? {}
  if (changed === undefined || changed.binary) return false
  return changed.whole === undefined || changed.whole === "added"
}

/** Longest comment of a rejection, in characters, and most comments about its parts. */
export const MAX_REASON = 4_096
const MAX_COMMENTS = 100

export interface RejectionComments {
  readonly comments: ReadonlyArray<ChangeComment>
  /** Line comments among them: they are no longer pending. */
  readonly ids: ReadonlySet<string>
}

/** Line comments as comments about hunks, or about their file where no hunk has their lines. Those that are too long stay. */
export const rejectionComments = (
  files: ReadonlyArray<ReviewFile>,
  placed: ReadonlyArray<PlacedComment>,
  words: CommentWords
): RejectionComments => {
  const comments: Array<ChangeComment> = []
  const ids = new Set<string>()
  for (const { comment, span } of placed) {
    const file = files.find(({ diff }) => diff.path === comment.path)
    const fileId = file?.parts?.changed.id
    if (file === undefined || fileId === undefined || comments.length === MAX_COMMENTS) continue
    const hunk = hunkOf(file, span)
    const { suggestion } = comment
    const written = visibleText(comment.text.trim())
    const text = written === "" ? "" : `${describeSpan(span ?? comment, words)}: ${written}`
    // Without its lines, a suggestion alone says nothing.
    if (text.length > MAX_REASON || (text === "" && hunk === undefined)) continue
    comments.push({
      ...(hunk === undefined ? { fileId } : { hunkId: hunk.id }),
      text,
      ...(suggestion === undefined || hunk === undefined ? {} : { suggestion })
    })
    ids.add(comment.id)
  }
  return { comments, ids }
}
