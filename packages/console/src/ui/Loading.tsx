/** Placeholder while a page or a list loads. */
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "./messages.ts"

export const Loading = () => (
  <p className="quiet" role="status">
    {useMessages(uiMessages).loading}
  </p>
)
