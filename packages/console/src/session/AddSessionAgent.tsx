/** Dialog that adds an agent to a session: a linked workspace, and an agent of its device. */
import type { Session } from "@corral/domain/session/Session"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { useTargets } from "../api/ProjectsAndTargets.ts"
import { agentsOn } from "../start/Offer.ts"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { sessionMessages } from "./messages.ts"
import "./session.css"

interface Props {
  readonly session: Session
  readonly onAdded: () => Promise<void>
}

export const AddSessionAgent = ({ onAdded, session: { id, projectId } }: Props) => {
  const messages = useMessages(sessionMessages)
  const keyOf = useIdempotencyKey()
  const targets = useTargets(projectId)
  const links = useQuery({
    queryKey: ["projects", "workspaces", projectId, "known"],
    queryFn: ({ signal }) =>
      hubApi.projects.workspaces({ params: { id: projectId }, query: { limit: 200 }, signal })
  })
  const [chosen, setChosen] = useState(0)
  const places = (links.data?.items ?? []).flatMap(({ targetId, workspace }) => {
    const target = targets.find((each) => each.id === targetId)
    return target === undefined ? [] : [{ target, workspace }]
  })
  const place = places[chosen] ?? places[0]
  const agents = agentsOn(place?.target)
  const add = async (form: FormData): Promise<void> => {
    const agent = agents.find((each) => each.id === textIn(form, "agentId"))
    if (agent === undefined || place === undefined) throw new Error(messages.noOffer)
    const payload = { agentId: agent.id, targetId: place.target.id, workspace: place.workspace }
    await hubApi.sessions.addAgent({ params: { id }, headers: keyOf(payload), payload })
    await onAdded()
  }
  return (
    <div className="part-actions after">
      <FormDialog
        trigger={messages.addAgent}
        triggerClass="button small"
        title={messages.addAgent}
        submit={messages.addAgent}
        onSubmit={add}
      >
        {place === undefined && <p>{messages.noOffer}</p>}
        <Field label={messages.where}>
          <select
            required
            value={place === undefined ? "" : places.indexOf(place)}
            onChange={({ currentTarget: { value } }) => setChosen(Number(value))}
          >
            {places.map(({ target, workspace }, i) => (
              <option key={`${target.id}/${workspace}`} value={i}>
                {target.name} · {workspace}
              </option>
            ))}
          </select>
        </Field>
        <Field label={messages.agent}>
          <select name="agentId" required>
            {agents.map(({ available, id: agentId, label }) => (
              <option key={agentId} value={agentId} disabled={!available}>
                {label}
              </option>
            ))}
          </select>
        </Field>
      </FormDialog>
    </div>
  )
}
