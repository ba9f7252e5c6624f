/** Button that opens the dialog for another agent of a session. */
import type { Session } from "@corral/domain/session/Session"
import { AddAgentDialog } from "../composer/AddAgentDialog.tsx"
import { useMessages } from "../text/Language.tsx"
import { useAction } from "../ui/useAction.ts"
import { sessionMessages } from "./messages.ts"
import "./session.css"

export const AddSessionAgent = ({ session }: { readonly session: Session }) => {
  const messages = useMessages(sessionMessages)
  const action = useAction()
  return (
    <div className="part-actions after">
      <button type="button" className="button small" onClick={() => action.setOpen(true)}>
        {messages.addAgent}
      </button>
      <AddAgentDialog session={session} action={action} />
    </div>
  )
}
