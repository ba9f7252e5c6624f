/** Dialog with the agents of a session. Open while it is rendered. */
import { Dialog } from "@base-ui/react/dialog"
import type { Session } from "@corral/domain/session/Session"
import { useMessages } from "../text/Language.tsx"
import { threadMessages } from "../thread/messages.ts"
import type { ThreadData } from "../thread/useThread.ts"
import { SessionAgentList } from "./SessionAgentList.tsx"

interface Props {
  readonly session: Session
  readonly thread: ThreadData
  readonly mayWrite: boolean
  readonly onClose: () => void
}

export const AgentsDialog = ({ mayWrite, onClose, session, thread }: Props) => {
  const messages = useMessages(threadMessages)
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog agents-dialog">
          <Dialog.Title className="dialog-title">{messages.agents}</Dialog.Title>
          <SessionAgentList {...{ mayWrite, session, thread }} onShow={onClose} />
          <div className="dialog-actions">
            <Dialog.Close className="button">{messages.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
