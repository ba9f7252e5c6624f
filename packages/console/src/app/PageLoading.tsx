/** Placeholder while the code of a page loads. */
import { useMessages } from "../text/Language.tsx"
import { appMessages } from "./messages.ts"

export const PageLoading = () => (
  <p className="quiet" role="status">
    {useMessages(appMessages).loading}
  </p>
)
