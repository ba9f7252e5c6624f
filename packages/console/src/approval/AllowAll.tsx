/** Menu item that allows all pending approvals of one kind in a turn, after it has listed them. High risk and long commands are never included. */
import { Dialog } from "@base-ui/react/dialog"
import { Menu } from "@base-ui/react/menu"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { isVisibleLine, visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useAction } from "../ui/useAction.ts"
import { uiMessages } from "../ui/messages.ts"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

/** Most characters of a command in the list. */
const MOST = 2_000

/** Approvals of the same turn and kind as the first, without those of high risk or a command that the list would cut, and the number of these. */
export const ofSameKind = (approvals: ReadonlyArray<HubApproval>) => {
  const [first] = approvals
  const same = approvals.filter(
    ({ request, runId }) => runId === first?.runId && request.action === first.request.action
  )
  const allowable = same.filter(
    ({ request }) => request.risk !== "high" && isVisibleLine(request.command ?? "", MOST)
  )
  return { allowable, skipped: same.length - allowable.length }
}

/** State of the dialog. It belongs to the dock, because the menu closes before the dialog opens. */
export const useAllowAll = (
  approvals: ReadonlyArray<HubApproval>,
  onDecided: (id: HubApproval["id"]) => void
) => {
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  const action = useAction()
  const allow = async (): Promise<void> => {
    try {
      for (const { id } of ofSameKind(approvals).allowable) {
        const payload = { decision: "allow", scope: "once" } as const
        onDecided(id)
        await hubApi.approvals.decide({ params: { id }, headers: keyOf({ id, ...payload }), payload })
      }
    } finally {
      await client.invalidateQueries({ queryKey: ["approvals"] })
    }
  }
  return { ...action, allow: () => action.run(allow) }
}

type AllowAllState = ReturnType<typeof useAllowAll>

export const AllowAllItem = ({ count, state }: { readonly count: number; readonly state: AllowAllState }) => {
  const messages = useMessages(approvalMessages)
  return (
    <Menu.Item className="menu-item" onClick={() => state.setOpen(true)}>
      {messages.allowAll(count)}
    </Menu.Item>
  )
}

interface Props {
  readonly approvals: ReadonlyArray<HubApproval>
  readonly state: AllowAllState
}

export const AllowAllDialog = ({ approvals, state }: Props) => {
  const messages = useMessages(approvalMessages)
  const ui = useMessages(uiMessages)
  const { allowable, skipped } = ofSameKind(approvals)
  return (
    <Dialog.Root open={state.open} onOpenChange={state.setOpen}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{messages.allowAllTitle(allowable.length)}</Dialog.Title>
          <Dialog.Description>{messages.allowAllText}</Dialog.Description>
          <ul className="allow-all">
            {allowable.map(({ id, request }) => (
              <li key={id}>
                <span className={`risk risk-${request.risk}`}>{messages.risks[request.risk]}</span>{" "}
                <code>{visibleLine(request.command ?? request.title, MOST)}</code>
              </li>
            ))}
          </ul>
          {skipped > 0 && <p className="quiet">{messages.allowAllSkipped(skipped)}</p>}
          <RefusalNote error={state.error} />
          <div className="dialog-actions">
            <Dialog.Close className="button">{ui.cancel}</Dialog.Close>
            <button
              type="button"
              className="button primary"
              disabled={state.busy}
              onClick={() => void state.allow()}
            >
              {messages.allowAllConfirm(allowable.length)}
            </button>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
