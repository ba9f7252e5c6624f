/** Form dialog. An error is shown in the dialog. */
import { Dialog } from "@base-ui/react/dialog"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { focusFirstField } from "./InitialFocus.ts"
import { RefusalNote } from "./RefusalNote.tsx"
import { type UserAction, useAction } from "./useAction.ts"
import { uiMessages } from "./messages.ts"

interface Props {
  /** Label of the button that opens the dialog. Absent if `action` opens it. */
  readonly trigger?: ReactNode
  /** State of the dialog, for callers that open it. */
  readonly action?: UserAction
  readonly triggerClass?: string
  /** Receives the focus when a dialog without `trigger` closes. */
  readonly opener?: HTMLElement | undefined
  readonly title: string
  readonly submit: string
  readonly children: ReactNode
  /** The dialog closes when this completes, or shows its error. */
  readonly onSubmit: (form: FormData) => Promise<unknown>
}

export const FormDialog = ({
  action,
  children,
  onSubmit,
  opener,
  submit,
  title,
  trigger,
  triggerClass
}: Props) => {
  const messages = useMessages(uiMessages)
  const internal = useAction()
  const { busy, error, open, run, setOpen } = action ?? internal
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      {trigger !== undefined && (
        <Dialog.Trigger className={triggerClass ?? "button"}>{trigger}</Dialog.Trigger>
      )}
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog" finalFocus={() => opener ?? true}>
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
