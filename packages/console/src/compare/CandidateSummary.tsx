/** One candidate in a comparison: how it ended, what it said, its checks, changes and use, and what can be done with it as a whole. */
import type { GroupCandidate, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { useCanDecide, useCanWork } from "../api/ProjectsAndTargets.ts"
import {
  CandidateCounts,
  CandidateTime,
  CheckMarks,
  tokensOf,
  useStatusContext
} from "../group/CandidateFacts.tsx"
import { CandidateBadge, CandidateName } from "../group/GroupCard.tsx"
import { agentLabel, areChecksOld, candidateStatus, checksOf, letterOf } from "../group/candidates.ts"
import { groupMessages } from "../group/messages.ts"
import { plainLine } from "../markdown/plainLine.ts"
import { visibleLine } from "../markdown/visible.ts"
import { decideMessages } from "../review/decideMessages.ts"
import { StatusMark } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { compareMessages } from "./messages.ts"
import type { GroupDecisions } from "./useComparison.ts"
import "../review/decide.css"
import "./compare.css"

/** `12,345` up to ten thousand, then `12k`. */
const shortNumber = (n: number): string =>
  n < 10_000 ? n.toLocaleString("en") : `${Math.round(n / 1_000).toLocaleString("en")}k`

/** `$0.0421` below a dollar, then `$12.30`. */
const formatCost = (usd: number): string => `$${usd.toFixed(usd < 1 ? 4 : 2)}`

/** Letter and agent, for names of buttons. */
export const shortNameOf = (candidate: Pick<GroupCandidate, "label" | "task">, at: number): string =>
  `${letterOf(at)} ${visibleLine(agentLabel(candidate), 60)}`

interface FactProps {
  readonly name: string
  readonly children: ReactNode
}

const Fact = ({ children, name }: FactProps) => (
  <div className="fact">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const MAX_ANSWER = 600

/** The beginning of what the agent said at the end, or why it failed. */
const Answer = ({ run }: { readonly run: GroupCandidate["run"] }) => {
  const textOf = useErrorSentence()
  const text = run?.error === undefined ? plainLine(run?.resultText ?? "") : textOf(run.error)
  return <p className="summary-answer">{visibleLine(text, MAX_ANSWER)}</p>
}

interface Props {
  readonly group: TaskGroup
  readonly candidate: GroupCandidate
  readonly at: number
  readonly decisions: GroupDecisions
  readonly onRejectAll: () => void
  readonly onContinue: () => void
}

/** Decisions about everything of a candidate. */
const WholeButtons = ({ at, candidate, decisions, group, onContinue, onRejectAll }: Props) => {
  const messages = useMessages(compareMessages)
  const decide = useMessages(decideMessages)
  const mayDecide = useCanDecide(group.projectId)
  const mayWork = useCanWork(group.projectId)
  const { changes } = candidate
  const name = shortNameOf(candidate, at)
  const hasOpen = changes !== undefined && changes.state === "open" && changes.fileCount > changes.apart
  const pending = changes === undefined ? undefined : decisions.pendingAll(changes.runId)
  const isOff = decisions.isBusy || changes?.live === true
  return (
    <div className="summary-actions">
      {mayDecide && hasOpen && (
        <>
          <button
            type="button"
            className="button small decide-accept"
            data-decides
            aria-label={messages.acceptAllOf(name)}
            disabled={isOff}
            onClick={() => decisions.decideAll("accept", changes)}
          >
            {pending === "accept" ? decide.accepting : messages.acceptAll}
          </button>
          <button
            type="button"
            className="button small"
            data-decides
            aria-label={messages.rejectOf(name)}
            disabled={isOff}
            onClick={onRejectAll}
          >
            {pending === "reject" ? decide.rejecting : messages.reject}
          </button>
        </>
      )}
      {mayWork && group.continuedTaskId === undefined && (
        <button
          type="button"
          className="button small"
          data-decides
          aria-label={messages.continueOf(name)}
          onClick={onContinue}
        >
          {messages.continueWith(letterOf(at))}
        </button>
      )}
    </div>
  )
}

/** Ways to the turn in the thread, and to its changes with line comments. */
const Ways = ({ at, candidate, group: { sessionId } }: Pick<Props, "at" | "candidate" | "group">) => {
  const messages = useMessages(compareMessages)
  const { run } = candidate
  const name = shortNameOf(candidate, at)
  if (run === undefined) return null
  return (
    <span className="summary-ways">
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId }}
        search={{ at: run.id }}
        aria-label={messages.openOf(name)}
      >
        {messages.open}
      </Link>{" "}
      {candidate.changes?.state === "open" && (
        <Link
          to="/sessions/$sessionId"
          params={{ sessionId }}
          search={{ panel: "changes", run: run.id }}
          aria-label={messages.reviewOf(name)}
        >
          {messages.review}
        </Link>
      )}
    </span>
  )
}

export const CandidateSummary = (props: Props) => {
  const { at, candidate, group } = props
  const messages = useMessages(compareMessages)
  const { checksOld, waits } = useMessages(groupMessages)
  const status = candidateStatus(candidate, useStatusContext())
  const tokens = tokensOf(candidate)
  const { costUsd } = candidate.usage ?? {}
  const results = checksOf(candidate)
  return (
    <li
      className={candidate.closed === true ? "summary candidate-closed" : "summary"}
      aria-label={shortNameOf(candidate, at)}
    >
      <div className="summary-head">
        <CandidateName at={at} candidate={candidate} />
        <span className="summary-state">
          <StatusMark status={status} />
          <CandidateBadge candidate={candidate} group={group} />
        </span>
      </div>
      <Answer run={candidate.run} />
      <dl className="summary-facts">
        <Fact name={messages.checks}>
          {results.length === 0 ? "–" : <CheckMarks results={results} />}
          {results.length > 0 && areChecksOld(candidate) && <span className="quiet"> {checksOld}</span>}
        </Fact>
        <Fact name={messages.changes}>
          {candidate.removedAt === undefined ? (
            <CandidateCounts changes={candidate.changes} />
          ) : (
            <span className="quiet">{messages.removed}</span>
          )}
        </Fact>
        <Fact name={messages.time}>
          {candidate.run === undefined && status === "waiting" ? (
            <span className="quiet">{waits}</span>
          ) : (
            <CandidateTime durationMs={candidate.durationMs} run={candidate.run} />
          )}
        </Fact>
        <Fact name={messages.tokens}>{tokens === 0 ? "–" : shortNumber(tokens)}</Fact>
        <Fact name={messages.cost}>{costUsd === undefined ? "–" : formatCost(costUsd)}</Fact>
      </dl>
      <div className="summary-foot">
        <WholeButtons {...props} />
        <Ways {...{ at, candidate, group }} />
      </div>
    </li>
  )
}
