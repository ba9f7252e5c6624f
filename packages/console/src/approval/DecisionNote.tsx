/** Message for a rejected decision. Other errors are shown as everywhere. */
import { CorralError } from "@corral/client/http/CorralError"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { approvalMessages } from "./messages.ts"

export const DecisionNote = ({ error }: { readonly error: Error | null }) => {
  const messages = useMessages(approvalMessages)
  if (!(error instanceof CorralError)) return <RefusalNote error={error} />
  const sentence =
    error.code === "approval_already_resolved"
      ? messages.already
      : error.code === "approval_expired"
        ? messages.tooLate
        : error.code === "target_offline"
          ? error.details["outcome"] === "unknown"
            ? messages.unknownOutcome
            : messages.offline
          : undefined
  if (sentence === undefined) return <RefusalNote error={error} />
  return (
    <div className="refusal" role="alert">
      <p>{sentence}</p>
      {error.requestId !== undefined && (
        <p className="quiet">
          <code>{error.requestId}</code>
        </p>
      )}
    </div>
  )
}
