/** Page of the user's projects. */
import type { ProjectVisibility } from "@corral/domain/project/Project"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { useList } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { optionalField, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { Time } from "../ui/Time.tsx"
import { ProjectActivity } from "./ProjectActivity.tsx"
import { ProjectFields } from "./ProjectFields.tsx"
import { projectMessages } from "./messages.ts"

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
