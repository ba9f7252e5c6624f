/** Asks before something that cannot be undone. The safe answer has the focus; the error of the deed is shown where it was asked. */
import { AlertDialog } from "@base-ui/react/alert-dialog"
import type { ReactNode } from "react"
import { useWords } from "../text/Language.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { uiWords } from "./words.ts"

interface Props {
  /** The button that asks. */
  readonly trigger: ReactNode
  readonly triggerClass?: string
  readonly title: string
  readonly children: ReactNode
  /** Names the deed. */
  readonly confirm: string
  readonly busy: boolean
  readonly error: Error | null
  readonly onConfirm: (close: () => void) => void
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

export const ConfirmDialog = (props: Props) => {
  const words = useWords(uiWords)
  return (
    <AlertDialog.Root open={props.open} onOpenChange={props.onOpenChange}>
      <AlertDialog.Trigger className={props.triggerClass ?? "button"}>{props.trigger}</AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title className="dialog-title">{props.title}</AlertDialog.Title>
          <AlertDialog.Description className="dialog-text" render={<div />}>
            {props.children}
          </AlertDialog.Description>
          <RefusalNote error={props.error} />
          <div className="dialog-actions">
            <AlertDialog.Close className="button">{words.cancel}</AlertDialog.Close>
            <button
              type="button"
              className="button danger"
              disabled={props.busy}
              onClick={() => props.onConfirm(() => props.onOpenChange(false))}
            >
              {props.confirm}
            </button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
