/**
 * What waits for the user: approvals, questions and plans, oldest first, and below them changes, which block no agent. A question is answered in its
 * thread, and a row of changes leads to them. Low and medium risk can be decided here; high risk is decided where the whole action is shown.
 *
 * Guarantees: a decided row keeps its place while the page is open, so that no other row moves under the pointer.
 */
import type { HubApproval, HubChangeSet, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import type { TaskGroupId } from "@corral/domain/identity/Ids"
import { Link } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import { useLatestRuns } from "../api/RunsAndGroups.ts"
import { oldestFirst, usePending, usePendingInputs } from "../api/Pending.ts"
import { useAgentName, useCanDecide, useTargetName } from "../api/ProjectsAndTargets.ts"
import { DecisionNote, useDecide } from "../approval/Decision.tsx"
import { approvalMessages } from "../approval/messages.ts"
import { GroupProgress } from "../group/GroupProgress.tsx"
import { inputMessages } from "../input/messages.ts"
import { leaveForText } from "../keys/TextKey.ts"
import { isVisibleLine, visibleLine } from "../markdown/visible.ts"
import { WorkLink, useWorkTitle } from "../runs/RunRows.tsx"
import { useMessages } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { homeMessages } from "./messages.ts"
import "../approval/approval.css"
import "./home.css"
import "../input/input.css"
import "../board/board.css"

interface LinkProps {
  readonly set: HubChangeSet
  readonly className: string
  readonly children: ReactNode
}

/** To the changes, in the session or at the run. */
const ChangesLink = ({ children, className, set: { runId, sessionId } }: LinkProps) =>
  sessionId === undefined ? (
    <Link to="/runs/$runId" params={{ runId }} search={{ panel: "changes" }} className={className}>
      {children}
    </Link>
  ) : (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId }}
      search={{ panel: "changes", run: runId }}
      className={className}
    >
      {children}
    </Link>
  )

interface GroupRowProps {
  readonly set: HubChangeSet
  readonly groupId: TaskGroupId
}

/** Results of several agents that wait for a decision, on one row, which leads to their comparison. */
const GroupChangesRow = ({ groupId, set: { sessionId, targetId, workspace } }: GroupRowProps) => {
  const messages = useMessages(homeMessages)
  const target = useTargetName(targetId)
  const title = useWorkTitle({ input: { text: messages.changes }, sessionId })
  return (
    <li className="row">
      <div className="row-main">
        <div className="home-head">
          <Link to="/compare/$groupId" params={{ groupId }} className="row-title">
            <bdi>{title}</bdi>
          </Link>{" "}
          <span className="input-badge">{messages.changes}</span>{" "}
          <span className="home-place">
            {[target, workspace].filter((part) => part !== undefined).join(" · ")}
          </span>
        </div>
        <span className="home-detail">
          <GroupProgress groupId={groupId} />
        </span>
      </div>
      <div className="row-side">
        <Link to="/compare/$groupId" params={{ groupId }} className="button small">
          {messages.compare}
        </Link>
      </div>
    </li>
  )
}

/** A change set, or those of a group of candidates. */
export const ChangesRow = ({ set }: { readonly set: HubChangeSet }) =>
  set.groupId === undefined ? <SetRow set={set} /> : <GroupChangesRow groupId={set.groupId} set={set} />

const SetRow = ({ set }: { readonly set: HubChangeSet }) => {
  const messages = useMessages(homeMessages)
  const { additions, agentId, conflicts, deletions, fileCount, sessionId, targetId, workspace } = set
  const agent = useAgentName(targetId, agentId)
  const target = useTargetName(targetId)
  const title = useWorkTitle({ input: { text: messages.changes }, sessionId })
  const places = [agent, target, workspace].filter((part) => part !== undefined)
  return (
    <li className="row">
      <div className="row-main">
        <div className="home-head">
          <ChangesLink set={set} className="row-title">
            <bdi>{title}</bdi>
          </ChangesLink>{" "}
          <span className="input-badge">{messages.changes}</span>{" "}
          <span className="home-place">{places.join(" · ")}</span>
        </div>
        <span className="home-detail">
          {messages.filesToDecide(fileCount)} <span className="change-added">+{additions}</span>{" "}
          <span className="change-removed">−{deletions}</span>
          {conflicts > 0 && ` · ${messages.conflicts(conflicts)}`}
        </span>
      </div>
      <div className="row-side">
        <ChangesLink set={set} className="button small">
          {messages.review}
        </ChangesLink>
      </div>
    </li>
  )
}

/** All change sets that wait for the user, as rows. Nothing where there are none. */
const OpenChanges = () => {
  const messages = useMessages(homeMessages)
  const { changes } = usePending()
  if (changes.length === 0) return null
  return (
    <section className="open-questions home" aria-label={messages.changesWaiting}>
      <ul className="rows" aria-label={messages.changesWaiting}>
        {changes.map((set) => (
          <ChangesRow key={set.id} set={set} />
        ))}
      </ul>
    </section>
  )
}

interface InputRowProps {
  readonly input: HubInput
  readonly sessionId: HubRun["sessionId"]
}

/** An open question or plan on one row, which leads to its thread. */
export const InputRow = ({ input, sessionId }: InputRowProps) => {
  const messages = useMessages(inputMessages)
  const { agentId, kind, questions = [], requestedAt, runId, targetId, title, workspace } = input
  const agent = useAgentName(targetId, agentId)
  const target = useTargetName(targetId)
  const work = useWorkTitle({ input: { text: title }, sessionId })
  const places = [agent, target, workspace].filter((part) => part !== undefined)
  return (
    <li className="row">
      <div className="row-main">
        <div className="home-head">
          <WorkLink runId={runId} sessionId={sessionId} className="row-title">
            <bdi>{work}</bdi>
          </WorkLink>{" "}
          <span className="input-badge">{messages.kinds[kind]}</span>{" "}
          <span className="home-place">
            {places.join(" · ")} · <Time at={requestedAt} />
          </span>
        </div>
        <span className="home-detail">
          <bdi>{visibleLine(questions.length === 1 ? (questions[0]?.text ?? title) : title, 160)}</bdi>
        </span>
      </div>
      <div className="row-side">
        <WorkLink runId={runId} sessionId={sessionId} className="button small">
          {kind === "plan" ? messages.toPlan : messages.toAnswer}
        </WorkLink>
      </div>
    </li>
  )
}

const Questions = () => {
  const messages = useMessages(inputMessages)
  const inputs = usePendingInputs()
  const runs = useLatestRuns()
  if (inputs.length === 0) return null
  return (
    <section className="open-questions home" aria-label={messages.questions}>
      <ul className="rows" aria-label={messages.questions}>
        {inputs.map((input) => (
          <InputRow
            key={input.id}
            input={input}
            sessionId={runs.find(({ id }) => id === input.runId)?.sessionId}
          />
        ))}
      </ul>
    </section>
  )
}

/** All open questions and plans as rows, and changes that wait. Nothing where there are none. */
export const OpenQuestions = () => (
  <>
    <Questions />
    <OpenChanges />
  </>
)

interface RowProps {
  readonly approval: HubApproval
  readonly sessionId: HubRun["sessionId"]
  readonly onDecided: (approval: HubApproval) => void
}

/** Most characters of a detail. A request with a longer command is decided where it is shown whole. */
const DETAIL = 160

const Decision = ({ approval, onDecided, sessionId }: RowProps) => {
  const messages = useMessages(homeMessages)
  const { allow, deny } = useMessages(approvalMessages)
  const decide = useDecide(approval.id, { onSent: onDecided })
  const mayDecide = useCanDecide(approval.projectId)
  const { request, runId } = approval
  const send = (decision: "allow" | "deny") =>
    decide.mutate(decision === "allow" ? { decision, scope: "once" } : { decision })
  const review = (
    <WorkLink runId={runId} sessionId={sessionId} className="button small">
      {messages.review}
    </WorkLink>
  )
  const isBusy = decide.isPending || decide.isSuccess
  return (
    <>
      <div className="row-side" onKeyDown={leaveForText}>
        {request.risk === "high" || !isVisibleLine(request.command ?? "", DETAIL) || !mayDecide ? (
          review
        ) : (
          <>
            <button type="button" className="button small" disabled={isBusy} onClick={() => send("deny")}>
              {deny}
            </button>
            <button type="button" className="button small" disabled={isBusy} onClick={() => send("allow")}>
              {allow.once}
            </button>
          </>
        )}
      </div>
      <DecisionNote error={decide.error} />
    </>
  )
}

const Row = (props: RowProps) => {
  const messages = useMessages(homeMessages)
  const { risks } = useMessages(approvalMessages)
  const { agentId, request, requestedAt, runId, state, targetId, workspace } = props.approval
  const agent = useAgentName(targetId, agentId)
  const target = useTargetName(targetId)
  const title = useWorkTitle({ input: { text: request.title }, sessionId: props.sessionId })
  return (
    <li className="row">
      <div className="row-main">
        <div className="home-head">
          <WorkLink runId={runId} sessionId={props.sessionId} className="row-title">
            <bdi>{title}</bdi>
          </WorkLink>{" "}
          <span className={`risk risk-${request.risk}`}>{risks[request.risk]}</span>{" "}
          <span className="home-place">
            {[agent, target, workspace].filter((part) => part !== undefined).join(" · ")} ·{" "}
            <Time at={requestedAt} />
          </span>
        </div>
        <span className={request.risk === "high" ? "home-detail" : "home-detail home-detail-whole"}>
          {request.command === undefined ? (
            <bdi>{visibleLine(request.title, DETAIL)}</bdi>
          ) : (
            <code>{visibleLine(request.command, DETAIL)}</code>
          )}
        </span>
      </div>
      {state === "pending" ? (
        <Decision {...props} />
      ) : (
        <strong role="status">{state === "approved" ? messages.allowed : messages.denied}</strong>
      )}
    </li>
  )
}

interface Props {
  readonly pending: ReadonlyArray<HubApproval>
  readonly inputs: ReadonlyArray<HubInput>
  readonly changes: ReadonlyArray<HubChangeSet>
  /** Runs that may have a session. */
  readonly runs: ReadonlyArray<HubRun>
}

export const NeedsDecision = ({ changes, inputs, pending, runs }: Props) => {
  const messages = useMessages(homeMessages)
  const [decided, setDecided] = useState<ReadonlyArray<HubApproval>>([])
  const decidedIds = new Set(decided.map(({ id }) => id))
  const approvals = [...pending.filter(({ id }) => !decidedIds.has(id)), ...decided]
  const rows = oldestFirst<HubApproval | HubInput>([...approvals, ...inputs])
  const waiting = pending.length + inputs.length + changes.length
  const sessionOf = (runId: HubRun["id"]) => runs.find(({ id }) => id === runId)?.sessionId
  if (rows.length + changes.length === 0) return null
  return (
    <section aria-label={messages.needsYou}>
      <h2>
        <span className="home-waiting" aria-hidden="true">
          ◆
        </span>
        {messages.needsYou} {waiting > 0 && <span className="home-count">{waiting}</span>}
      </h2>
      <ul className="rows" aria-label={messages.needsYou}>
        {rows.map((row) =>
          "request" in row ? (
            <Row
              key={row.id}
              approval={row}
              sessionId={sessionOf(row.runId)}
              onDecided={(result) => setDecided((before) => [...before, { ...row, state: result.state }])}
            />
          ) : (
            <InputRow key={row.id} input={row} sessionId={sessionOf(row.runId)} />
          )
        )}
        {changes.map((set) => (
          <ChangesRow key={set.id} set={set} />
        ))}
      </ul>
    </section>
  )
}
