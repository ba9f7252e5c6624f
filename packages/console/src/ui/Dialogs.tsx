/** Dialogs of an action: a form or a confirmation, which opens, runs the action, shows its error, and closes. */
import { AlertDialog } from "@base-ui/react/alert-dialog"
import { Dialog } from "@base-ui/react/dialog"
import { type ReactNode, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "./messages.ts"
import { RefusalNote } from "./RefusalNote.tsx"

export interface UserAction {
  readonly open: boolean
  /** Opens or closes the dialog, and clears the error. */
  readonly setOpen: (open: boolean) => void
  readonly busy: boolean
  readonly error: Error | null
  /** Runs the action and closes the dialog on success. */
  readonly run: (action: () => Promise<unknown>) => Promise<void>
}

/** State of a dialog action: open until it completes, busy while it runs, and its error. */
export const useAction = (): UserAction => {
  const [open, show] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  return {
    open,
    busy,
    error,
    setOpen: (next) => {
      setError(null)
      show(next)
    },
    run: async (action) => {
      setBusy(true)
      setError(null)
      try {
        await action()
        show(false)
      } catch (problem) {
        setError(problem instanceof Error ? problem : new Error(String(problem)))
      } finally {
        setBusy(false)
      }
    }
  }
}

/**
 * Refs that focus an element as soon as it is in the page.
 *
 * The dialog library focuses in the next animation frame. Keys typed before that go to the button that opened the dialog: the first letters
 * are lost, and a space closes the dialog again.
 */
export const focusAtOnce = (element: HTMLElement | null): void => element?.focus()

export const focusFirstField = (form: HTMLFormElement | null): void =>
  focusAtOnce(form?.querySelector<HTMLElement>("input, select, textarea") ?? null)

interface FormDialogProps {
  /** Label of the button that opens the dialog. Absent if `action` opens it. */
  readonly trigger?: ReactNode
  /** State of the dialog, for callers that open it. */
  readonly action?: UserAction
  readonly triggerClass?: string
  /** Receives the focus when a dialog without `trigger` closes. */
  readonly opener?: HTMLElement | undefined
  readonly title: string
  readonly submit: string
  /** Whether the form can't be submitted, for a reason that its fields say. */
  readonly isBlocked?: boolean
  readonly children: ReactNode
  /** The dialog closes when this completes, or shows its error. */
  readonly onSubmit: (form: FormData) => Promise<unknown>
}

/** Form dialog. An error is shown in the dialog. */
export const FormDialog = ({
  action,
  children,
  isBlocked = false,
  onSubmit,
  opener,
  submit,
  title,
  trigger,
  triggerClass
}: FormDialogProps) => {
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
              // React hands the event on to a form around the dialog, such as a composer, which would send its text.
              event.stopPropagation()
              const form = new FormData(event.currentTarget)
              void run(() => onSubmit(form))
            }}
          >
            {children}
            <RefusalNote error={error} />
            <div className="dialog-actions">
              <Dialog.Close className="button">{messages.cancel}</Dialog.Close>
              <button type="submit" className="button primary" disabled={busy || isBlocked}>
                {submit}
              </button>
            </div>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface ConfirmDialogProps {
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

/** Confirmation dialog. The cancel button has the focus. An error is shown in the dialog. */
export const ConfirmDialog = ({
  action,
  children,
  confirm,
  onConfirm,
  title,
  trigger,
  triggerClass
}: ConfirmDialogProps) => {
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
