/** Agents that a device does not offer now, with the reason and what to do on the device. */
import { Dialog } from "@base-ui/react/dialog"
import type { Agent } from "@corral/domain/run/Agent"
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "../ui/messages.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

/** Agents that need an installation or a sign-in. */
export const missingAgents = (agents: ReadonlyArray<Agent>): ReadonlyArray<Agent> =>
  agents.filter(({ available, signedIn }) => !available || signedIn === false)

interface Props {
  readonly agents: ReadonlyArray<Agent>
  readonly device: string
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

export const MissingAgents = ({ agents, device, onOpenChange, open }: Props) => {
  const messages = useMessages(composerMessages)
  const { close } = useMessages(uiMessages)
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{messages.missingTitle(device)}</Dialog.Title>
          <Dialog.Description className="quiet">{messages.missingText(device)}</Dialog.Description>
          <ul className="missing-agents">
            {missingAgents(agents).map(({ available, hint, id, label, reason }) => (
              <li key={id}>
                <strong>
                  <bdi>{label}</bdi>
                </strong>
                <br />
                <span className="quiet">
                  {reason ?? (available ? messages.notSignedIn : messages.notInstalled)}
                  {hint === undefined ? "" : ` ${hint}`}
                </span>
              </li>
            ))}
          </ul>
          <div className="dialog-actions">
            <Dialog.Close className="button">{close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
