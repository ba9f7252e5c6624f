/** Dialog that adds an agent to a session: a linked workspace, an agent of its device, and limits of its turns. */
import type { Session } from "@corral/domain/session/Session"
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useTargets } from "../api/ProjectsAndTargets.ts"
import { agentsOn, isUsable, placesOf, useWorkspaceLinks } from "../start/Offer.ts"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { FormDialog, type UserAction } from "../ui/Dialogs.tsx"
import { LimitFields, limitMessages, limitsIn } from "./TurnLimits.tsx"
import { composerMessages } from "./messages.ts"

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
