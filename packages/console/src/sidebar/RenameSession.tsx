/** Dialog that renames a session. */
import { Dialog } from "@base-ui/react/dialog"
import { useUpdateSession } from "../api/Sessions.ts"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { focusFirstField } from "../ui/InitialFocus.ts"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useAction } from "../ui/useAction.ts"
import type { SessionMenuTarget } from "./SessionMenu.tsx"
import { sidebarMessages } from "./messages.ts"

interface Props {
  readonly target: SessionMenuTarget | undefined
  readonly onClose: () => void
}

export const RenameSession = ({ onClose, target }: Props) => {
  const messages = useMessages(sidebarMessages)
  const update = useUpdateSession()
  const { busy, error, run, setOpen } = useAction()
  const close = () => {
    setOpen(false)
    onClose()
  }
  const rename = (form: FormData) =>
    run(async () => {
      if (target !== undefined) await update(target.session.id, { title: textIn(form, "title") })
      onClose()
    })
  return (
    <Dialog.Root
      open={target !== undefined}
      onOpenChange={(open) => {
        if (!open) close()
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog" finalFocus={() => target?.button ?? true}>
          <Dialog.Title className="dialog-title">{messages.renameTitle}</Dialog.Title>
          <form
            className="form"
            ref={focusFirstField}
            onSubmit={(event) => {
              event.preventDefault()
              void rename(new FormData(event.currentTarget))
            }}
          >
            <Field label={messages.title}>
              <input
                name="title"
                required
                maxLength={200}
                autoComplete="off"
                defaultValue={target?.session.title}
              />
            </Field>
            <RefusalNote error={error} />
            <div className="dialog-actions">
              <Dialog.Close className="button">{messages.cancel}</Dialog.Close>
              <button type="submit" className="button primary" disabled={busy}>
                {messages.save}
              </button>
            </div>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
