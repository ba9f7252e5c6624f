/** Time limits of a link. */

export interface LinkOptions {
  /** How long a proof is valid. */
  readonly accessSeconds?: number | undefined
  /** How long a socket may stay open without a proof. */
  readonly unprovedMs?: number | undefined
}
