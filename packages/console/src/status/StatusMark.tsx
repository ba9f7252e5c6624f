/** Status of work as a shape and a word. The colour repeats them. */
import { useMessages } from "../text/Language.tsx"
import type { WorkStatus } from "./SessionStatus.ts"
import { statusMessages } from "./messages.ts"
import "./status.css"

const shapes: { readonly [S in WorkStatus]: string } = {
  needsYou: "◆",
  needsOthers: "◇",
  working: "●",
  background: "◐",
  paused: "▮▮",
  offline: "⊘",
  waiting: "○",
  failed: "✕",
  stopped: "■",
  idle: "✓"
}

interface Props {
  readonly status: WorkStatus
  /** Whether only the shape is visible. Screen readers read the word. */
  readonly compact?: boolean
}

export const StatusMark = ({ compact = false, status }: Props) => {
  const messages = useMessages(statusMessages)
  return (
    <span className={`status status-${status}`}>
      <span className="status-shape" aria-hidden="true">
        {shapes[status]}
      </span>
      <span className={compact ? "hidden" : "status-word"}>{messages.words[status]}</span>
    </span>
  )
}
