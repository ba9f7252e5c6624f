/** Banner while the connection is lost: since when, and that nothing written is lost. */
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { appMessages } from "./messages.ts"
import { useLostConnection } from "./useLostConnection.ts"

export const ConnectionBanner = ({ live }: { readonly live: boolean }) => {
  const messages = useMessages(appMessages)
  const { language } = useLanguage()
  const lost = useLostConnection(live)
  const time = lost?.since.toLocaleTimeString(language === "zh" ? "zh-CN" : "en", { timeStyle: "short" })
  return (
    <div role="status" className={lost === undefined ? "hidden" : "banner"}>
      {lost !== undefined && (
        <>
          <Icon name="offline" />
          <span>
            {lost.offline ? messages.offline(time ?? "") : messages.reconnecting(time ?? "")} {messages.kept}
          </span>
        </>
      )}
    </div>
  )
}
