/**
 * W3C Trace Context: the `traceparent` header that a request passes on to the work that it starts.
 *
 * Does not: create or record spans.
 */

/** Content of a `traceparent`. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

const shape = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})$/

/** The header if it is valid, else `undefined`: the recommendation ignores invalid headers. */
export const traceparentOf = (header: string | undefined): string | undefined =>
  header !== undefined && shape.test(header) ? header : undefined

/** Content of a header; `undefined` if it is invalid. */
export const contextOf = (header: string): TraceContext | undefined => {
  const [, traceId, spanId, flags] = shape.exec(header) ?? []
  return traceId === undefined || spanId === undefined || flags === undefined
    ? undefined
    : { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Header with the given content. */
export const traceparentFor = ({ sampled, spanId, traceId }: TraceContext): string =>
  `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`
