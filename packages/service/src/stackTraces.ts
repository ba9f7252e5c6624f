/** Stack traces are on again. A main program imports this module directly after the first module of Effect. */
import { stackTraceLimit } from "./noStackTraces.ts"

Error.stackTraceLimit = stackTraceLimit
