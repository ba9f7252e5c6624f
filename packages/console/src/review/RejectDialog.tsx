/** Dialog that rejects parts of a change set with a reason for the agent. */
import { useMessages } from "../text/Language.tsx"
import { FormDialog } from "../ui/Dialogs.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import type { UserAction } from "../ui/Dialogs.tsx"
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
  /** Whether the agent can receive a message now. */
  readonly maySend?: boolean
  /** `isNow`: the agent gets a message about it at once. Otherwise it hears of it with the next one. */
  readonly onReject: (reason: string, isNow: boolean) => void
}

export const RejectDialog = ({ action, apart, comments, maySend = false, onReject, title }: Props) => {
  const messages = useMessages(decideMessages)
  return (
    <FormDialog
      action={action}
      title={title}
      submit={messages.reject}
      onSubmit={async (form) => onReject(textIn(form, "reason"), form.has("now"))}
    >
      <p>
        {messages.rejectText} {apart > 0 && messages.rejectApart(apart)}{" "}
        {comments > 0 && messages.withComments(comments)}
      </p>
      <Field label={messages.comment} hint={messages.commentHint}>
        <textarea name="reason" rows={3} maxLength={MAX_REASON} />
      </Field>
      {maySend && (
        <label className="choice">
          <input type="checkbox" name="now" />
          {messages.sendNow}
        </label>
      )}
    </FormDialog>
  )
}
