/** Note of the lines of a request that were not on the screen yet, and the button that shows the whole request in a dialog. */
import { Dialog } from "@base-ui/react/dialog"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "../ui/messages.ts"
import { RequestView } from "./RequestView.tsx"
import type { SeenWhole } from "./useSeenWhole.ts"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

interface Props {
  readonly request: ApprovalRequest
  readonly seen: SeenWhole
}

/** The request counts as seen when the dialog closes: until then the dialog covers the answers. */
export const FullRequest = ({ request, seen }: Props) => {
  const messages = useMessages(approvalMessages)
  const ui = useMessages(uiMessages)
  return (
    <Dialog.Root onOpenChange={(isOpen) => !isOpen && seen.seeAll()}>
      <p className="hidden-lines" role="status">
        {messages.hiddenLines(seen.hiddenLines)}
      </p>
      <Dialog.Trigger className="button" data-key="a" aria-keyshortcuts="a y">
        {messages.showWhole}
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog full-request">
          <Dialog.Title className="dialog-title">{messages.wholeRequest}</Dialog.Title>
          <RequestView request={request} isWhole />
          <div className="dialog-actions">
            <Dialog.Close className="button">{ui.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
