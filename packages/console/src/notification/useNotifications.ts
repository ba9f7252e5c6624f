/**
 * Browser notifications of approvals, questions and ended runs while every tab of the console is hidden: one for each, in one tab. A click opens the
 * session; a decision elsewhere closes the notification.
 */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useRef } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { claimNotification, isAnyTabVisible, useVisibleTab } from "./Tabs.ts"
import { notificationMessages } from "./messages.ts"
import { isNews, isNotifiable, type NotifiableChange, notificationKey } from "./NotificationDecision.ts"
import { type NotificationContent, notificationOf } from "./notificationOf.ts"
import { notificationSettingKey, notificationState } from "./NotificationSetting.ts"

const openedAt = Date.now()

/** Shown notifications of this tab, and the changes that it has noticed. */
interface Noticed {
  readonly keys: Set<string>
  readonly shown: Map<string, Notification>
}

/** Takes the changes of the feed. */
export const useNotifications = (): ((hints: ReadonlyArray<ChangeHint>) => void) => {
  const messages = useMessages(notificationMessages)
  const client = useQueryClient()
  const navigate = useNavigate()
  const { user } = useCurrentUser()
  const noticed = useRef<Noticed>({ keys: new Set(), shown: new Map() })
  useVisibleTab()

  const isOn = (): boolean =>
    notificationState(accountStorage.getItem(notificationSettingKey(user.id))) === "on"
  const open = ({ run: { id, sessionId } }: NotificationContent): void => {
    globalThis.focus()
    void (sessionId === undefined
      ? navigate({ to: "/runs/$runId", params: { runId: id } })
      : navigate({ to: "/sessions/$sessionId", params: { sessionId } }))
  }
  const show = (key: string, content: NotificationContent): void => {
    const { kind, text, title } = content
    const notification = new Notification(messages.titles[kind](visibleLine(title, 100)), {
      body: visibleLine(text, 200),
      icon: "/icon.svg",
      tag: key
    })
    notification.addEventListener("click", () => {
      notification.close()
      open(content)
    })
    noticed.current.shown.set(key, notification)
  }
  const consider = async (change: NotifiableChange): Promise<void> => {
    const key = notificationKey(change)
    // Who looked when the change came has seen it, also if its content comes later.
    const wasVisible = await isAnyTabVisible()
    const content = wasVisible ? undefined : await notificationOf(client, change, user.id)
    if (content === undefined) return
    const isVisibleElsewhere = await isAnyTabVisible()
    const context = { isOn: isOn(), isHidden: document.hidden, isVisibleElsewhere, openedAt }
    if (isNews(content.at, context) && (await claimNotification(key))) show(key, content)
  }
  return (hints) => {
    const { keys, shown } = noticed.current
    for (const hint of hints) {
      const key = notificationKey(hint)
      if ((hint.kind === "approval" || hint.kind === "input") && hint.state !== "pending")
        shown.get(key)?.close()
      if (!isNotifiable(hint) || keys.has(key)) continue
      keys.add(key)
      // Without its content, such as after a lost connection, a change stays in the lists of the console.
      if (isOn() && document.hidden) void consider(hint).catch(() => undefined)
    }
  }
}
