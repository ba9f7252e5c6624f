/** Shown while a page's code is on its way, if that takes a while. */
import { useWords } from "../text/Language.tsx"
import { appWords } from "./messages.ts"

export const PageLoading = () => (
  <p className="quiet" role="status">
    {useWords(appWords).loading}
  </p>
)
