/**
 * Stack traces are off until `stackTraces` is imported. A main program imports this module before Effect.
 *
 * Effect formats a stack trace while its modules load, to choose between two equal functions. For the first trace of a bundle, V8 parses all of it
 * again: 6 ms of each start.
 */
export const stackTraceLimit = Error.stackTraceLimit

Error.stackTraceLimit = 0
