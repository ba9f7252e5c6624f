/** Primary button of a composer. Alone it reads whether the draft can be sent, so that a key renders no chips. */
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { type Draft, type DraftReadiness, useDraftReadiness } from "./Draft.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface Props {
  readonly draft: Draft
  readonly isBusy: boolean
  readonly label: string
}

export const SendButton = ({ draft, isBusy, label }: Props) => {
  const readiness = useDraftReadiness(draft)
  return (
    <button
      type="submit"
      className="button primary composer-button"
      disabled={readiness !== "ready" || isBusy}
    >
      <Icon name="send" />
      <span className="composer-button-text">{label}</span>
    </button>
  )
}

interface HintProps {
  readonly draft: Draft
  /** What the keys do. Screen readers read it with the line, not as news. */
  readonly keys: string
  /** What happens to the message. */
  readonly children: string
}

/** Line of help: why the draft can't be sent, what happens to it, or what the keys do. */
export const ComposerHint = ({ children, draft, keys }: HintProps) => {
  const messages = useMessages(composerMessages)
  const reasons: { readonly [R in DraftReadiness]?: string } = {
    filesOnly: messages.filesOnly,
    uploading: messages.uploading,
    blocked: messages.blocked
  }
  const text = reasons[useDraftReadiness(draft)] ?? children
  return (
    <p className="composer-hint">
      <span role="status">{text}</span>
      {text === "" && keys}
    </p>
  )
}
