/**
 * Dialogs about agents. One adds an agent to a session: a linked workspace, an agent of its device, and limits of its turns. One lists agents that a device
 * could offer: what to run there to sign in to a program, or to install one. The command comes from the hint of the Edge.
 */
import { Dialog } from "@base-ui/react/dialog"
import type { Agent } from "@corral/domain/run/Agent"
import type { Session } from "@corral/domain/session/Session"
import { useQueryClient } from "@tanstack/react-query"
import { useRef, useState } from "react"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useTargets } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { agentsOn, isUsable, placesOf, useWorkspaceLinks } from "../start/Offer.ts"
import { useMessages } from "../text/Language.tsx"
import { CopyLine } from "../ui/Copy.tsx"
import { FormDialog, type UserAction } from "../ui/Dialogs.tsx"
import { Field } from "../ui/Field.tsx"
import { uiMessages } from "../ui/messages.ts"
import { LimitFields, limitMessages, limitsIn } from "./TurnLimits.tsx"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface Props {
  readonly session: Session
  readonly action: UserAction
  /** Receives the id of the new agent. */
  readonly onAdded?: (id: Session["agents"][number]["id"]) => void
}

export const AddAgentDialog = ({ action, onAdded, session: { id, projectId } }: Props) => {
  const messages = useMessages(composerMessages)
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  const targets = useTargets(projectId)
  const links = useWorkspaceLinks(projectId)
  const limits = useMessages(limitMessages)
  const [chosen, setChosen] = useState(0)
  const [agentId, setAgentId] = useState("")
  const places = placesOf(targets, links.data?.items ?? []).filter(isUsable)
  const place = places[chosen] ?? places[0]
  const agents = agentsOn(place?.target).filter(({ available }) => available)
  const agent = agents.find((each) => each.id === agentId) ?? agents[0]
  const add = async (form: FormData): Promise<void> => {
    if (agent === undefined || place === undefined) throw new Error(messages.noPlaces)
    const payload = {
      agentId: agent.id,
      targetId: place.target.id,
      workspace: place.workspace.id,
      ...limitsIn(form)
    }
    const added = await hubApi.sessions.addAgent({ params: { id }, headers: keyOf(payload), payload })
    await client.invalidateQueries({ queryKey: ["sessions", "one", id] })
    onAdded?.(added.id)
  }
  return (
    <FormDialog action={action} title={messages.addAgent} submit={messages.addAgent} onSubmit={add}>
      {place === undefined && <p>{messages.noPlaces}</p>}
      <Field label={messages.place}>
        <select
          required
          value={place === undefined ? "" : places.indexOf(place)}
          onChange={({ currentTarget: { value } }) => setChosen(Number(value))}
        >
          {places.map(({ target, workspace }, i) => (
            <option key={`${target.id}/${workspace.id}`} value={i}>
              {target.name} · {workspace.id}
            </option>
          ))}
        </select>
      </Field>
      <Field label={messages.agent}>
        <select
          name="agentId"
          required
          value={agent?.id ?? ""}
          onChange={({ currentTarget: { value } }) => setAgentId(value)}
        >
          {agents.map(({ id: each, label }) => (
            <option key={each} value={each}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      <details>
        <summary>{limits.limits}</summary>
        <LimitFields key={agent?.id ?? ""} agent={agent} limits={{}} hint={limits.defaultsHint} />
      </details>
    </FormDialog>
  )
}

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

/** Agents that a device could offer, with what to run there. */
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
