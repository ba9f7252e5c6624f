/** First line of what an adapter threw. An adapter may throw anything, of any length. */

export const causeLine = (cause: unknown): string =>
  String(cause instanceof Error ? cause.message : cause)
    .split("\n", 1)[0]
    ?.slice(0, 300) ?? ""
