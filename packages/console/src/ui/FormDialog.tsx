/** A form in a dialog: opened by its button, closed when it was taken. A refusal stays with the form. */
import { Dialog } from "@base-ui/react/dialog"
import type { ReactNode } from "react"
import { useWords } from "../text/Language.tsx"
import { RefusalNote } from "./RefusalNote.tsx"
import { useDeed } from "./useDeed.ts"
import { uiWords } from "./messages.ts"

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
  const { busy, error, open, run, setOpen } = useDeed()
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger className={triggerClass ?? "button"}>{trigger}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{title}</Dialog.Title>
          <form
            className="form"
            onSubmit={(event) => {
              event.preventDefault()
              const form = new FormData(event.currentTarget)
              void run(() => onSubmit(form))
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
