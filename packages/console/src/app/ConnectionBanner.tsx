/** Banner while the connection is lost: when the Hub was last heard, and that nothing written is lost. */
import type { FeedConnection } from "../api/ChangeFeed.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { formatPointInTime } from "../text/PointInTime.ts"
import { Icon } from "../ui/Icon.tsx"
import { appMessages } from "./messages.ts"
import { useLostConnection } from "./useLostConnection.ts"

export const ConnectionBanner = ({ connection }: { readonly connection: FeedConnection }) => {
  const messages = useMessages(appMessages)
  const { language } = useLanguage()
  const lost = useLostConnection(connection)
  const time = lost === undefined ? "" : formatPointInTime(lost.since, new Date(), language)
  return (
    <div role="status" className={lost === undefined ? "hidden" : "banner"}>
      {lost !== undefined && (
        <>
          <Icon name="offline" />
          <span>
            {[lost.offline ? messages.offline(time) : messages.reconnecting(time), messages.kept].join(
              sentenceSpace[language]
            )}
          </span>
        </>
      )}
    </div>
  )
}
