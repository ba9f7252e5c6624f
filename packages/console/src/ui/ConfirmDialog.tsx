/** Confirmation dialog. The cancel button has the focus. An error is shown in the dialog. */
import { AlertDialog } from "@base-ui/react/alert-dialog"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { focusAtOnce } from "./InitialFocus.ts"
import { RefusalNote } from "./RefusalNote.tsx"
import { type UserAction, useAction } from "./useAction.ts"
import { uiMessages } from "./messages.ts"

interface Props {
  /** Label of the button that opens the dialog. Absent if `action` opens it. */
  readonly trigger?: ReactNode
  /** State of the dialog, for callers that open it. */
  readonly action?: UserAction
  readonly triggerClass?: string
  readonly title: string
  readonly children: ReactNode
  /** Label of the button that confirms. */
  readonly confirm: string
  /** The dialog closes when this completes, or shows its error. */
  readonly onConfirm: () => Promise<unknown>
}

export const ConfirmDialog = ({
  action,
  children,
  confirm,
  onConfirm,
  title,
  trigger,
  triggerClass
}: Props) => {
  const messages = useMessages(uiMessages)
  const internal = useAction()
  const { busy, error, open, run, setOpen } = action ?? internal
  return (
    <AlertDialog.Root open={open} onOpenChange={setOpen}>
      {trigger !== undefined && (
        <AlertDialog.Trigger className={triggerClass ?? "button small"}>{trigger}</AlertDialog.Trigger>
      )}
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
