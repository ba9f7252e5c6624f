/**
 * Display name from a chat platform, made safe for a page on which a user decides: one line, without characters that hide, reorder or break
 * the text around it. Pure.
 */

const MAX_LENGTH = 200

/** Includes lone surrogates, and characters that the database rejects. */
const unseen = /[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}\u00ad\u200b\u2060\ufeff]+/gu

/** The safe name; `undefined` if nothing remains. */
export const chatNameOf = (name: string | undefined): string | undefined => {
  const line = (name ?? "").replaceAll(unseen, " ").replaceAll(/\s+/gu, " ").trim()
  // Cut between characters, not within one.
  const cut = line
    .slice(0, MAX_LENGTH)
    .replace(/\p{Cs}$/u, "")
    .trimEnd()
  return cut === "" ? undefined : cut
}
