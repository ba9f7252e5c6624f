/** Button that turns notifications on and off. The browser asks for its permission only then. */
import { useMessages } from "../text/Language.tsx"
import { notificationMessages } from "./messages.ts"
import { useNotificationSetting } from "./NotificationSetting.ts"

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
