/**
 * Whether this browser shows notifications: a preference of the user, and the permission of the browser, for which it asks. A button turns them on
 * and off.
 */
import type { Preferences } from "@corral/domain/preference/Preferences"
import { useState } from "react"
import { useChangePreferences, usePreferences } from "../preference/StoredPreferences.ts"
import { useMessages } from "../text/Language.tsx"
import { notificationMessages } from "./messages.ts"

/** `blocked`: the browser refuses, and only its own settings can change that. */
export type NotificationState = "unsupported" | "blocked" | "off" | "on"

export const notificationState = (preferences: Preferences | undefined): NotificationState => {
  if (!("Notification" in globalThis)) return "unsupported"
  if (Notification.permission === "denied") return "blocked"
  return preferences?.notifications?.browser === true && Notification.permission === "granted" ? "on" : "off"
}

export interface NotificationSetting {
  readonly state: NotificationState
  /** Asks for the permission where it is needed. */
  readonly enable: () => Promise<void>
  readonly disable: () => void
}

export const useNotificationSetting = (): NotificationSetting => {
  const preferences = usePreferences()
  const change = useChangePreferences()
  const store = (browser: boolean) => change(() => ({ notifications: { browser } }))
  // The permission is read again after the browser has asked.
  const [, setAnswers] = useState(0)
  return {
    state: notificationState(preferences),
    enable: async () => {
      const permission = await Notification.requestPermission()
      if (permission === "granted") store(true)
      setAnswers((n) => n + 1)
    },
    disable: () => store(false)
  }
}

/** Button that turns notifications on and off. The browser asks for its permission only then. */
export const NotificationToggle = () => {
  const messages = useMessages(notificationMessages)
  const { disable, enable, state } = useNotificationSetting()
  return (
    <>
      <p className="quiet" role="status">
        {messages.states[state]}
      </p>
      {(state === "on" || state === "off") && (
        <div className="part-actions">
          <button type="button" className="button" onClick={state === "on" ? disable : () => void enable()}>
            {state === "on" ? messages.disable : messages.enable}
          </button>
        </div>
      )}
    </>
  )
}
