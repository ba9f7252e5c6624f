/** Why a decision did not count, in a sentence; other refusals as they are shown everywhere. */
import { HubRefusal } from "../api/Hub.ts"
import { useWords } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { approvalWords } from "./messages.ts"

export const DecisionNote = ({ error }: { readonly error: Error | null }) => {
  const words = useWords(approvalWords)
  if (!(error instanceof HubRefusal)) return <RefusalNote error={error} />
  const sentence =
    error.code === "approval_already_resolved"
      ? words.already
      : error.code === "approval_expired"
        ? words.tooLate
        : error.code === "target_offline"
          ? error.details["outcome"] === "unknown"
            ? words.unknownOutcome
            : words.offline
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
