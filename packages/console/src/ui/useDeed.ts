/** A deed in a dialog: open until it is done, busy meanwhile, and what it throws is there to be shown. */
import { useState } from "react"

export interface UserAction {
  readonly open: boolean
  /** Opens or closes, and forgets what went wrong before. */
  readonly setOpen: (open: boolean) => void
  readonly busy: boolean
  readonly error: Error | null
  /** Closes the dialog when it is done. */
  readonly run: (deed: () => Promise<unknown>) => Promise<void>
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
    run: async (deed) => {
      setBusy(true)
      setError(null)
      try {
        await deed()
        show(false)
      } catch (problem) {
        setError(problem instanceof Error ? problem : new Error(String(problem)))
      } finally {
        setBusy(false)
      }
    }
  }
}
