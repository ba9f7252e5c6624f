/** Asks before something that cannot be undone. The safe answer has the focus; a refusal of the deed is shown where it was asked. */
import { AlertDialog } from "@base-ui/react/alert-dialog"
import { type ReactNode, useRef } from "react"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { useAction } from "./useDeed.ts"
import { uiMessages } from "./messages.ts"

interface Props {
  /** On the button that asks. */
  readonly trigger: ReactNode
  readonly triggerClass?: string
  readonly title: string
  readonly children: ReactNode
  /** Names the deed. */
  readonly confirm: string
  /** The dialog closes when it is done; what it throws is shown. */
  readonly onConfirm: () => Promise<unknown>
}

export const ConfirmDialog = ({ children, confirm, onConfirm, title, trigger, triggerClass }: Props) => {
  const messages = useMessages(uiMessages)
  const safe = useRef<HTMLButtonElement>(null)
  const { busy, error, open, run, setOpen } = useAction()
  return (
    <AlertDialog.Root open={open} onOpenChange={setOpen}>
      <AlertDialog.Trigger className={triggerClass ?? "button small"}>{trigger}</AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog" initialFocus={safe}>
          <AlertDialog.Title className="dialog-title">{title}</AlertDialog.Title>
          <AlertDialog.Description>{children}</AlertDialog.Description>
          <RefusalNote error={error} />
          <div className="dialog-actions">
            <AlertDialog.Close ref={safe} className="button">
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
