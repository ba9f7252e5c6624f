/** W3C Trace Context, as far as it is passed on: one `traceparent` from a request to what it starts. Nothing is made or recorded here. */

/** What a `traceparent` says. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

const shape = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})$/

/** The header where it is a good one. One that is not counts as none, as the recommendation has it. */
export const traceparentOf = (header: string | undefined): string | undefined =>
  header !== undefined && shape.test(header) ? header : undefined

/** What a header says; `undefined` where it is not a good one. */
export const contextOf = (header: string): TraceContext | undefined => {
  const [, traceId, spanId, flags] = shape.exec(header) ?? []
  return traceId === undefined || spanId === undefined || flags === undefined
    ? undefined
    : { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** As a header. */
export const traceparentFor = ({ sampled, spanId, traceId }: TraceContext): string =>
  `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`
