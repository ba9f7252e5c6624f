/** A form in a dialog: opened by its button, closed when it was taken. A refusal stays with the form. */
import { Dialog } from "@base-ui/react/dialog"
import { type ReactNode, useState } from "react"
import { useWords } from "../text/Language.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { uiWords } from "./words.ts"

interface Props {
  readonly trigger: ReactNode
  readonly triggerClass?: string
  readonly title: string
  readonly submit: string
  readonly children: ReactNode
  /** The dialog closes when it is done; what it throws is shown. */
  readonly onSubmit: (form: FormData) => Promise<unknown>
}

export const FormDialog = ({ children, onSubmit, submit, title, trigger, triggerClass }: Props) => {
  const words = useWords(uiWords)
  const [open, setOpen] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const send = async (form: FormData): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      await onSubmit(form)
      setOpen(false)
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)))
    } finally {
      setBusy(false)
    }
  }
  const onOpenChange = (next: boolean): void => {
    setError(null)
    setOpen(next)
  }
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Trigger className={triggerClass ?? "button"}>{trigger}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{title}</Dialog.Title>
          <form
            className="form"
            onSubmit={(event) => {
              event.preventDefault()
              void send(new FormData(event.currentTarget))
            }}
          >
            {children}
            <RefusalNote error={error} />
            <div className="dialog-actions">
              <Dialog.Close className="button">{words.cancel}</Dialog.Close>
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
