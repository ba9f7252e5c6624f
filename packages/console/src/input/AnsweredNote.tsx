/** Note that a shown question was answered elsewhere, or has no answer. */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { InputOutcome } from "./InputOutcome.tsx"
import { inputMessages } from "./messages.ts"
import "../approval/approval.css"

interface Props {
  readonly input: HubInput
  readonly onDismiss: () => void
}

export const AnsweredNote = ({ input: { id, kind, projectId, title }, onDismiss }: Props) => {
  const messages = useMessages(inputMessages)
  const { user } = useCurrentUser()
  const { data } = useQuery({
    queryKey: ["inputs", "one", id],
    queryFn: ({ signal }) => hubApi.inputs.get({ params: { id }, signal })
  })
  // The person knows an own answer, and the thread shows why a question was withdrawn.
  const isShown =
    data !== undefined &&
    data.state !== "pending" &&
    data.state !== "cancelled" &&
    data.state !== "withdrawn" &&
    data.answeredBy !== user.id
  return (
    <div className={isShown ? "decided-note" : "hidden"} role="status">
      {isShown && (
        <>
          <span>
            {messages.answeredElsewhere(visibleLine(title, 80))}{" "}
            <InputOutcome kind={kind} resolution={data} projectId={projectId} />
          </span>
          <button type="button" className="icon-button" aria-label={messages.dismiss} onClick={onDismiss}>
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  )
}
