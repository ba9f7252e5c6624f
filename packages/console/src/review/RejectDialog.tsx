/** Dialog that rejects parts of a change set with a reason for the agent. */
import { useId } from "react"
import { useMessages } from "../text/Language.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { textIn } from "../ui/Field.tsx"
import type { UserAction } from "../ui/useAction.ts"
import { decideMessages } from "./decideMessages.ts"
import { MAX_REASON } from "./setFiles.ts"
import "./decide.css"

interface Props {
  readonly action: UserAction
  readonly title: string
  /** Line comments that go along. */
  readonly comments: number
  /** Files that are apart, which a rejection of everything leaves. */
  readonly apart: number
  readonly onReject: (reason: string) => void
}

export const RejectDialog = ({ action, apart, comments, onReject, title }: Props) => {
  const messages = useMessages(decideMessages)
  const id = useId()
  return (
    <FormDialog
      action={action}
      title={title}
      submit={messages.reject}
      onSubmit={async (form) => onReject(textIn(form, "reason"))}
    >
      <p>
        {messages.rejectText} {apart > 0 && messages.rejectApart(apart)}{" "}
        {comments > 0 && messages.withComments(comments)}
      </p>
      <label htmlFor={id}>{messages.comment}</label>
      <textarea id={id} name="reason" rows={3} maxLength={MAX_REASON} aria-describedby={`${id}-hint`} />
      <p id={`${id}-hint`} className="quiet">
        {messages.commentHint}
      </p>
    </FormDialog>
  )
}
