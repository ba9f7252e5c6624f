/** A conversation id that is safe in a command line: not an option and not a path. */
export const readCodexSessionId = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined
