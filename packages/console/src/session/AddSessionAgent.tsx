/** Takes an agent into a session: where it works is one of the project's linked workspaces, and the agent one that its device offers. */
import type { Session } from "@corral/domain/session/Session"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { hub } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { useTargets } from "../api/Known.ts"
import { agentsOn } from "../start/Offer.ts"
import { useWords } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { sessionWords } from "./messages.ts"
import "./session.css"

interface Props {
  readonly session: Session
  readonly onAdded: () => Promise<void>
}

export const AddSessionAgent = ({ onAdded, session: { id, projectId } }: Props) => {
  const words = useWords(sessionWords)
  const keyOf = useIdempotencyKey()
  const targets = useTargets(projectId)
  const links = useQuery({
    queryKey: ["projects", "workspaces", projectId, "known"],
    queryFn: ({ signal }) =>
      hub.projects.workspaces({ params: { id: projectId }, query: { limit: 200 }, signal })
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
    if (agent === undefined || place === undefined) throw new Error(words.noOffer)
    const payload = { agentId: agent.id, targetId: place.target.id, workspace: place.workspace }
    await hub.sessions.addAgent({ params: { id }, headers: keyOf(payload), payload })
    await onAdded()
  }
  return (
    <div className="part-actions after">
      <FormDialog
        trigger={words.addAgent}
        triggerClass="button small"
        title={words.addAgent}
        submit={words.addAgent}
        onSubmit={add}
      >
        {place === undefined && <p>{words.noOffer}</p>}
        <Field label={words.where}>
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
        <Field label={words.agent}>
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
