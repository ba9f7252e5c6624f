/** Outcome of an approval: decision, decider, origin, time and remembered rule, with both inputs if a person edited it. */
import type { ApprovalResolution } from "@corral/domain/run/Resolution"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { UserName } from "./UserName.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

interface Props {
  readonly resolution: ApprovalResolution
  readonly projectId: HubRun["projectId"] | undefined
}

export const ApprovalOutcome = ({ projectId, resolution }: Props) => {
  const messages = useMessages(approvalMessages)
  const { decidedBy: by, edited, origin, reason, resolvedAt, scope, state } = resolution
  // Without a decision, the reason comes from the program. Show a translated explanation instead.
  const unanswered =
    by === undefined && (state === "expired" || state === "cancelled")
      ? messages.unanswered[state]
      : undefined
  const { colon, comma, stop } = usePunctuation()
  return (
    <span className={`outcome outcome-${state}`}>
      <strong>{state === "pending" ? state : messages.decided[state]}</strong>
      {edited === true && <> {messages.edited}</>}
      {scope !== undefined && state === "approved" && `${comma}${messages.remembered[scope]}`}
      {by !== undefined && (
        <>
          {state === "approved" && scope !== undefined ? comma : " "}
          {messages.by} <UserName by={by} projectId={projectId} />
        </>
      )}
      {origin !== undefined && origin !== "policy" && <> {messages.origins[origin]}</>}
      {resolvedAt !== undefined && (
        <>
          {comma}
          <Time at={resolvedAt} />
        </>
      )}
      {reason !== undefined &&
        reason !== "" &&
        unanswered === undefined &&
        `${colon}${visibleLine(reason, 1_000)}`}
      {unanswered !== undefined && `${stop}${unanswered}`}
    </span>
  )
}
