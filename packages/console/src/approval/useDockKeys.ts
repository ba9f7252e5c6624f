/** Keys of a request above the composer while nothing has the focus: they move it to an answer, and Enter gives the answer. */
import { type RefObject, useEffect } from "react"
import { useSingleKeys } from "../keys/useShortcuts.ts"
import { focusAnswer, isTyping } from "./DecisionKeys.ts"

/** `deafUntil`: the time, as `performance.now()` reads it, until which a new request reacts to no key. */
export const useDockKeys = (card: RefObject<HTMLElement | null>, deafUntil: RefObject<number>): void => {
  const [isOn] = useSingleKeys()
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { altKey, ctrlKey, defaultPrevented, key, metaKey, repeat, target } = event
      if (!isOn || defaultPrevented || altKey || ctrlKey || metaKey || repeat) return
      // Elsewhere a key belongs to what has the focus, such as the review.
      const isFree = target === document.body || (target instanceof Element && target.matches("h1, main"))
      if (!isFree || isTyping(target) || performance.now() < deafUntil.current) return
      if (document.querySelector("[role=dialog], [role=alertdialog], [role=menu]") !== null) return
      if (focusAnswer(card.current, key)) event.preventDefault()
    }
    addEventListener("keydown", onKeyDown)
    return () => removeEventListener("keydown", onKeyDown)
  }, [card, deafUntil, isOn])
}
