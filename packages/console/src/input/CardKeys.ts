/**
 * Keys of a question above the composer: digits choose and never send, Enter sends, and a text goes to the composer.
 *
 * Guarantees: no key but Enter sends, and no letter is lost: what is written while the question has the focus arrives in the composer.
 */
import { type KeyboardEvent as ReactKeyboardEvent, type RefObject, useEffect, useRef } from "react"
import { beginsText, DIALOGS, fieldBelow, isTextInProgress, writeInto } from "../keys/TextKey.ts"
import { useSingleKeys } from "../keys/Shortcut.ts"

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
const placeIn = (target: EventTarget | null): CardPlace => {
  if (!(target instanceof Element)) return "card"
  if (target.matches("input[type=radio], input[type=checkbox]")) return "option"
  if (target.matches("input, textarea, select")) return "field"
  return target.closest("button, a, summary") === null ? "card" : "button"
}

/** What keys do. */
interface CardActions {
  /** Chooses the option of the digit. Returns whether there is one. */
  readonly choose: (digit: number) => boolean
  readonly send: () => void
  readonly clear: () => void
}

/** Ends a text that was begun on something else than a field. */
const endsText = (key: string): boolean => /^(Escape|Tab|Enter|Arrow\w+)$/.test(key)

const isDigit = (key: string): boolean => /^[1-9]$/.test(key)

/**
 * Keys of a question above the composer. While nothing has the focus, a digit reaches it, and a letter that is no shortcut the composer.
 * `deafUntil`: the time, as `performance.now()` reads it, until which a new card reacts to no key.
 */
export const useCardKeys = (
  card: RefObject<HTMLElement | null>,
  deafUntil: RefObject<number>,
  actions: CardActions
) => {
  const [isOn] = useSingleKeys()
  // Digits since the focus came to the card: the beginning of a text if letters follow.
  const digits = useRef("")
  const latest = useRef(actions)
  useEffect(() => {
    latest.current = actions
  })
  useEffect(() => {
    // Something else may lose the focus in the middle of a text: the rest of it arrives here, and is no choice.
    let isWritingElsewhere = false
    const onPointerDown = () => {
      isWritingElsewhere = false
    }
    const onKeyDown = (event: KeyboardEvent) => {
      const { altKey, ctrlKey, defaultPrevented, isComposing, key, metaKey, repeat, target } = event
      if (!isOn || defaultPrevented || isComposing || altKey || ctrlKey || metaKey || repeat) return
      const isFree = target === document.body || (target instanceof Element && target.matches("h1, main"))
      const isElsewhere = !isFree && !(target instanceof Node && card.current?.contains(target) === true)
      if (endsText(key)) isWritingElsewhere = false
      else if (isElsewhere && beginsText(key)) isWritingElsewhere = true
      // Hidden behind an approval, the card has no keys.
      if (!isFree || card.current?.checkVisibility() !== true) return
      if (document.querySelector(DIALOGS) !== null) return
      // A digit is part of a text that the person began before the card was there.
      const isDeaf = isWritingElsewhere || isTextInProgress() || performance.now() < deafUntil.current
      if (isDigit(key) && !isDeaf) {
        if (!latest.current.choose(Number(key))) return
        digits.current = key
        event.preventDefault()
      } else if ([...key].length === 1 && key !== " ") fieldBelow(card.current)?.focus()
      // A digit later in a sentence is no choice: the browser now enters the letter, and the rest follows it.
    }
    addEventListener("keydown", onKeyDown)
    addEventListener("pointerdown", onPointerDown)
    return () => {
      removeEventListener("keydown", onKeyDown)
      removeEventListener("pointerdown", onPointerDown)
    }
  }, [card, deafUntil, isOn])

  const write = (event: ReactKeyboardEvent): void => {
    const field = fieldBelow(card.current)
    latest.current.clear()
    if (field === undefined) return event.preventDefault()
    writeInto(field, digits.current)
    digits.current = ""
    // The browser now enters the key itself.
  }
  return (event: ReactKeyboardEvent): void => {
    const { altKey, ctrlKey, key, metaKey, nativeEvent, shiftKey, target } = event
    if (event.defaultPrevented || nativeEvent.isComposing) return
    const place = placeIn(target)
    const action = cardKeyOf({
      key,
      place,
      isModified: altKey || ctrlKey || metaKey,
      isShifted: shiftKey,
      isAfterDigit: digits.current !== ""
    })
    if (action.kind === "write") return write(event)
    digits.current = action.kind === "choose" || action.kind === "nothing" ? digits.current + key : ""
    if (action.kind === "native") return
    event.preventDefault()
    event.stopPropagation()
    if (action.kind === "choose") actions.choose(action.digit)
    else if (action.kind === "send") actions.send()
    else if (action.kind === "clear") {
      actions.clear()
      card.current?.focus()
    }
  }
}
