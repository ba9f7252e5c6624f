/** What became of an approval: the decision and who made it, and the request as it was decided. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { inputChanges, inputText } from "@corral/domain/approval/InputEdit"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { ApprovalResolution } from "@corral/domain/run/Resolution"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMemberName } from "../api/ProjectsAndTargets.ts"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { approvalMessages } from "./messages.ts"
import { RequestView } from "./RequestView.tsx"
import "./approval.css"

interface UserNameProps {
  /** User id, or the actor as named by the Edge. */
  readonly by: string
  readonly projectId: HubRun["projectId"] | undefined
}

/** Name of the user who acted, if the reader shares a project with them. */
export const UserName = ({ by, projectId }: UserNameProps) => {
  const messages = useMessages(approvalMessages)
  const { user } = useCurrentUser()
  const isPerson = by.startsWith("usr_")
  const name = useMemberName(projectId, isPerson && by !== user.id ? by : undefined)
  if (by === user.id) return <>{messages.you}</>
  if (!isPerson) return <>{by.includes("policy") ? messages.policy : visibleLine(by, 60)}</>
  return <span title={by}>{name === undefined ? by : visibleLine(name, 60)}</span>
}

interface ApprovalOutcomeProps {
  readonly resolution: ApprovalResolution
  readonly projectId: HubRun["projectId"] | undefined
}

/** Outcome of an approval: decision, decider, origin, time and remembered rule, with both inputs if a person edited it. */
export const ApprovalOutcome = ({ projectId, resolution }: ApprovalOutcomeProps) => {
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

/** Changed fields of an edited input, each with its requested and its allowed value. */
const EditView = ({ allowed, requested }: { readonly allowed: unknown; readonly requested: unknown }) => {
  const messages = useMessages(approvalMessages)
  const changes = inputChanges(requested, allowed)
  return (
    <section className="edit" aria-label={messages.editShown}>
      <h3>{messages.editShown}</h3>
      {changes.map((change) => (
        <div key={change.name} className="edit-field">
          {change.name !== "" && <h4 className="edit-name">{visibleLine(change.name, 100)}</h4>}
          <dl>
            {(["allowed", "requested"] as const).map((side) => (
              <div key={side} className={`edit-${side}`}>
                <dt>{messages.editSides[side]}</dt>
                <dd>
                  {change[side] === undefined ? (
                    <span className="quiet">{messages.editNothing}</span>
                  ) : (
                    <Clipped text={visibleText(inputText(change[side]))} className="code" />
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </section>
  )
}

interface DecidedRequestProps {
  readonly request: ApprovalRequest
  readonly allowedInput: unknown
}

/**
 * Decided request. An edited request shows the allowed input first, each changed field with its requested and its allowed value, then the
 * requested one.
 */
export const DecidedRequest = ({ allowedInput, request }: DecidedRequestProps) => {
  const messages = useMessages(approvalMessages)
  if (allowedInput === undefined) return <RequestView request={request} isDecided />
  return (
    <>
      <EditView requested={request.input} allowed={allowedInput} />
      <details>
        <summary>{messages.wholeRequest}</summary>
        <RequestView request={request} isDecided />
      </details>
    </>
  )
}
