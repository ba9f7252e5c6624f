/**
 * Hunks as a person edited them: the workspace gets the person's lines instead of those of the change.
 *
 * Guarantees: only text in UTF-8 is edited. The line ends of the hunk stay, and so does a missing one at the end of the file.
 */
import type { EditedHunk } from "@corral/domain/edge-api/ChangeSet"
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { ChangeHunkId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { GitFailed } from "../workspace/Git.ts"
import { applyHunks, type PatchHunk, type PatchLine } from "../workspace/PatchHunks.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"
import type { TreeEntry } from "../workspace/TreeDiff.ts"
import { wholeHunks } from "./ChangeComparison.ts"
import { wholeHunkIdOf } from "./ChangeIds.ts"
import type { SelectedFile } from "./DecisionPlan.ts"
import { FILE } from "./FolderFiles.ts"
import { readContent, storeContent } from "./TreeContents.ts"

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

export interface EditedFile {
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
export const editedFiles = Effect.fn("EditedHunks.files")(function* (
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
