/**
 * Whether this browser shows notifications: the user's choice, which asks for the permission, and the browser's. A button turns them on and off.
 */
import { useState } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMessages } from "../text/Language.tsx"
import { useStoredText } from "../ui/StoredText.ts"
import { notificationMessages } from "./messages.ts"

/** `blocked`: the browser refuses, and only its own settings can change that. */
export type NotificationState = "unsupported" | "blocked" | "off" | "on"

export const notificationSettingKey = (userId: string): string => `corral.notifications.${userId}`
const ON = "on"

export const notificationState = (stored: string | null): NotificationState => {
  if (!("Notification" in globalThis)) return "unsupported"
  if (Notification.permission === "denied") return "blocked"
  return stored === ON && Notification.permission === "granted" ? "on" : "off"
}

export interface NotificationSetting {
  readonly state: NotificationState
  /** Asks for the permission where it is needed. */
  readonly enable: () => Promise<void>
  readonly disable: () => void
}

export const useNotificationSetting = (): NotificationSetting => {
  const [stored, store] = useStoredText(notificationSettingKey(useCurrentUser().user.id), accountStorage)
  // The permission is read again after the browser has asked.
  const [, setAnswers] = useState(0)
  return {
    state: notificationState(stored),
    enable: async () => {
      const permission = await Notification.requestPermission()
      if (permission === "granted") store(ON)
      setAnswers((n) => n + 1)
    },
    disable: () => store("off")
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
