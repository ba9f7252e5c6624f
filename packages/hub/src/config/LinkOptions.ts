/** Time limits of a link before it is verified. */

export interface LinkOptions {
  /** How long a proof is worth something. */
  readonly accessSeconds?: number | undefined
  /** How long a socket may be there without one. */
  readonly unprovedMs?: number | undefined
}
