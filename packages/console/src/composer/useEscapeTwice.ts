/** Stop by Escape, twice: Escape also closes menus and lists, and one press too many must not stop an agent. */
import { useEffect, useEffectEvent, useState } from "react"

/** Time for the second press. */
const ARMED_MS = 4_000

/** Places where Escape closes something. */
const CLOSABLE = "[role=dialog], [role=alertdialog], [role=menu], [aria-expanded=true][role=combobox]"

/** Whether a first Escape was pressed. Without `onStop` there is nothing to stop. */
export const useEscapeTwice = (onStop: (() => void) | undefined): boolean => {
  const [armed, setArmed] = useState(false)
  const isArmed = armed && onStop !== undefined
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const { defaultPrevented, isComposing, key, keyCode, target } = event
    if (isComposing || keyCode === 229) return
    const closes = target instanceof Element && target.closest(CLOSABLE) !== null
    if (key !== "Escape" || defaultPrevented || closes) return setArmed(false)
    if (isArmed) onStop()
    setArmed(!isArmed)
  })
  const isListening = onStop !== undefined
  useEffect(() => {
    if (!isListening) return undefined
    const listener = (event: KeyboardEvent) => onKey(event)
    document.addEventListener("keydown", listener)
    return () => document.removeEventListener("keydown", listener)
  }, [isListening])
  useEffect(() => {
    if (!armed) return undefined
    const timer = setTimeout(() => setArmed(false), ARMED_MS)
    return () => clearTimeout(timer)
  }, [armed])
  return isArmed
}
