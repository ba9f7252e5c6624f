/** Buttons of the header that pause or resume the turn in progress, and stop it. */
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { threadMessages } from "./messages.ts"
import type { TurnControl } from "./useTurnControl.ts"
import "./thread.css"

interface StopProps {
  readonly isBusy: boolean
  readonly onStop: () => void
}

/** Stops the turn in progress. */
const StopButton = ({ isBusy, onStop }: StopProps) => {
  const messages = useMessages(threadMessages)
  return (
    <button type="button" className="button small stop-button" disabled={isBusy} onClick={onStop}>
      <Icon name="stop" size={14} />
      <span className="stop-word">{messages.stop}</span>
    </button>
  )
}

const PauseButton = ({ isChangingPause, isPaused, onPause }: TurnControl) => {
  const messages = useMessages(threadMessages)
  return (
    <button
      type="button"
      className="button small pause-button"
      title={isPaused ? messages.resumeHint : messages.pauseHint}
      disabled={isChangingPause}
      onClick={onPause}
    >
      <Icon name={isPaused ? "resume" : "pause"} size={14} />
      <span className="pause-word">{isPaused ? messages.resume : messages.pause}</span>
    </button>
  )
}

export const TurnButtons = ({ control }: { readonly control: TurnControl }) => (
  <>
    <PauseButton {...control} />
    <StopButton isBusy={control.isStopping} onStop={control.onStop} />
  </>
)
