/** A `Range` header over one representation (RFC 9110 §14.2): one range of bytes, or none. */
export interface ByteRange {
  readonly start: number
  /** Included. */
  readonly end: number
}

/**
 * The one range that is asked for. `undefined` where there is none, several, or one that cannot be served: the whole is answered then,
 * which the RFC allows.
 */
export const byteRange = (header: string | undefined, size: number): ByteRange | undefined => {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? []
  if (first === "" && last === "") return undefined
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1)
  return start <= end ? { start, end } : undefined
}
