/**
 * A name as a chat platform tells it, made fit for a page on which a person decides: one line without anything that hides, reorders or
 * breaks what stands beside it. Pure.
 */

const MOST = 200

/** Also what is half a character, and what no store holds. */
const unseen = /[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}\u00ad\u200b\u2060\ufeff]+/gu

/** Undefined where nothing of it is left. */
export const chatNameOf = (told: string | undefined): string | undefined => {
  const line = (told ?? "").replaceAll(unseen, " ").replaceAll(/\s+/gu, " ").trim()
  // Cut between characters, not within one.
  const cut = line
    .slice(0, MOST)
    .replace(/\p{Cs}$/u, "")
    .trimEnd()
  return cut === "" ? undefined : cut
}
