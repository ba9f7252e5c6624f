/** Form dialog. An error is shown in the dialog. */
import { Dialog } from "@base-ui/react/dialog"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { focusFirstField } from "./InitialFocus.ts"
import { RefusalNote } from "./RefusalNote.tsx"
import { useAction } from "./useAction.ts"
import { uiMessages } from "./messages.ts"

interface Props {
  readonly trigger: ReactNode
  readonly triggerClass?: string
  readonly title: string
  readonly submit: string
  readonly children: ReactNode
  /** The dialog closes when this completes, or shows its error. */
  readonly onSubmit: (form: FormData) => Promise<unknown>
}

export const FormDialog = ({ children, onSubmit, submit, title, trigger, triggerClass }: Props) => {
  const messages = useMessages(uiMessages)
  const { busy, error, open, run, setOpen } = useAction()
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger className={triggerClass ?? "button"}>{trigger}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{title}</Dialog.Title>
          <form
            className="form"
            ref={focusFirstField}
            onSubmit={(event) => {
              event.preventDefault()
              const form = new FormData(event.currentTarget)
              void run(() => onSubmit(form))
            }}
          >
            {children}
            <RefusalNote error={error} />
            <div className="dialog-actions">
              <Dialog.Close className="button">{messages.cancel}</Dialog.Close>
              <button type="submit" className="button primary" disabled={busy}>
                {submit}
              </button>
            </div>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
