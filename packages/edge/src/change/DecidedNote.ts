/**
 * What the agent hears of decisions about its changes, with the next message: one note with all rejected hunks and what a person wrote about them.
 *
 * Guarantees: bounded, the newest decisions first of all. A name of a file is one line, and looks like no other part of the note. Lines of a hunk
 * and of a suggestion are indented.
 */
import {
  type EarlierDecision,
  MAX_DECIDED_TEXT,
  MAX_EARLIER_DECISIONS,
  MAX_EARLIER_FILES,
  type RejectedPart
} from "@corral/domain/changes/EarlierDecision"
import type { ChangeDecision } from "@corral/domain/edge-api/ChangeSet"
import { encodeUlid } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import type { Store } from "../store/Store.ts"
import { setOfRun } from "./ChangeIds.ts"
import { decisionsAfter, findDecision, undoneFiles } from "./ChangeRows.ts"

/** Characters of paths in all decisions of a run. The other files are only counted. */
const MAX_PATH_CHARACTERS = 32_768
/** Characters of rejected parts in all decisions that the agent reads. */
const MAX_PART_CHARACTERS = 2 * MAX_DECIDED_TEXT
/** The same in the run's first event. */
const MAX_LOGGED_CHARACTERS = 12_288
/** Characters of a part without text. */
const PART_CHARACTERS = 200

const lengthOf = ({ lines = [], path, suggestion = [], text = "" }: RejectedPart): number =>
  [...lines, ...suggestion].reduce((sum, line) => sum + line.length + 1, 0) +
  PART_CHARACTERS +
  path.length +
  text.length

/** The decisions with the rejected parts for which there is room. The newest ones come first, and those with a comment before others. */
const withParts = (
  decisions: ReadonlyArray<EarlierDecision>,
  characters: number
): ReadonlyArray<EarlierDecision> => {
  let left = characters
  const isNamed = ({ suggestion, text }: RejectedPart): boolean =>
    text !== undefined || suggestion !== undefined
  const newest = decisions.toReversed().flatMap(({ rejected = [] }) => rejected)
  const shown = new Set(
    [...newest.filter(isNamed), ...newest.filter((part) => !isNamed(part))].filter((part) => {
      const length = lengthOf(part)
      if (length > left) return false
      left -= length
      return true
    })
  )
  return decisions.map(({ rejected = [], ...decision }) => {
    const parts = rejected.filter((part) => shown.has(part))
    return parts.length === 0 ? decision : { ...decision, rejected: parts }
  })
}

/** The decisions as the first event of the run names them. */
export const loggedDecisions = (decisions: ReadonlyArray<EarlierDecision>): ReadonlyArray<EarlierDecision> =>
  withParts(decisions, MAX_LOGGED_CHARACTERS)

/** What a decision rejected, without the files of which an undo has put it back. */
const stillRejected = (
  store: Store["Service"],
  { changeSetId, id, rejected = [], reversedBy }: ChangeDecision
): Pick<EarlierDecision, "rejected"> => {
  if (rejected.length === 0 || reversedBy !== undefined) return {}
  const undone = undoneFiles(store, changeSetId, id)
  return { rejected: rejected.filter(({ fileId }) => !undone.has(fileId)) }
}

/** The newest decisions since the run ended, oldest first. */
export const decisionsSince = (
  store: Store["Service"],
  earlier: Run | undefined
): ReadonlyArray<EarlierDecision> => {
  if (earlier === undefined) return []
  const setId = setOfRun(earlier)
  // Ids sort by time, and nothing is decided while a run is live. The id of a run has the time of its Hub.
  const since = `chd_${encodeUlid(Date.parse(earlier.createdAt), new Uint8Array())}`
  let left = MAX_PATH_CHARACTERS
  const found = decisionsAfter(store, setId, since, MAX_EARLIER_DECISIONS)
    .map((decision): EarlierDecision => {
      const { comment, edited, fileCount, files, id, kind, reverses } = decision
      const reversed =
        reverses === undefined ? undefined : findDecision(store, setId, reverses)?.decision.kind
      const shown = files.slice(0, MAX_EARLIER_FILES).filter(({ path }) => {
        left -= path.length
        return left >= 0
      })
      return {
        id,
        kind,
        files: shown.map(({ hunks, path }) => ({ hunks, path })),
        fileCount,
        ...(comment === undefined ? {} : { comment }),
        ...(edited === undefined ? {} : { edited }),
        ...stillRejected(store, decision),
        ...(reversed === undefined || reversed === "undo" ? {} : { reversed })
      }
    })
    .toReversed()
  return withParts(found, MAX_PART_CHARACTERS)
}

/** A character that a name of a file hides, or with which it begins another line. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"\\]/u
const escaped = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const codeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/** A name on one line: as it is, or in quotes as in JSON. */
const shownPath = (path: string): string =>
  hidden.test(path)
    ? JSON.stringify(path).replaceAll(escaped, (found) => found.split("").map(codeUnit).join(""))
    : path

const sentenceOf = ({ edited = 0, kind, reversed }: EarlierDecision): string => {
  if (kind === "accept" && edited > 0)
    return `Accepted into the workspace, ${edited} of the changes as a person has edited them:`
  if (kind === "accept") return "Accepted into the workspace:"
  if (kind === "reject") return "Rejected, and taken out of your files:"
  if (reversed === "accept") return "Taken back out of the workspace. The changes are open again:"
  if (reversed === "reject") return "A rejection was taken back. The changes are in your files again:"
  return "What your last turn wrote was undone in these files:"
}

const indented = (lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map((line) => `    ${line}`)

/** A rejected hunk with what a person wrote about it, or a comment about a file. */
const partLines = ({
  hunkId,
  lines,
  oldStart,
  path,
  suggestion,
  text
}: RejectedPart): ReadonlyArray<string> => {
  const place = hunkId === undefined || oldStart === undefined ? "" : `, from line ${Math.max(1, oldStart)}`
  const head = hunkId === undefined ? "About" : "Rejected in"
  return [
    `${head} ${shownPath(path)}${place}:`,
    ...indented(lines ?? []),
    ...(text === undefined ? [] : [`Comment: ${text}`]),
    ...(suggestion === undefined
      ? []
      : suggestion.length === 0
        ? ["Suggestion: leave these lines out."]
        : ["Suggestion, instead of the changed lines:", ...indented(suggestion)])
  ]
}

/** The note after the user's text; empty without decisions. */
export const decidedNote = (decisions: ReadonlyArray<EarlierDecision>): string =>
  decisions.length === 0
    ? ""
    : [
        "Since your last turn, a person has decided about your changes. The files on disk are up to date.",
        ...(decisions.length === MAX_EARLIER_DECISIONS
          ? [`These are the newest ${MAX_EARLIER_DECISIONS} decisions. There may be earlier ones.`]
          : []),
        ...decisions.flatMap((decision) => {
          const { comment, fileCount, files, rejected } = decision
          const left = fileCount - files.length
          return [
            sentenceOf(decision),
            ...files.map(
              ({ hunks, path }) => `- ${shownPath(path)}${hunks > 1 ? ` (${hunks} changes)` : ""}`
            ),
            ...(left > 0 ? [`- and ${left} more files`] : []),
            ...(comment === undefined ? [] : [`Comment: ${comment}`]),
            ...(rejected ?? []).flatMap(partLines)
          ]
        })
      ].join("\n")
