/** The last choice of a user for new work, in this browser. Readers validate it against what is offered. */
import { accountStorage } from "../api/AccountStorage.ts"
import type { StartWish } from "./Offer.ts"

const PARTS = ["projectId", "targetId", "workspace", "agentId", "mode"] as const satisfies ReadonlyArray<
  keyof StartWish
>

const keyOf = (userId: string): string => `corral.start.${userId}`

export const readLastChoice = (
  userId: string,
  storage: Pick<Storage, "getItem"> = accountStorage
): StartWish => {
  try {
    const stored: unknown = JSON.parse(storage.getItem(keyOf(userId)) ?? "{}")
    if (typeof stored !== "object" || stored === null) return {}
    return Object.fromEntries(
      Object.entries(stored).filter(
        ([part, value]) => PARTS.some((each) => each === part) && typeof value === "string"
      )
    )
  } catch {
    return {}
  }
}

export const storeLastChoice = (
  userId: string,
  choice: StartWish,
  storage: Pick<Storage, "setItem"> = accountStorage
): void => {
  try {
    storage.setItem(keyOf(userId), JSON.stringify(choice))
  } catch {
    // The storage is full or not allowed: the next visit starts with the first offer.
  }
}
