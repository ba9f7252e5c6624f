/** Time limits of a run. */

/** Milliseconds. `cancel` is the whole grace from a cancel to SIGKILL, however it is spent. */
export interface RunTimes {
  readonly cancel: number
  /** How long a runtime may take to leave after its turn is over. */
  readonly leave: number
  readonly approval: number
  /** How long an outcome waits for a further turn that is due. */
  readonly settle: number
  /** How long work may continue in the background after a turn. */
  readonly background: number
  readonly cap: number
  /** How long a runtime may say nothing at all, and nothing more. */
  readonly firstEvent: number
  readonly silence: number
  /** After how much silence the run reports it. */
  readonly silenceNotice: number
}
