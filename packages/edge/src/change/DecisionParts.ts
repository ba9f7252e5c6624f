/**
 * Parts of files that a decision names: hunks as a person edited them, which reach the workspace instead of those of the change, and what a rejection
 * says of the rejected hunks and the comments on them and their files.
 *
 * Guarantees: only text in UTF-8 is edited. The line ends of the hunk stay, and so does a missing one at the end of the file. What a rejection says is
 * bounded: hunks with comments come first where not all have room. Secrets in rejected lines are redacted.
 */
import type { EditedHunk, ChangeComment } from "@corral/domain/edge-api/ChangeSet"
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { ChangeHunkId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import {
  MAX_CHANGE_COMMENTS,
  MAX_DECIDED_TEXT,
  type RejectedPart
} from "@corral/domain/changes/EarlierDecision"
import { Redaction } from "@corral/redaction/Redaction"
import type { GitFailed } from "../workspace/Git.ts"
import { applyHunks, type PatchHunk, type PatchLine, shownHunk } from "../workspace/PatchHunks.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"
import type { TreeEntry } from "../workspace/TreeDiff.ts"
import { wholeHunks } from "./ChangeComparison.ts"
import { wholeHunkIdOf } from "./ChangeIds.ts"
import type { SelectedFile } from "./DecisionPlan.ts"
import { FILE } from "./FolderFiles.ts"
import { readContent, storeContent } from "./TreeContents.ts"
import { pathText } from "../workspace/PathText.ts"

const NEWLINE = "\n"
const CRLF = "\r\n"

const isUtf8 = ({ bytes }: PatchLine): boolean => Buffer.from(bytes.toString("utf8")).equals(bytes)

const endOf = (line: string): string => (line.endsWith(CRLF) ? CRLF : line.endsWith(NEWLINE) ? NEWLINE : "")

/** The hunk with these lines from its first to its last changed one; `undefined` if it is not text in UTF-8. */
export const editHunk = (hunk: PatchHunk, lines: ReadonlyArray<string>): PatchHunk | undefined => {
  const first = hunk.lines.findIndex(({ kind }) => kind !== " ")
  const last = hunk.lines.findLastIndex(({ kind }) => kind !== " ")
  if (first === -1 || !hunk.lines.every(isUtf8)) return undefined
  const changed = hunk.lines.slice(first, last + 1)
  const after = hunk.lines.slice(last + 1)
  const ends = hunk.lines.map(({ bytes }) => endOf(bytes.toString("utf8")))
  const usual = ends.includes(CRLF) && !ends.includes(NEWLINE) ? CRLF : NEWLINE
  const isAtEnd =
    after.length === 0 &&
    changed.some(({ bytes, kind }) => kind !== "-" && endOf(bytes.toString("utf8")) === "")
  const edited = lines.map((line, at): PatchLine => {
    const end = isAtEnd && at === lines.length - 1 ? "" : usual
    return { kind: "+", bytes: Buffer.from(line + (line.endsWith("\r") && end === CRLF ? NEWLINE : end)) }
  })
  const removed = changed
    .filter(({ kind }) => kind !== "+")
    .map(({ bytes }): PatchLine => ({ kind: "-", bytes }))
  const all = [...hunk.lines.slice(0, first), ...removed, ...edited, ...after]
  return { ...hunk, newLines: all.filter(({ kind }) => kind !== "-").length, lines: all }
}

type Issue = { readonly path: string; readonly message: string }

/** Edits by their hunks. */
class OpenEdits {
  readonly #byId: ReadonlyMap<string, readonly [at: number, lines: ReadonlyArray<string>]>
  readonly #used = new Set<string>()
  readonly issues: Array<Issue>

  constructor(edits: ReadonlyArray<EditedHunk>) {
    this.#byId = new Map(edits.map(({ hunkId, lines }, at) => [hunkId, [at, lines]]))
    this.issues = [...edits.entries()].flatMap(([at, { hunkId, lines }]) => [
      ...(this.#byId.get(hunkId)?.[0] === at
        ? []
        : [{ path: `edits.${at}.hunkId`, message: "Name each hunk once" }]),
      ...(lines.some((line) => line.includes(NEWLINE))
        ? [{ path: `edits.${at}.lines`, message: "A line has no line end in it" }]
        : [])
    ])
  }

  has(id: ChangeHunkId): boolean {
    return this.#byId.has(id)
  }

  /** The hunk as it was edited, or as it is. */
  apply(id: ChangeHunkId, hunk: PatchHunk): PatchHunk {
    const found = this.#byId.get(id)
    if (found === undefined) return hunk
    this.#used.add(id)
    const edited = editHunk(hunk, found[1])
    if (edited === undefined) this.refuse(id, "Only text in UTF-8 can be edited")
    return edited ?? hunk
  }

  refuse(id: ChangeHunkId, message: string): void {
    const at = this.#byId.get(id)?.[0] ?? 0
    this.#used.add(id)
    this.issues.push({ path: `edits.${at}.hunkId`, message })
  }

  get require(): Effect.Effect<void, SchemaValidationFailed> {
    const unused = [...this.#byId].filter(([id]) => !this.#used.has(id))
    const issues = [
      ...this.issues,
      ...unused.map(([, [at]]) => ({ path: `edits.${at}.hunkId`, message: "Name a hunk that is accepted" }))
    ]
    return issues.length === 0
      ? Effect.void
      : Effect.fail(new SchemaValidationFailed({ details: { issues } }))
  }
}

interface EditedFile {
  /** What the workspace gets. */
  readonly entry: TreeEntry
  /** Number of edited hunks. */
  readonly count: number
}

const editedFile = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  { chosen, file, hunks }: SelectedFile,
  open: OpenEdits
): Effect.fn.Return<EditedFile | undefined, GitFailed> {
  const { after, before } = file.change
  if (file.whole !== undefined) {
    const id = wholeHunkIdOf(file.change)
    if (!open.has(id)) return undefined
    const [hunk, ...others] = file.whole === "added" ? yield* wholeHunks(shadow, file) : []
    if (hunk === undefined || others.length > 0 || hunk.hunk.lines.length === 0) {
      open.refuse(id, "This file is decided as a whole, and is no new text")
      return undefined
    }
    const content = applyHunks(Buffer.alloc(0), [open.apply(id, hunk.hunk)])
    return { entry: { mode: after?.mode ?? FILE, id: yield* storeContent(shadow, content) }, count: 1 }
  }
  const accepted = chosen ?? hunks
  const count = accepted.filter(({ id }) => open.has(id)).length
  if (count === 0 || before === undefined) return undefined
  const applied = accepted.map(({ hunk, id }) => open.apply(id, hunk))
  const content = applyHunks(yield* readContent(shadow, before.id), applied)
  return { entry: { mode: before.mode, id: yield* storeContent(shadow, content) }, count }
})

/** Accepted files with edited hunks. Fails if an edit names no accepted hunk, or one that cannot be edited. */
export const editedFiles = Effect.fn("DecisionParts.editedFiles")(function* (
  shadow: ShadowRepository,
  selected: ReadonlyArray<SelectedFile>,
  edits: ReadonlyArray<EditedHunk> = []
): Effect.fn.Return<ReadonlyMap<SelectedFile["file"]["id"], EditedFile>, SchemaValidationFailed | GitFailed> {
  const open = new OpenEdits(edits)
  const found = new Map<SelectedFile["file"]["id"], EditedFile>()
  if (edits.length === 0) return found
  for (const each of selected) {
    const edited = yield* editedFile(shadow, each, open)
    if (edited !== undefined) found.set(each.file.id, edited)
  }
  yield* open.require
  return found
})

/** Hunks without comments, at most. */
const MAX_HUNKS = 100

const sizeOf = (lines: ReadonlyArray<string> | undefined = []): number =>
  lines.reduce((sum, line) => sum + line.length + 1, 0)

const suggestedSize = (comments: ReadonlyArray<ChangeComment>): number =>
  comments.reduce((sum, { suggestion }) => sum + sizeOf(suggestion), 0)

const tooLong = {
  path: "comments",
  message: `Suggestions have at most ${MAX_DECIDED_TEXT} characters together`
}

/** A rejected hunk, or a file, with what was written about it. */
interface FoundPart {
  readonly place: Pick<RejectedPart, "fileId" | "hunkId" | "path" | "oldStart">
  readonly lines: ReadonlyArray<string>
  readonly comments: ReadonlyArray<ChangeComment>
}

/** Comments by the hunk or the file that they name. */
class OpenComments {
  readonly #byId = new Map<string, Array<ChangeComment>>()
  readonly #all: ReadonlyArray<ChangeComment>

  constructor(comments: ReadonlyArray<ChangeComment>) {
    this.#all = comments
    for (const comment of comments) {
      const id = comment.hunkId ?? comment.fileId ?? ""
      this.#byId.set(id, [...(this.#byId.get(id) ?? []), comment])
    }
  }

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  take(id: string): ReadonlyArray<ChangeComment> {
    const found = this.#byId.get(id) ?? []
    this.#byId.delete(id)
    return found
  }

  /** Fails if a comment names no rejected part, or if the suggestions are too long. Call it when all were taken. */
  get require(): Effect.Effect<void, SchemaValidationFailed> {
    const left = new Set([...this.#byId.values()].flat())
    const unused = [...this.#all.entries()]
      .filter(([, comment]) => left.has(comment))
      .map(([at]) => ({ path: `comments.${at}`, message: "Name a hunk or a file that is rejected" }))
    const issues = [...unused, ...(suggestedSize(this.#all) > MAX_DECIDED_TEXT ? [tooLong] : [])]
    return issues.length === 0
      ? Effect.void
      : Effect.fail(new SchemaValidationFailed({ details: { issues } }))
  }
}

const foundParts = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  selected: ReadonlyArray<SelectedFile>,
  open: OpenComments
): Effect.fn.Return<ReadonlyArray<FoundPart>, GitFailed> {
  const found: Array<FoundPart> = []
  let room = MAX_HUNKS
  for (const { chosen, file, hunks } of selected) {
    const place = { fileId: file.id, path: pathText(file.change.path) }
    const isShown = room > 0 || open.has(wholeHunkIdOf(file.change))
    const rejected =
      file.whole === undefined ? (chosen ?? hunks) : isShown ? yield* wholeHunks(shadow, file) : []
    for (const { hunk, id: hunkId } of rejected) {
      const comments = open.take(hunkId)
      if (comments.length === 0 && room-- <= 0) continue
      const { lines, oldStart } = shownHunk(hunk)
      found.push({ place: { ...place, hunkId, oldStart }, lines, comments })
    }
    const ofFile = open.take(file.id)
    if (ofFile.length > 0) found.push({ place, lines: [], comments: ofFile })
  }
  return found
})

/** The parts with the lines for which there is room. */
const withinLimit = (found: ReadonlyArray<FoundPart>): ReadonlyArray<FoundPart> => {
  let left = MAX_DECIDED_TEXT - suggestedSize(found.flatMap(({ comments }) => comments))
  const isNamed = ({ comments }: FoundPart): boolean => comments.length > 0
  const shown = new Set(
    [...found.filter(isNamed), ...found.filter((part) => !isNamed(part))].filter(({ lines }) => {
      const size = sizeOf(lines)
      if (size > left) return false
      left -= size
      return true
    })
  )
  return found.map((part) => (shown.has(part) ? part : { ...part, lines: [] }))
}

const shownParts = (
  { comments, lines, place }: FoundPart,
  redaction: Redaction
): ReadonlyArray<RejectedPart> => {
  const textOf = (comment: ChangeComment | undefined): Pick<RejectedPart, "text" | "suggestion"> => ({
    ...(comment === undefined || comment.text === "" ? {} : { text: comment.text }),
    ...(comment?.suggestion === undefined ? {} : { suggestion: comment.suggestion })
  })
  const [first, ...others] = comments
  return [
    {
      ...place,
      ...(lines.length === 0 ? {} : { lines: redaction.text(lines.join("\n")).split("\n") }),
      ...textOf(first)
    },
    ...others.map((comment) => ({ ...place, ...textOf(comment) }))
  ]
}

/** The parts in the order of their files. Fails if a comment names none of them. */
export const rejectedParts = Effect.fn("DecisionParts.rejectedParts")(function* (
  shadow: ShadowRepository,
  selected: ReadonlyArray<SelectedFile>,
  comments: ReadonlyArray<ChangeComment> = []
): Effect.fn.Return<ReadonlyArray<RejectedPart>, SchemaValidationFailed | GitFailed> {
  const open = new OpenComments(comments.slice(0, MAX_CHANGE_COMMENTS))
  const found = yield* foundParts(shadow, selected, open)
  yield* open.require
  const redaction = new Redaction()
  return withinLimit(found).flatMap((part) => shownParts(part, redaction))
})
