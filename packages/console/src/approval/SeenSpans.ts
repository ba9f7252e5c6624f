/** Parts of a request that have been on the screen, in pixels from its top. Pure. */

export interface ScreenSpan {
  readonly from: number
  readonly to: number
}

/** Fractions of a pixel between two scroll positions hide no text. */
const SLACK = 2

/** Adds a part. The result is in order, and no two parts touch. */
export const withSpan = (spans: ReadonlyArray<ScreenSpan>, added: ScreenSpan): ReadonlyArray<ScreenSpan> => {
  if (added.to <= added.from) return spans
  const merged: Array<ScreenSpan> = []
  for (const span of [...spans, added].toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last !== undefined && span.from <= last.to + SLACK)
      merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
    else merged.push(span)
  }
  return merged
}

/** How much of the height was never on the screen. */
export const unseenHeight = (spans: ReadonlyArray<ScreenSpan>, height: number): number => {
  let seen = 0
  for (const { from, to } of spans) seen += Math.max(0, Math.min(to, height) - Math.max(from, 0))
  const left = height - seen
  return left <= SLACK ? 0 : left
}
