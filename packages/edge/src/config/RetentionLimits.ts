/** Limits on stored events. */

export interface RetentionLimits {
  /** Days after which the events of an ended run are deleted; 0 keeps them forever. */
  readonly days: number
  /** How large the store may be, in MiB, before the oldest ended runs lose their events earlier; 0: any size. */
  readonly maxMiB: number
}
