/** Pinned sessions of the user, stored in this browser. The last pinned one is first. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { useMemo } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useStoredText } from "../ui/StoredText.ts"

/** Older pins are dropped. */
export const MAX_PINS = 30

/** Reads stored ids. A damaged text has none. */
export const pinsOf = (text: string | null): ReadonlyArray<SessionId> => {
  try {
    const ids: unknown = JSON.parse(text ?? "[]")
    return Array.isArray(ids) ? ids.filter((id): id is SessionId => typeof id === "string") : []
  } catch {
    return []
  }
}

export interface Pins {
  readonly ids: ReadonlySet<SessionId>
  readonly toggle: (id: SessionId) => void
}

export const usePins = (): Pins => {
  const { user } = useCurrentUser()
  const [text, store] = useStoredText(`corral.pins.${user.id}`, accountStorage)
  return useMemo(() => {
    const ids = pinsOf(text)
    return {
      ids: new Set(ids),
      toggle: (id) =>
        store(
          JSON.stringify(
            ids.includes(id) ? ids.filter((each) => each !== id) : [id, ...ids].slice(0, MAX_PINS)
          )
        )
    }
  }, [store, text])
}
