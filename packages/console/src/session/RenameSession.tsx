/** Dialog that renames a session, for the menus of the session. Open while there is a session to rename. */
import type { SessionItem } from "@corral/domain/session/Session"
import { useUpdateSession } from "../api/Sessions.ts"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog, useAction } from "../ui/Dialogs.tsx"
import { sessionMessages } from "./messages.ts"

interface Props {
  readonly session: Pick<SessionItem, "id" | "title"> | undefined
  /** Receives the focus when the dialog closes. */
  readonly opener?: HTMLElement | undefined
  readonly onClose: () => void
}

export const RenameSession = ({ onClose, opener, session }: Props) => {
  const messages = useMessages(sessionMessages)
  const update = useUpdateSession()
  const action = useAction()
  const setOpen = (open: boolean) => {
    action.setOpen(open)
    if (!open) onClose()
  }
  const rename = async (form: FormData): Promise<void> => {
    if (session !== undefined) await update(session.id, { title: textIn(form, "title") })
    onClose()
  }
  return (
    <FormDialog
      action={{ ...action, open: session !== undefined, setOpen }}
      opener={opener}
      title={messages.rename}
      submit={messages.save}
      onSubmit={rename}
    >
      <Field label={messages.name}>
        <input name="title" required maxLength={200} defaultValue={session?.title} autoComplete="off" />
      </Field>
    </FormDialog>
  )
}
