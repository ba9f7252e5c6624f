/** Host of a command in a test: output goes nowhere, and there is no terminal. `parts` replaces what a test reads. */
import { Effect } from "effect"
import type { Host } from "../../src/terminal/Host.ts"

export const testHost = (parts: Partial<Host["Service"]> = {}): Host["Service"] => ({
  terminal: false,
  live: false,
  colours: false,
  columns: undefined,
  width: undefined,
  size: () => ({ columns: 80, rows: 24 }),
  onResize: () => () => undefined,
  openEditor: () => {
    throw new Error("This test has no line editor.")
  },
  bytes: () => {
    throw new Error("This test has no byte streams.")
  },
  interactive: false,
  invocation: "corral",
  environment: {},
  write: () => undefined,
  written: Effect.void,
  warn: () => undefined,
  onLine: () => () => undefined,
  onSecret: () => () => undefined,
  onSignal: () => () => undefined,
  ...parts
})
