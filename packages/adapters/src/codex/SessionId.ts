/** A conversation id that may stand in a command line: never an option, never a path. */
export const readCodexSessionId = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined
