/** What a candidate has so far: its changes, its time, its tokens, its cost, and the results of its checks, each with its output in a dialog. */
import { Dialog } from "@base-ui/react/dialog"
import type { GroupCandidate } from "@corral/domain/hub-api/TaskGroups"
import type { CheckResult, CheckState } from "@corral/domain/run/Check"
import { useMemo } from "react"
import { useWaitingRuns } from "../api/Pending.ts"
import { useOfflineTargets, useRights } from "../api/ProjectsAndTargets.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { type StatusContext, isInProgress } from "../status/SessionStatus.tsx"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { useNow } from "../ui/Time.tsx"
import { groupMessages } from "./messages.ts"
import "../diff/diff.css"
import "./group.css"

const shapes: { readonly [S in CheckState]: string } = {
  waiting: "○",
  running: "●",
  passed: "✓",
  failed: "✕",
  timed_out: "✕",
  stopped: "■",
  unavailable: "⊘"
}

/** One result, which opens what the command printed. */
const CheckMark = ({ result }: { readonly result: CheckResult }) => {
  const messages = useMessages(groupMessages)
  const { language } = useLanguage()
  const { command, durationMs, exitCode, name, output = "", reason, state, truncated } = result
  const word = messages.checkStates[state]
  const facts = [
    word,
    ...(exitCode === undefined ? [] : [messages.exitCode(exitCode)]),
    ...(durationMs === undefined ? [] : [formatDuration(durationMs, language)])
  ]
  return (
    <Dialog.Root>
      <Dialog.Trigger className={`check-mark check-${state}`}>
        <span aria-hidden="true">{shapes[state]}</span>{" "}
        <span className="check-name">{messages.check(visibleLine(name, 60), word)}</span>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog check-dialog">
          <Dialog.Title className="dialog-title">{messages.checkOutput(visibleLine(name, 60))}</Dialog.Title>
          <p>
            <code className="check-command">{visibleText(command)}</code>
          </p>
          <p className={`check-${state}`}>
            <span aria-hidden="true">{shapes[state]}</span> {facts.join(" · ")}
          </p>
          {reason !== undefined && <p>{visibleLine(reason, 1_000)}</p>}
          {truncated === true && <p className="quiet">{messages.outputCut}</p>}
          {output === "" ? (
            state !== "unavailable" && state !== "waiting" && <p className="quiet">{messages.noOutput}</p>
          ) : (
            <pre
              className="code check-output"
              tabIndex={0}
              role="region"
              aria-label={messages.checkOutput(name)}
            >
              {visibleText(output)}
            </pre>
          )}
          <div className="dialog-actions">
            <Dialog.Close className="button">{messages.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** A mark and a word for each result, which opens what the command printed. */
export const CheckMarks = ({ results }: { readonly results: ReadonlyArray<CheckResult> }) => (
  <span className="check-marks">
    {results.map((result) => (
      <CheckMark key={result.name} result={result} />
    ))}
  </span>
)

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
