/**
 * What a rejection says of its parts: the rejected hunks, and what the person wrote about them and their files.
 *
 * Guarantees: bounded. Hunks with comments come first where not all have room. Secrets in rejected lines are redacted.
 */
import {
  MAX_CHANGE_COMMENTS,
  MAX_DECIDED_TEXT,
  type RejectedPart
} from "@corral/domain/changes/EarlierDecision"
import type { ChangeComment } from "@corral/domain/edge-api/ChangeSet"
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { Redaction } from "@corral/redaction/Redaction"
import { Effect } from "effect"
import type { GitFailed } from "../workspace/Git.ts"
import { shownHunk } from "../workspace/PatchHunks.ts"
import { pathText } from "../workspace/PathText.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"
import { wholeHunks } from "./ChangeComparison.ts"
import { wholeHunkIdOf } from "./ChangeIds.ts"
import type { SelectedFile } from "./DecisionPlan.ts"

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
export const rejectedParts = Effect.fn("RejectedParts.read")(function* (
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
