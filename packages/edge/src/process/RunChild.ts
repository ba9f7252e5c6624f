/** Process of a run, as the run's actor uses it: a child of this Edge (`Subprocess`), or of the holder. */
export interface RunChild {
  /** `undefined` if it could not be started, or is not known yet. */
  readonly pid: number | undefined
  readonly isConfined: boolean
  /** Whether it has exited, or was never started. */
  readonly isGone: boolean
  readonly write: (text: string | Uint8Array) => void
  /** Ends stdin. */
  readonly closeInput: () => void
  /** Stops reading stdout. */
  readonly pause: () => void
  readonly resume: () => void
}
