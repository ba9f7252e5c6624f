/**
 * What the agent hears of decisions about its changes, with the next message.
 *
 * Guarantees: bounded, the newest decisions first of all. A name of a file is one line, and looks like no other part of the note.
 */
import {
  type EarlierDecision,
  MAX_EARLIER_DECISIONS,
  MAX_EARLIER_FILES
} from "@corral/domain/changes/EarlierDecision"
import type { Run } from "@corral/domain/run/Run"
import type { Store } from "../store/Store.ts"
import { setOfRun } from "./ChangeIds.ts"
import { decisionsAfter, findDecision } from "./ChangeRows.ts"

/** Characters of paths in all decisions of a run. The other files are only counted. */
const MAX_PATH_CHARACTERS = 32_768

/** The newest decisions since the run ended, oldest first. */
export const decisionsSince = (
  store: Store["Service"],
  earlier: Run | undefined
): ReadonlyArray<EarlierDecision> => {
  if (earlier === undefined) return []
  const setId = setOfRun(earlier)
  // Ids sort by time, and nothing is decided while a run is live.
  const since = earlier.id.replace(/^run_/, "chd_")
  let left = MAX_PATH_CHARACTERS
  return decisionsAfter(store, setId, since, MAX_EARLIER_DECISIONS)
    .map(({ comment, fileCount, files, id, kind, reverses }) => {
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
        ...(reversed === undefined || reversed === "undo" ? {} : { reversed })
      }
    })
    .toReversed()
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

const sentenceOf = ({ kind, reversed }: EarlierDecision): string => {
  if (kind === "accept") return "Accepted into the workspace:"
  if (kind === "reject") return "Rejected, and taken out of your files:"
  if (reversed === "accept") return "Taken back out of the workspace. The changes are open again:"
  if (reversed === "reject") return "A rejection was taken back. The changes are in your files again:"
  return "What your last turn wrote was undone in these files:"
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
          const { comment, fileCount, files } = decision
          const left = fileCount - files.length
          return [
            sentenceOf(decision),
            ...files.map(
              ({ hunks, path }) => `- ${shownPath(path)}${hunks > 1 ? ` (${hunks} changes)` : ""}`
            ),
            ...(left > 0 ? [`- and ${left} more files`] : []),
            ...(comment === undefined ? [] : [`Comment: ${comment}`])
          ]
        })
      ].join("\n")
