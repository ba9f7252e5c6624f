/** Keys of a question above the composer. While nothing has the focus, a digit reaches it, and a letter that is no shortcut the composer. */
import { type KeyboardEvent as ReactKeyboardEvent, type RefObject, useEffect, useRef } from "react"
import { fieldBelow, writeInto } from "../keys/TextBelow.ts"
import { useSingleKeys } from "../keys/useShortcuts.ts"
import { DIALOGS, isTextInProgress } from "../keys/useTextInProgress.ts"
import { cardKeyOf, placeIn } from "./CardKeys.ts"

/** What keys do. */
interface CardActions {
  /** Chooses the option of the digit. Returns whether there is one. */
  readonly choose: (digit: number) => boolean
  readonly send: () => void
  readonly clear: () => void
}

const isDigit = (key: string): boolean => /^[1-9]$/.test(key)

/** `deafUntil`: the time, as `performance.now()` reads it, until which a new card reacts to no key. */
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
    const onKeyDown = (event: KeyboardEvent) => {
      const { altKey, ctrlKey, defaultPrevented, isComposing, key, metaKey, repeat, target } = event
      if (!isOn || defaultPrevented || isComposing || altKey || ctrlKey || metaKey || repeat) return
      const isFree = target === document.body || (target instanceof Element && target.matches("h1, main"))
      // Hidden behind an approval, the card has no keys.
      if (!isFree || card.current?.checkVisibility() !== true) return
      if (document.querySelector(DIALOGS) !== null) return
      // A digit is part of a text that the person began before the card was there.
      const isDeaf = isTextInProgress() || performance.now() < deafUntil.current
      if (isDigit(key) && !isDeaf) {
        if (!latest.current.choose(Number(key))) return
        digits.current = key
        event.preventDefault()
      } else if ([...key].length === 1 && key !== " ") fieldBelow(card.current)?.focus()
      // A digit later in a sentence is no choice: the browser now enters the letter, and the rest follows it.
    }
    addEventListener("keydown", onKeyDown)
    return () => removeEventListener("keydown", onKeyDown)
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
