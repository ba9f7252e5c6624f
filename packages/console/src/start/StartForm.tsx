/** The form of a run in one project. What is offline or missing says so, and what to do about it. */
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { RunMode } from "@corral/domain/run/Run"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { targetsQuery } from "../api/Known.ts"
import { useMessages } from "../text/Language.tsx"
import { Field, given, textIn } from "../ui/Field.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { uiMessages } from "../ui/messages.ts"
import { AgentField } from "./AgentField.tsx"
import { agentsOn, offeredModes, targetsFor, usualMode, workspacesOn } from "./Offer.ts"
import { SessionField } from "./SessionField.tsx"
import type { StartSearch } from "./StartPage.tsx"
import { TargetField } from "./TargetField.tsx"
import { startMessages } from "./messages.ts"

interface Props {
  readonly projectId: ProjectId
  readonly asked: StartSearch
}

export const StartForm = ({ asked, projectId }: Props) => {
  const messages = useMessages(startMessages)
  const { modes: modeNames } = useMessages(uiMessages)
  const navigate = useNavigate()
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  const targets = useQuery(targetsQuery(projectId))
  const links = useQuery({
    queryKey: ["projects", "workspaces", projectId, "known"],
    queryFn: ({ signal }) =>
      hubApi.projects.workspaces({ params: { id: projectId }, query: { limit: 200 }, signal })
  })
  const [targetId, setTarget] = useState(asked.targetId)
  const [workspaceId, setWorkspace] = useState(asked.workspace)
  const [agentId, setAgent] = useState(asked.agentId)
  const [wanted, setMode] = useState<RunMode>()

  const reachable = targetsFor(targets.data?.items ?? [], links.data?.items ?? [])
  const target = reachable.find(({ id }) => id === targetId) ?? reachable[0]
  const workspaces = workspacesOn(target, links.data?.items ?? [])
  const workspace = workspaces.find(({ id }) => id === workspaceId) ?? workspaces[0]
  const agents = agentsOn(target)
  const agent = agents.find(({ id }) => id === agentId) ?? agents[0]
  const modes = offeredModes(workspace?.offered, agent)
  const mode = modes.find((each) => each === wanted) ?? usualMode(modes)

  const start = useMutation({
    mutationFn: (form: FormData) => {
      if (target === undefined || workspace === undefined || agent === undefined || mode === undefined)
        throw new Error(messages.noDevices)
      const payload = {
        projectId,
        targetId: target.id,
        workspace: workspace.id,
        agentId: agent.id,
        mode,
        input: { text: textIn(form, "text") },
        ...given(form, "model"),
        ...sessionIn(form),
        ...(form.has("worktree") ? { isolation: "worktree" as const } : {}),
        ...(form.has("queue") ? { onOffline: "queue" as const } : {})
      }
      return hubApi.tasks.create({ headers: keyOf(payload), payload })
    },
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: ["runs"] })
      await navigate({ to: "/tasks/$taskId", params: { taskId: id } })
    }
  })

  if (targets.error !== null || links.error !== null)
    return <RefusalNote error={targets.error ?? links.error} />
  if (targets.data === undefined || links.data === undefined) return null
  if (target === undefined)
    return (
      <div className="empty">
        <p>{messages.noDevices}</p>
        <Link to="/projects/$projectId" params={{ projectId }} search={{ tab: "workspaces" }}>
          {messages.toWorkspaces}
        </Link>
      </div>
    )
  const isOffline = target.state !== "online"
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        start.mutate(new FormData(event.currentTarget))
      }}
    >
      <TargetField targets={reachable} target={target} onChoose={setTarget} />
      <Field label={messages.workspace}>
        <select value={workspace?.id ?? ""} onChange={({ currentTarget: { value } }) => setWorkspace(value)}>
          {workspaces.map(({ id, offered }) => (
            <option key={id} value={id} disabled={offered?.available !== true}>
              {offered?.available === true ? id : `${id} (${messages.gone})`}
            </option>
          ))}
        </select>
      </Field>
      <AgentField agents={agents} agent={agent} onChoose={setAgent} />
      <Field label={messages.mode} {...(mode === undefined ? { hint: messages.noModes } : {})}>
        <select
          value={mode ?? ""}
          onChange={({ currentTarget: { value } }) => setMode(modes.find((each) => each === value))}
        >
          {modes.map((each) => (
            <option key={each} value={each}>
              {modeNames[each]}
            </option>
          ))}
        </select>
      </Field>
      <Field label={messages.text}>
        <textarea name="text" required maxLength={262_144} autoFocus />
      </Field>
      <details>
        <summary>{messages.more}</summary>
        <div className="form">
          <SessionField projectId={projectId} asked={asked.sessionId} />
          <Field label={messages.model} hint={messages.modelHint}>
            <input
              name="model"
              maxLength={128}
              autoComplete="off"
              spellCheck={false}
              placeholder={agent?.model}
            />
          </Field>
          {workspace?.offered?.git === true && (
            <label className="choice">
              <input type="checkbox" name="worktree" />
              {messages.worktree}
            </label>
          )}
        </div>
      </details>
      <RefusalNote error={start.error} />
      <div className="form-actions">
        <button type="submit" className="button primary" disabled={start.isPending || mode === undefined}>
          {isOffline ? messages.queueIt : messages.start}
        </button>
      </div>
    </form>
  )
}

const sessionIn = (form: FormData) => {
  const { sessionId } = given(form, "sessionId")
  // One of the options of its field, which are the Hub's.
  return sessionId === undefined ? {} : { sessionId: sessionId as SessionId }
}
