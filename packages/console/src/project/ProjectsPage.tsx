/** Page of the user's projects, with what happens in each: how many of its runs need the user, and how many work. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import type { ProjectVisibility } from "@corral/domain/project/Project"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useMemo } from "react"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useLatestRuns } from "../api/RunsAndGroups.ts"
import { useList } from "../api/Lists.ts"
import { useWaitingRuns } from "../api/Pending.ts"
import { useOfflineTargets, useRights } from "../api/ProjectsAndTargets.ts"
import { runStatus, StatusMark, type WorkStatus } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { optionalField, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/Dialogs.tsx"
import { ListMore } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { Time } from "../ui/Time.tsx"
import { ProjectFields } from "./ProjectSettings.tsx"
import { projectMessages } from "./messages.ts"

/** Statuses that are counted, in their order. */
const counted = ["needsYou", "working"] as const satisfies ReadonlyArray<WorkStatus>

/** What happens in a project: how many of its runs need the user, and how many work. Nothing for a quiet one. */
const ProjectActivity = ({ id }: { readonly id: ProjectId }) => {
  const runs = useLatestRuns()
  const waiting = useWaitingRuns()
  const offline = useOfflineTargets()
  const rights = useRights()
  const statuses = useMemo(
    () =>
      runs
        .filter(({ projectId }) => projectId === id)
        .map((run) => runStatus(run, { offline, rights, waiting })),
    [id, offline, rights, runs, waiting]
  )
  return counted.map((status) => {
    const count = statuses.filter((each) => each === status).length
    return count === 0 ? null : (
      <span key={status} className="project-activity">
        <StatusMark status={status} /> <span className="quiet">{count}</span>
      </span>
    )
  })
}

const NewProject = () => {
  const messages = useMessages(projectMessages)
  const client = useQueryClient()
  const navigate = useNavigate()
  const keyOf = useIdempotencyKey()
  const create = async (form: FormData): Promise<void> => {
    const visibility: ProjectVisibility = textIn(form, "visibility") === "internal" ? "internal" : "private"
    const payload = { name: textIn(form, "name"), ...optionalField(form, "description"), visibility }
    const { id } = await hubApi.projects.create({ headers: keyOf(payload), payload })
    await client.invalidateQueries({ queryKey: ["projects"] })
    await navigate({ to: "/projects/$projectId", params: { projectId: id } })
  }
  return (
    <FormDialog
      trigger={messages.create}
      triggerClass="button primary"
      title={messages.create}
      submit={messages.create}
      onSubmit={create}
    >
      <ProjectFields />
    </FormDialog>
  )
}

export const ProjectsPage = () => {
  const messages = useMessages(projectMessages)
  const list = useList(["projects", "list"], ({ page, signal }) =>
    hubApi.projects.list({ query: page, signal })
  )
  return (
    <PageFrame title={messages.title} actions={<NewProject />}>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={messages.title}>
          {list.items.map(({ description, id, name, role, updatedAt }) => (
            <li key={id} className="row">
              <div className="row-main">
                <Link to="/projects/$projectId" params={{ projectId: id }} className="row-title">
                  <bdi>{name}</bdi>
                </Link>
                {description !== undefined && <span className="quiet">{description}</span>}
              </div>
              <div className="row-side">
                <ProjectActivity id={id} />
                <span className="quiet project-role">{messages.roles[role]}</span>
                <span className="quiet">
                  {messages.updated} <Time at={updatedAt} />
                </span>
              </div>
            </li>
          ))}
        </ul>
      )}
      <ListMore
        list={list}
        empty={
          <>
            <p>{messages.none}</p>
            <p>
              {messages.noneHint} {messages.noneNext}
            </p>
          </>
        }
      />
    </PageFrame>
  )
}
