/** `Range` header of a request for one representation (RFC 9110 §14.2): one range of bytes, or none. */
export interface ByteRange {
  readonly start: number
  /** Inclusive. */
  readonly end: number
}

/**
 * The requested range. `undefined` without a range, with several, and for one that cannot be served. The response is then the whole content,
 * as the RFC allows.
 */
export const byteRange = (header: string | undefined, size: number): ByteRange | undefined => {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? []
  if (first === "" && last === "") return undefined
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1)
  return start <= end ? { start, end } : undefined
}
