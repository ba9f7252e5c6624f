/** Strings in a profile of Seatbelt, whose language is a dialect of Scheme. Pure. */

/** A control character has no safe form in all versions of the language. */
const hasControls = (text: string): boolean =>
  [...text].some((character) => character < " " || character === "\u007f")

/** The text between double quotes. Throws if it cannot be in a profile. */
export const seatbeltString = (text: string): string => {
  if (hasControls(text)) throw new Error("A path with a control character cannot be in a Seatbelt profile.")
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`
}
