/** Dialogs of a session's menu: its title, and its agents. Each is open while it is rendered. */
import { Dialog } from "@base-ui/react/dialog"
import type { Session, UpdateSession } from "@corral/domain/session/Session"
import { type FormEvent, type ReactNode } from "react"
import { SessionAgentList } from "./SessionAgentList.tsx"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { focusFirstField } from "../ui/InitialFocus.ts"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useAction } from "../ui/useAction.ts"
import { threadMessages } from "../thread/messages.ts"

interface FrameProps {
  readonly title: string
  readonly children: ReactNode
  readonly onClose: () => void
}

const OpenDialog = ({ children, onClose, title }: FrameProps) => (
  <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
    <Dialog.Portal>
      <Dialog.Backdrop className="backdrop" />
      <Dialog.Popup className="dialog">
        <Dialog.Title className="dialog-title">{title}</Dialog.Title>
        {children}
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
)

interface RenameProps {
  readonly session: Session
  readonly onUpdate: (change: UpdateSession) => Promise<unknown>
  readonly onClose: () => void
}

export const RenameDialog = ({ onClose, onUpdate, session }: RenameProps) => {
  const messages = useMessages(threadMessages)
  const { busy, error, run } = useAction()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const title = textIn(new FormData(event.currentTarget), "title")
    void run(async () => {
      await onUpdate({ title })
      onClose()
    })
  }
  return (
    <OpenDialog title={messages.rename} onClose={onClose}>
      <form className="form" ref={focusFirstField} onSubmit={submit}>
        <Field label={messages.name}>
          <input name="title" required maxLength={200} defaultValue={session.title} autoComplete="off" />
        </Field>
        <RefusalNote error={error} />
        <div className="dialog-actions">
          <Dialog.Close className="button">{messages.cancel}</Dialog.Close>
          <button type="submit" className="button primary" disabled={busy}>
            {messages.save}
          </button>
        </div>
      </form>
    </OpenDialog>
  )
}

interface AgentsProps {
  readonly session: Session
  readonly mayWrite: boolean
  readonly onClose: () => void
}

export const AgentsDialog = ({ mayWrite, onClose, session }: AgentsProps) => {
  const messages = useMessages(threadMessages)
  return (
    <OpenDialog title={messages.agents} onClose={onClose}>
      <SessionAgentList session={session} mayWrite={mayWrite} />
      <div className="dialog-actions">
        <Dialog.Close className="button">{messages.close}</Dialog.Close>
      </div>
    </OpenDialog>
  )
}
