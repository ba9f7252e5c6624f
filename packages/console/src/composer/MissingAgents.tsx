/**
 * Agents that a device could offer: what to run there to sign in to a program, or to install one. The command comes from the hint of the Edge.
 */
import { Dialog } from "@base-ui/react/dialog"
import type { Agent } from "@corral/domain/run/Agent"
import { useRef } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { CopyLine } from "../ui/Copy.tsx"
import { uiMessages } from "../ui/messages.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

/** The command in a hint of an Edge, such as "Install Codex: npm install -g @openai/codex". Pure. `undefined` if the hint names none. */
export const setupCommand = (hint: string | undefined): string | undefined => {
  const marked = hint?.split("`", 3)[1]
  if (marked !== undefined && marked.trim() !== "" && hint?.split("`").length !== 2) return marked.trim()
  const at = hint?.indexOf("npm install ") ?? -1
  return hint === undefined || at === -1 ? undefined : hint.slice(at).trim()
}

/** Agents that need an installation or a sign-in. */
export const missingAgents = (agents: ReadonlyArray<Agent>): ReadonlyArray<Agent> =>
  agents.filter(({ available, signedIn }) => !available || signedIn === false)

const MissingAgent = ({ agent: { hint, label } }: { readonly agent: Agent }) => {
  const command = setupCommand(hint)
  return (
    <li>
      <bdi className="missing-agent">{visibleLine(label, 80)}</bdi>
      {command === undefined ? (
        <span className="quiet">{hint}</span>
      ) : (
        <CopyLine text={command} what={label} />
      )}
    </li>
  )
}

const AgentGroup = ({ agents, label }: { readonly agents: ReadonlyArray<Agent>; readonly label: string }) =>
  agents.length === 0 ? null : (
    <section aria-label={label}>
      <h3>{label}</h3>
      <ul className="missing-agents">
        {agents.map((agent) => (
          <MissingAgent key={agent.id} agent={agent} />
        ))}
      </ul>
    </section>
  )

interface MissingAgentsProps {
  readonly agents: ReadonlyArray<Agent>
  readonly device: string
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

export const MissingAgents = ({ agents, device, onOpenChange, open }: MissingAgentsProps) => {
  const messages = useMessages(composerMessages)
  const { close } = useMessages(uiMessages)
  const heading = useRef<HTMLHeadingElement>(null)
  const missing = missingAgents(agents)
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        {/* The focus at the heading: the dialog opens at its beginning. */}
        <Dialog.Popup className="dialog" initialFocus={heading}>
          <Dialog.Title ref={heading} tabIndex={-1} className="dialog-title">
            {messages.missingTitle(device)}
          </Dialog.Title>
          <Dialog.Description className="quiet">{messages.missingText(device)}</Dialog.Description>
          <AgentGroup label={messages.notSignedIn} agents={missing.filter(({ available }) => available)} />
          <AgentGroup label={messages.notInstalled} agents={missing.filter(({ available }) => !available)} />
          <div className="dialog-actions">
            <Dialog.Close className="button">{close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
