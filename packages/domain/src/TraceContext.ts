/** W3C Trace Context, as far as it is passed on: one `traceparent`, unchanged, from a request to what it starts. Nothing is made or recorded here. */

const shape = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The header where it is a good one. One that is not counts as none, as the recommendation has it. */
export const traceparentOf = (header: string | undefined): string | undefined =>
  header !== undefined && shape.test(header) ? header : undefined
