/** Button of the header that stops the turn in progress. */
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { threadMessages } from "./messages.ts"
import "./thread.css"

interface Props {
  readonly isBusy: boolean
  readonly onStop: () => void
}

export const StopButton = ({ isBusy, onStop }: Props) => {
  const messages = useMessages(threadMessages)
  return (
    <button type="button" className="button small stop-button" disabled={isBusy} onClick={onStop}>
      <Icon name="stop" size={14} />
      <span className="stop-word">{messages.stop}</span>
    </button>
  )
}
