/** A change set that waits for a decision on one row, which leads to its changes. */
import type { HubChangeSet } from "@corral/domain/hub-api/HubRun"
import type { TaskGroupId } from "@corral/domain/identity/Ids"
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { usePending } from "../api/Pending.ts"
import { useAgentName, useTargetName } from "../api/ProjectsAndTargets.ts"
import { GroupProgress } from "../group/GroupProgress.tsx"
import { useWorkTitle } from "../runs/RunRows.tsx"
import { useMessages } from "../text/Language.tsx"
import { homeMessages } from "./messages.ts"
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
export const OpenChanges = () => {
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
