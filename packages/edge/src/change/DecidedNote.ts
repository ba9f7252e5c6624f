/** What the agent hears of decisions about its changes, with the next message. */
import {
  type EarlierDecision,
  MAX_EARLIER_DECISIONS,
  MAX_EARLIER_FILES
} from "@corral/domain/changes/EarlierDecision"
import type { Run } from "@corral/domain/run/Run"
import type { Store } from "../store/Store.ts"
import { setOfRun } from "./ChangeIds.ts"
import { decisionsAfter, findDecision } from "./ChangeRows.ts"

/** Decisions since the run ended, oldest first. */
export const decisionsSince = (
  store: Store["Service"],
  earlier: Run | undefined
): ReadonlyArray<EarlierDecision> => {
  if (earlier === undefined) return []
  const setId = setOfRun(earlier)
  // Ids sort by time, and nothing is decided while a run is live.
  const since = earlier.id.replace(/^run_/, "chd_")
  return decisionsAfter(store, setId, since, MAX_EARLIER_DECISIONS).map(
    ({ comment, fileCount, files, id, kind, reverses }) => {
      const reversed =
        reverses === undefined ? undefined : findDecision(store, setId, reverses)?.decision.kind
      return {
        id,
        kind,
        files: files.slice(0, MAX_EARLIER_FILES).map(({ hunks, path }) => ({ hunks, path })),
        fileCount,
        ...(comment === undefined ? {} : { comment }),
        ...(reversed === undefined || reversed === "undo" ? {} : { reversed })
      }
    }
  )
}

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
        ...decisions.flatMap((decision) => {
          const { comment, fileCount, files } = decision
          const left = fileCount - files.length
          return [
            sentenceOf(decision),
            ...files.map(({ hunks, path }) => `- ${path}${hunks > 1 ? ` (${hunks} changes)` : ""}`),
            ...(left > 0 ? [`- and ${left} more files`] : []),
            ...(comment === undefined ? [] : [`Comment: ${comment}`])
          ]
        })
      ].join("\n")
