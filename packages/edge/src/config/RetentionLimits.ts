/** Limits on stored events. */

export interface RetentionLimits {
  /** How long the events of an ended run are kept; 0: for ever. */
  readonly days: number
  /** How large the store may be, in MiB, before the oldest ended runs lose their events earlier; 0: any size. */
  readonly maxMiB: number
}
