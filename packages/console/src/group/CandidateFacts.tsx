/** What a candidate has so far: its changes, its time, its tokens and its cost. */
import type { GroupCandidate } from "@corral/domain/hub-api/TaskGroups"
import { useMemo } from "react"
import { useWaitingRuns } from "../api/Pending.ts"
import { useOfflineTargets, useRights } from "../api/ProjectsAndTargets.ts"
import { isInProgress, type StatusContext } from "../status/SessionStatus.tsx"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { useNow } from "../ui/Time.tsx"
import { groupMessages } from "./messages.ts"
import "../diff/diff.css"
import "./group.css"

/** What decides the status of candidates, as it changes. */
export const useStatusContext = (): StatusContext => {
  const waiting = useWaitingRuns()
  const offline = useOfflineTargets()
  const rights = useRights()
  return useMemo(() => ({ offline, rights, waiting }), [offline, rights, waiting])
}

/** Files and lines that a candidate changed and that are undecided. */
export const CandidateCounts = ({ changes }: { readonly changes: GroupCandidate["changes"] }) => {
  const messages = useMessages(groupMessages)
  if (changes === undefined) return <span className="quiet">–</span>
  if (changes.fileCount === 0)
    return (
      <span className="quiet">{changes.state === "decided" ? messages.decided : messages.noChanges}</span>
    )
  const { additions, deletions, fileCount } = changes
  return (
    <span className="candidate-counts">
      {messages.files(fileCount)} {additions > 0 && <ins className="diff-plus">+{additions}</ins>}{" "}
      {deletions > 0 && <del className="diff-minus">−{deletions}</del>}
    </span>
  )
}

interface TimeProps {
  readonly durationMs: number
  readonly run: GroupCandidate["run"]
}

/** Time of all runs of a candidate. That of a run in progress continues. */
export const CandidateTime = ({ durationMs, run }: TimeProps) => {
  const { language } = useLanguage()
  const now = useNow()
  const live =
    run !== undefined && isInProgress(run.state) && run.state !== "queued"
      ? now - Date.parse(run.createdAt)
      : 0
  const total = durationMs + Math.max(0, live)
  return <span>{total === 0 ? "–" : formatDuration(total, language)}</span>
}

/** Input and output tokens. Zero while no run has reported any. */
export const tokensOf = ({ usage }: Pick<GroupCandidate, "usage">): number =>
  (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
