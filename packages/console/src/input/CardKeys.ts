/**
 * Keys of a question: digits choose and never send, Enter sends, and a text goes to the composer. Pure.
 *
 * Guarantees: no key but Enter sends, and no letter is lost: what is written while the question has the focus arrives in the composer.
 */

/** What has the focus in the card: a text field, an option, a button, or the card itself. */
export type CardPlace = "field" | "option" | "button" | "card"

/** `native`: the browser acts. `nothing`: the key has no effect. `write`: the choices are cleared, and the key goes to the composer. */
export type CardKey =
  | { readonly kind: "choose"; readonly digit: number }
  | { readonly kind: "send" | "clear" | "write" | "native" | "nothing" }

interface KeyFacts {
  readonly key: string
  /** Whether Ctrl, Alt or Cmd is pressed. */
  readonly isModified: boolean
  readonly isShifted: boolean
  readonly place: CardPlace
  /** Whether the last key was a digit: the person may be writing a text. */
  readonly isAfterDigit: boolean
}

/** Keys of input methods and dead keys begin a text too. */
const isText = (key: string): boolean =>
  [...key].length === 1 || key === "Process" || key === "Dead" || key === "Unidentified"

const keyInField = ({ isModified, isShifted, key }: KeyFacts): CardKey =>
  key === "Enter" && (isModified || !isShifted) ? { kind: "send" } : { kind: "native" }

export const cardKeyOf = (facts: KeyFacts): CardKey => {
  const { isAfterDigit, isModified, key, place } = facts
  if (place === "field") return keyInField(facts)
  if (isModified) return { kind: "native" }
  // A number on a button is a text, and no reason to press it.
  if (key === "Enter" && place === "button") return { kind: isAfterDigit ? "nothing" : "native" }
  if (key === "Enter") return { kind: "send" }
  if (key === "Escape") return { kind: "clear" }
  if (/^[1-9]$/.test(key)) return { kind: "choose", digit: Number(key) }
  if (key === "0") return { kind: "nothing" }
  // The key that people choose an option with, unless they write.
  if (key === " " && place === "option" && !isAfterDigit) return { kind: "native" }
  return { kind: isText(key) ? "write" : "native" }
}

/** The place of an element in its card. */
export const placeIn = (target: EventTarget | null): CardPlace => {
  if (!(target instanceof Element)) return "card"
  if (target.matches("input[type=radio], input[type=checkbox]")) return "option"
  if (target.matches("input, textarea, select")) return "field"
  return target.closest("button, a, summary") === null ? "card" : "button"
}
