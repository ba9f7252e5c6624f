/** Tabs of the console in this browser: whether one is visible, and which of them shows a notification. Web Locks order them. */
import { useEffect } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import { withClaim } from "./NotificationDecision.ts"

const VISIBLE = "corral.visible"
const CLAIMS = "corral.notified"

/** Holds a shared lock while this tab is visible. */
export const useVisibleTab = (): void => {
  useEffect(() => {
    let release: (() => void) | undefined
    const follow = () => {
      if (document.hidden) {
        release?.()
        release = undefined
      } else if (release === undefined) {
        const held = new Promise<void>((resolve) => (release = resolve))
        void navigator.locks?.request(VISIBLE, { mode: "shared" }, () => held)
      }
    }
    follow()
    document.addEventListener("visibilitychange", follow)
    return () => {
      document.removeEventListener("visibilitychange", follow)
      release?.()
    }
  }, [])
}

export const isAnyTabVisible = async (): Promise<boolean> => {
  const { held = [] } = (await navigator.locks?.query()) ?? {}
  return held.some(({ name }) => name === VISIBLE)
}

/** Whether this tab is the first to claim the key. */
export const claimNotification = async (key: string): Promise<boolean> => {
  const claim = (): boolean => {
    const claims = withClaim(accountStorage.getItem(CLAIMS), key)
    if (claims !== undefined) accountStorage.setItem(CLAIMS, claims)
    return claims !== undefined
  }
  // Insecure pages have no locks, and no notifications either.
  return navigator.locks === undefined ? claim() : navigator.locks.request(CLAIMS, claim)
}
