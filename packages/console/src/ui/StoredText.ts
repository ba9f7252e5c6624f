/** Text that is stored in this browser under a key: the same in all components and tabs, as it changes. */
import { useCallback, useSyncExternalStore } from "react"

const listeners = new Set<() => void>()

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  // Only other tabs send this event.
  addEventListener("storage", listener)
  return () => {
    listeners.delete(listener)
    removeEventListener("storage", listener)
  }
}

export const writeStoredText = (key: string, text: string): void => {
  localStorage.setItem(key, text)
  for (const listener of listeners) listener()
}

/** The text, `null` if there is none, and its setter. */
export const useStoredText = (key: string): readonly [string | null, (text: string) => void] => {
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(key))
  return [text, useCallback((next: string) => writeStoredText(key, next), [key])]
}
