/** How an approval was decided: what, by whom, when, and what is remembered. */
import type { ApprovalState, DecisionScope } from "@corral/domain/Approval"
import type { HubRun } from "@corral/domain/HubRun"
import { oneLine } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { PersonName } from "./PersonName.tsx"
import { approvalWords } from "./words.ts"

interface Props {
  readonly state: Exclude<ApprovalState, "pending">
  readonly by: string | undefined
  readonly at: string | undefined
  readonly scope: DecisionScope | undefined
  readonly reason: string | undefined
  readonly projectId: HubRun["projectId"] | undefined
}

export const Outcome = ({ at, by, projectId, reason, scope, state }: Props) => {
  const words = useWords(approvalWords)
  // Nobody's word: what became of it is said in the reader's language.
  const unanswered =
    by === undefined && (state === "expired" || state === "cancelled") ? words.unanswered[state] : undefined
  return (
    <p className={`outcome outcome-${state}`}>
      <strong>{words.decided[state] ?? state}</strong>
      {by !== undefined && (
        <>
          {" "}
          {words.by} <PersonName by={by} projectId={projectId} />
        </>
      )}
      {scope !== undefined && state === "approved" && <> {words.remembered[scope] ?? scope}</>}
      {at !== undefined && (
        <>
          {", "}
          <Time at={at} />
        </>
      )}
      {reason !== undefined && reason !== "" && state !== "expired" && <>: {oneLine(reason, 1_000)}</>}
      {unanswered !== undefined && <>. {unanswered}</>}
    </p>
  )
}
