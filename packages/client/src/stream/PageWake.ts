/** Times at which a browser's page may have missed something: its timers stand still while the computer sleeps and are late while it is hidden. */

const wakeEvents = ["focus", "online", "pageshow", "visibilitychange"] as const

/** Calls `listener` when the page is seen, used or online again. Returns how to stop that. Other programs have none of these events. */
export const onPageWake = (listener: () => void): (() => void) => {
  const wake = () => {
    if (globalThis.document?.visibilityState !== "hidden") listener()
  }
  for (const type of wakeEvents) globalThis.addEventListener?.(type, wake)
  return () => {
    for (const type of wakeEvents) globalThis.removeEventListener?.(type, wake)
  }
}
