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

/** Stores a text, and shows it in all components of this tab. */
export const storeText = (
  key: string,
  text: string,
  storage: Pick<Storage, "setItem"> = localStorage
): void => {
  storage.setItem(key, text)
  for (const listener of listeners) listener()
}

/** The text, `null` if there is none, and its setter. */
export const useStoredText = (
  key: string,
  storage: Pick<Storage, "getItem" | "setItem"> = localStorage
): readonly [string | null, (text: string) => void] => {
  const text = useSyncExternalStore(subscribe, () => storage.getItem(key))
  const store = useCallback((next: string) => storeText(key, next, storage), [key, storage])
  return [text, store]
}
