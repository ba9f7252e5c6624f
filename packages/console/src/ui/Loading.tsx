/** Placeholder while a page or a list loads: quiet bars at the place of the rows. */
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "./messages.ts"

interface Props {
  /** Rows that the content probably has: a placeholder of the right height moves nothing. */
  readonly rows?: number
}

export const Loading = ({ rows = 3 }: Props) => (
  <div className="skeleton" role="status">
    <span className="hidden">{useMessages(uiMessages).loading}</span>
    {Array.from({ length: rows }, (_, row) => (
      <span key={row} className="skeleton-row" aria-hidden="true" />
    ))}
  </div>
)
