/** Shown while a page's code is on its way, if that takes a while. */
import { useMessages } from "../text/Language.tsx"
import { appMessages } from "./messages.ts"

export const PageLoading = () => (
  <p className="quiet" role="status">
    {useMessages(appMessages).loading}
  </p>
)
