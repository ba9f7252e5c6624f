/**
 * Undecided changes of a set: the files that differ between base and result, how each is decided, and why some are apart.
 *
 * Guarantees: what no one can look at in bounded work is named, so that no one accepts it with everything else.
 */
import {
  type ApartReason,
  type ChangedFile,
  MAX_FILES_WITH_HUNKS,
  MAX_HUNK_FILE_BYTES
} from "@corral/domain/edge-api/ChangeSet"
import type { ChangedFileId, ChangeHunkId } from "@corral/domain/identity/Ids"
import { Redaction } from "@corral/redaction/Redaction"
import { Effect } from "effect"
import { posix } from "node:path"
import { foldedName } from "../approval/FileNames.ts"
import { loadedReason } from "../approval/OrdinaryFiles.ts"
import type { GitFailed } from "../workspace/Git.ts"
import { countsOf, type PatchHunk } from "../workspace/PatchHunks.ts"
import { pathText } from "../workspace/PathText.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"
import { changesBetween, hunksBetween, type TreeChange } from "../workspace/TreeDiff.ts"
import {
  fileIdOf,
  fileVersionOf,
  hunkIdOf,
  hunkTextOf,
  resultOf,
  setVersionOf,
  wholeHunkIdOf
} from "./ChangeIds.ts"
import { FolderFiles, LINK, PROGRAM } from "./FolderFiles.ts"
import { eachContent, sizesOf, storeContent } from "./TreeContents.ts"

export interface ComparedFile {
  readonly id: ChangedFileId
  readonly change: TreeChange
  /** Why it is decided as a whole. */
  readonly whole?: NonNullable<ChangedFile["whole"]>
  readonly apart: ReadonlyArray<ApartReason>
  readonly isConflict: boolean
}

export interface Comparison {
  readonly base: string
  readonly result: string
  readonly version: string
  /** By the bytes of their paths. */
  readonly files: ReadonlyArray<ComparedFile>
  /** Paths that could not be compared or looked at. */
  readonly incomplete: ReadonlyArray<string>
}

/** A hunk with its id. */
export interface NumberedHunk {
  readonly id: ChangeHunkId
  /** Hash of its text. */
  readonly text: string
  /** Its number among those with the same text. */
  readonly number: number
  readonly hunk: PatchHunk
}

const REPOSITORY = "160000"
/** Bytes of text that are searched for secrets in one comparison. */
const MAX_SEARCHED = 67_108_864
/** Files whose search is remembered. */
const MAX_REMEMBERED = 50_000

/** Whether added lines of files have secrets, by the contents of both versions. */
export class SecretSearches {
  readonly #found = new Map<string, boolean>()

  get(change: TreeChange): boolean | undefined {
    return this.#found.get(keyOf(change))
  }

  set(change: TreeChange, hasSecret: boolean): void {
    const oldest = this.#found.size < MAX_REMEMBERED ? undefined : this.#found.keys().next().value
    if (oldest !== undefined) this.#found.delete(oldest)
    this.#found.set(keyOf(change), hasSecret)
  }
}

const keyOf = ({ after, before }: TreeChange): string => `${before?.id ?? ""} ${after?.id ?? ""}`

export interface ComparedStates {
  readonly shadow: ShadowRepository
  readonly base: string
  readonly result: string
  /** Paths that one of the states does not have. */
  readonly leftOut: ReadonlyArray<string>
  /** Paths in conflict, as text. */
  readonly conflicts: ReadonlyArray<string>
  /** Folder with the files of the result. */
  readonly view: string
  readonly secrets: SecretSearches
}

const isText = ({ after, before, binary }: TreeChange): boolean =>
  !binary && before?.mode !== LINK && after?.mode !== LINK

const hasBoth = ({ after, before }: TreeChange): boolean =>
  before !== undefined && after !== undefined && before.id !== after.id

const wholeReason = (
  change: TreeChange,
  size: number,
  hasMany: boolean
): NonNullable<ChangedFile["whole"]> | undefined => {
  const { after, before, binary, status } = change
  if (status !== "modified") return status
  if (before?.mode === LINK || after?.mode === LINK) return "link"
  if (before?.mode !== after?.mode) return "mode"
  if (binary) return "binary"
  if (size > MAX_HUNK_FILE_BYTES) return "large"
  return hasMany ? "many_files" : undefined
}

export const compareStates = Effect.fn("ChangeComparison.compare")(function* (
  states: ComparedStates
): Effect.fn.Return<Comparison, GitFailed> {
  const { base, conflicts, result, shadow, view } = states
  const changes = (yield* changesBetween(shadow, base, result))
    .filter(({ after, before }) => before?.mode !== REPOSITORY && after?.mode !== REPOSITORY)
    .toSorted((a, b) => Buffer.compare(a.path, b.path))
  const sizes = yield* sizesOf(
    shadow,
    changes.flatMap(({ after, before }) => [before?.id ?? [], after?.id ?? []].flat())
  )
  const sizeOf = ({ after, before }: TreeChange): number =>
    Math.max(sizes.get(before?.id ?? "") ?? 0, sizes.get(after?.id ?? "") ?? 0)
  const unsearched = yield* searchSecrets(states, changes, sizeOf)
  const links = yield* outsideLinks(shadow, changes)
  const files = new FolderFiles(view)
  const marked = new Set(conflicts)
  const hasMany = changes.length > MAX_FILES_WITH_HUNKS
  const compared = changes.map((change): ComparedFile => {
    const whole = wholeReason(change, sizeOf(change), hasMany)
    return {
      id: fileIdOf(change.path),
      change,
      ...(whole === undefined ? {} : { whole }),
      apart: [
        ...(isProtected(change) ? (["protected_name"] as const) : []),
        ...(states.secrets.get(change) === true ? (["secret"] as const) : []),
        ...(isNewProgram(change) ? (["new_program"] as const) : []),
        ...(links.has(change) ? (["outside_link"] as const) : []),
        ...(hasSetId(files, change) ? (["set_id"] as const) : [])
      ],
      isConflict: marked.has(pathText(change.path))
    }
  })
  const incomplete = [...new Set([...states.leftOut, ...unsearched])].toSorted()
  return { base, result, version: setVersionOf(base, result), files: compared, incomplete }
})

const isProtected = ({ fromPath, path }: TreeChange): boolean =>
  [path, ...(fromPath === undefined ? [] : [fromPath])].some((each) => {
    const names = pathText(each).split("/")
    return loadedReason(names.at(-1) ?? "", names.map(foldedName)) !== undefined
  })

const isNewProgram = ({ after, before }: TreeChange): boolean =>
  after?.mode === PROGRAM && before?.mode !== PROGRAM

const SET_ID = 0o6000

const hasSetId = (files: FolderFiles, { after, path }: TreeChange): boolean =>
  after !== undefined && after.mode !== LINK && ((files.stat(path)?.mode ?? 0) & SET_ID) !== 0

/** Whether a path goes up after a name. That name may be a link, and lead anywhere. */
const goesUpLater = (target: string): boolean => {
  const parts = target.split("/").filter((part) => part !== "" && part !== ".")
  const first = parts.findIndex((part) => part !== "..")
  return first !== -1 && parts.slice(first).includes("..")
}

/** Links that leave the workspace, or that may, by their text. */
const outsideLinks = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  changes: ReadonlyArray<TreeChange>
): Effect.fn.Return<ReadonlySet<TreeChange>, GitFailed> {
  const links = changes.filter(({ after }) => after?.mode === LINK)
  const targets = new Map<string, string>()
  yield* eachContent(
    shadow,
    links.flatMap(({ after }) => after?.id ?? []),
    (id, content) => Effect.sync(() => void targets.set(id, content.toString("latin1")))
  )
  return new Set(
    links.filter(({ after, path }) => {
      const target = targets.get(after?.id ?? "") ?? "/"
      const place = posix.join(posix.dirname(path.toString("latin1")), target)
      return posix.isAbsolute(target) || place === ".." || place.startsWith("../") || goesUpLater(target)
    })
  )
})

/** Searches added lines. Returns the paths of texts that were not searched. */
const searchSecrets = Effect.fnUntraced(function* (
  { secrets, shadow }: ComparedStates,
  changes: ReadonlyArray<TreeChange>,
  sizeOf: (change: TreeChange) => number
): Effect.fn.Return<ReadonlyArray<string>, GitFailed> {
  const open = changes.filter(
    (change) =>
      change.after !== undefined &&
      change.before?.id !== change.after.id &&
      isText(change) &&
      secrets.get(change) === undefined
  )
  const [searched, left]: [Array<TreeChange>, Array<TreeChange>] = [[], []]
  let size = 0
  for (const change of open) {
    const isSmall = sizeOf(change) <= MAX_HUNK_FILE_BYTES && size + sizeOf(change) <= MAX_SEARCHED
    if (isSmall) size += sizeOf(change)
    ;(isSmall ? searched : left).push(change)
  }
  const redaction = new Redaction()
  const pairs = searched.filter(hasBoth)
  const hunks = yield* hunksOfChanges(shadow, pairs, sizeOf)
  for (const [at, change] of pairs.entries()) {
    const added = (hunks[at] ?? []).flatMap(({ lines }) =>
      lines.filter(({ kind }) => kind === "+").map(({ bytes }) => bytes)
    )
    secrets.set(change, redaction.secrets(Buffer.concat(added).toString("utf8")).length > 0)
    yield* Effect.yieldNow
  }
  const created = new Map<string, Array<TreeChange>>()
  for (const change of searched) {
    if (change.before !== undefined || change.after === undefined) continue
    created.set(change.after.id, [...(created.get(change.after.id) ?? []), change])
  }
  yield* eachContent(shadow, [...created.keys()], (id, content) =>
    Effect.andThen(
      Effect.sync(() => {
        const hasSecret = redaction.secrets(content.toString("utf8")).length > 0
        for (const change of created.get(id) ?? []) secrets.set(change, hasSecret)
      }),
      Effect.yieldNow
    )
  )
  return left.map(({ path }) => pathText(path))
})

const hunksOfChanges = (
  shadow: ShadowRepository,
  changes: ReadonlyArray<TreeChange>,
  sizeOf: (change: TreeChange) => number
): Effect.Effect<ReadonlyArray<ReadonlyArray<PatchHunk>>, GitFailed> =>
  hunksBetween(
    shadow,
    changes.map((change) => ({
      before: change.before?.id ?? "",
      after: change.after?.id ?? "",
      size: 2 * sizeOf(change)
    }))
  )

/** Decided numbers among equal hunks, by the hash of their text. */
export type DecidedNumbers = Readonly<Record<string, ReadonlyArray<number>>>

/** Hunks of these files, by the ids of the files. Files that are decided as a whole have none. */
export const numberedHunks = Effect.fn("ChangeComparison.hunks")(function* (
  shadow: ShadowRepository,
  files: ReadonlyArray<ComparedFile>,
  decided: DecidedNumbers
): Effect.fn.Return<ReadonlyMap<ChangedFileId, ReadonlyArray<NumberedHunk>>, GitFailed> {
  const parted = files.filter(({ whole }) => whole === undefined)
  const sizes = yield* sizesOf(
    shadow,
    parted.flatMap(({ change: { after, before } }) => [before?.id ?? [], after?.id ?? []].flat())
  )
  const hunks = yield* hunksOfChanges(
    shadow,
    parted.map(({ change }) => change),
    ({ after, before }) => Math.max(sizes.get(before?.id ?? "") ?? 0, sizes.get(after?.id ?? "") ?? 0)
  )
  return new Map(
    parted.map(({ change: { path }, id }, at) => [id, withNumbers(path, hunks[at] ?? [], decided)])
  )
})

const withNumbers = (
  path: Buffer,
  hunks: ReadonlyArray<PatchHunk>,
  decided: DecidedNumbers
): ReadonlyArray<NumberedHunk> => {
  const next = new Map<string, number>()
  return hunks.map((hunk) => {
    const text = hunkTextOf(path, hunk)
    let number = next.get(text) ?? 0
    while (decided[text]?.includes(number) === true) number++
    next.set(text, number + 1)
    return { id: hunkIdOf(text, number), text, number, hunk }
  })
}

/** A file for people. `hunks`: those of a file that is not decided as a whole. */
export const shownFile = (
  { apart, change, id, isConflict, whole }: ComparedFile,
  hunks: ReadonlyArray<NumberedHunk> | undefined
): ChangedFile => {
  const { additions, after, before, binary, deletions, fromPath, path, status } = change
  const isOtherMode = before?.mode !== after?.mode
  const result = resultOf(change)
  return {
    id,
    path: pathText(path),
    ...(fromPath === undefined ? {} : { fromPath: pathText(fromPath) }),
    status,
    ...(isOtherMode && before !== undefined ? { oldMode: before.mode } : {}),
    ...(isOtherMode && after !== undefined ? { mode: after.mode } : {}),
    binary,
    additions,
    deletions,
    hunks: whole === undefined ? (hunks?.length ?? 0) : 1,
    version: fileVersionOf(change),
    ...(result === undefined ? {} : { result }),
    ...(whole === undefined ? {} : { whole }),
    ...(apart.length === 0 ? {} : { apart }),
    ...(isConflict ? { conflict: true } : {})
  }
}

/** Hunks of a file that is decided as a whole. All have its one id. Without text to show, there is one without lines. */
export const wholeHunks = Effect.fn("ChangeComparison.wholeHunks")(function* (
  shadow: ShadowRepository,
  { change, whole }: ComparedFile
): Effect.fn.Return<ReadonlyArray<Omit<NumberedHunk, "text" | "number">>, GitFailed> {
  const id = wholeHunkIdOf(change)
  const empty = yield* storeContent(shadow, Buffer.alloc(0))
  const [before, after] = [change.before?.id ?? empty, change.after?.id ?? empty]
  const sizes = yield* sizesOf(shadow, [before, after])
  const size = Math.max(0, ...sizes.values())
  const hasText = before !== after && !change.binary && whole !== "large" && size <= MAX_HUNK_FILE_BYTES
  const [hunks = []] = hasText ? yield* hunksBetween(shadow, [{ before, after, size: 2 * size }]) : []
  const none: PatchHunk = { oldStart: 0, oldLines: 0, newStart: 0, newLines: 0, lines: [] }
  return (hunks.length === 0 ? [none] : hunks).map((hunk) => ({ id, hunk }))
})

/** Lines that hunks add and remove. */
export const countLines = (
  hunks: ReadonlyArray<NumberedHunk>
): { readonly additions: number; readonly deletions: number } => {
  const counts = hunks.map(({ hunk }) => countsOf(hunk))
  return {
    additions: counts.reduce((sum, each) => sum + each.additions, 0),
    deletions: counts.reduce((sum, each) => sum + each.deletions, 0)
  }
}
