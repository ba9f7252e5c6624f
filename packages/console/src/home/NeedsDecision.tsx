/**
 * Approvals, questions and plans that wait for the user, oldest first, and below them changes, which block no agent. A question is answered in its thread. Low and medium risk can be decided here; high risk is decided where the whole action is shown.
 *
 * Guarantees: a decided row keeps its place while the page is open, so that no other row moves under the pointer.
 */
import type { HubApproval, HubChangeSet, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import { useState } from "react"
import { oldestFirst } from "../api/Pending.ts"
import { useAgentName, useCanDecide, useTargetName } from "../api/ProjectsAndTargets.ts"
import { leaveForText } from "../keys/TextKey.ts"
import { DecisionNote, useDecide } from "../approval/Decision.tsx"
import { approvalMessages } from "../approval/messages.ts"
import { InputRow } from "./OpenQuestions.tsx"
import { ChangesRow } from "./ChangesRow.tsx"
import { isVisibleLine, visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { homeMessages } from "./messages.ts"
import { useWorkTitle, WorkLink } from "../runs/RunRows.tsx"
import "../approval/approval.css"
import "./home.css"

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
