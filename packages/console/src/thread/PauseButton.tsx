/** Button of the header that pauses the turn in progress, or resumes it. */
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { threadMessages } from "./messages.ts"
import "./thread.css"

interface Props {
  readonly isPaused: boolean
  readonly isBusy: boolean
  readonly onChange: () => void
}

export const PauseButton = ({ isBusy, isPaused, onChange }: Props) => {
  const messages = useMessages(threadMessages)
  const label = isPaused ? messages.resume : messages.pause
  return (
    <button
      type="button"
      className="button small pause-button"
      title={isPaused ? messages.resumeHint : messages.pauseHint}
      disabled={isBusy}
      onClick={onChange}
    >
      <Icon name={isPaused ? "resume" : "pause"} size={14} />
      <span className="pause-word">{label}</span>
    </button>
  )
}
