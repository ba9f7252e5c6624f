/** State of a dialog action: open until it completes, busy while it runs, and its error. */
import { useState } from "react"

export interface UserAction {
  readonly open: boolean
  /** Opens or closes the dialog, and clears the error. */
  readonly setOpen: (open: boolean) => void
  readonly busy: boolean
  readonly error: Error | null
  /** Runs the action and closes the dialog on success. */
  readonly run: (action: () => Promise<unknown>) => Promise<void>
}

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
