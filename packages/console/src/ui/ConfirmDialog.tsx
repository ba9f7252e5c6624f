/** Confirmation dialog. The cancel button has the focus. An error is shown in the dialog. */
import { AlertDialog } from "@base-ui/react/alert-dialog"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { focusAtOnce } from "./InitialFocus.ts"
import { RefusalNote } from "./RefusalNote.tsx"
import { useAction } from "./useAction.ts"
import { uiMessages } from "./messages.ts"

interface Props {
  /** Label of the button that opens the dialog. */
  readonly trigger: ReactNode
  readonly triggerClass?: string
  readonly title: string
  readonly children: ReactNode
  /** Label of the button that confirms. */
  readonly confirm: string
  /** The dialog closes when this completes, or shows its error. */
  readonly onConfirm: () => Promise<unknown>
}

export const ConfirmDialog = ({ children, confirm, onConfirm, title, trigger, triggerClass }: Props) => {
  const messages = useMessages(uiMessages)
  const { busy, error, open, run, setOpen } = useAction()
  return (
    <AlertDialog.Root open={open} onOpenChange={setOpen}>
      <AlertDialog.Trigger className={triggerClass ?? "button small"}>{trigger}</AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title className="dialog-title">{title}</AlertDialog.Title>
          <AlertDialog.Description>{children}</AlertDialog.Description>
          <RefusalNote error={error} />
          <div className="dialog-actions">
            <AlertDialog.Close ref={focusAtOnce} className="button">
              {messages.cancel}
            </AlertDialog.Close>
            <button
              type="button"
              className="button danger"
              disabled={busy}
              onClick={() => void run(onConfirm)}
            >
              {confirm}
            </button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
