/** Outcome of an approval: decision, decider, origin, time and remembered rule, with both inputs if a person edited it. */
import type { ApprovalResolution } from "@corral/domain/run/Resolution"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { oneLine } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { PersonName } from "./PersonName.tsx"
import { approvalWords } from "./messages.ts"
import "./approval.css"

interface Props {
  readonly resolution: ApprovalResolution
  readonly projectId: HubRun["projectId"] | undefined
}

export const Outcome = ({ projectId, resolution }: Props) => {
  const words = useWords(approvalWords)
  const { decidedBy: by, edited, origin, reason, resolvedAt, scope, state } = resolution
  // Without a decision the reason is the program's: what became of it is said in the reader's language.
  const unanswered =
    by === undefined && (state === "expired" || state === "cancelled") ? words.unanswered[state] : undefined
  return (
    <span className={`outcome outcome-${state}`}>
      <strong>{state === "pending" ? state : words.decided[state]}</strong>
      {edited === true && <> {words.edited}</>}
      {scope !== undefined && state === "approved" && <>, {words.remembered[scope]}</>}
      {by !== undefined && (
        <>
          {state === "approved" && scope !== undefined ? ", " : " "}
          {words.by} <PersonName by={by} projectId={projectId} />
        </>
      )}
      {origin !== undefined && origin !== "policy" && <> {words.origins[origin]}</>}
      {resolvedAt !== undefined && (
        <>
          {", "}
          <Time at={resolvedAt} />
        </>
      )}
      {reason !== undefined && reason !== "" && unanswered === undefined && <>: {oneLine(reason, 1_000)}</>}
      {unanswered !== undefined && <>. {unanswered}</>}
    </span>
  )
}
