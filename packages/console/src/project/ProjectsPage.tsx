/** The projects that a person may see. */
import type { ProjectVisibility } from "@corral/domain/project/Project"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { hub } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { useList } from "../api/Lists.ts"
import { useWords } from "../text/Language.tsx"
import { given, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Page } from "../ui/Page.tsx"
import { Time } from "../ui/Time.tsx"
import { ProjectFields } from "./ProjectFields.tsx"
import { projectWords } from "./messages.ts"

const NewProject = () => {
  const words = useWords(projectWords)
  const client = useQueryClient()
  const navigate = useNavigate()
  const keyOf = useIdempotencyKey()
  const create = async (form: FormData): Promise<void> => {
    const visibility: ProjectVisibility = textIn(form, "visibility") === "internal" ? "internal" : "private"
    const payload = { name: textIn(form, "name"), ...given(form, "description"), visibility }
    const { id } = await hub.projects.create({ headers: keyOf(payload), payload })
    await client.invalidateQueries({ queryKey: ["projects"] })
    await navigate({ to: "/projects/$projectId", params: { projectId: id } })
  }
  return (
    <FormDialog
      trigger={words.create}
      triggerClass="button primary"
      title={words.create}
      submit={words.create}
      onSubmit={create}
    >
      <ProjectFields />
    </FormDialog>
  )
}

export const ProjectsPage = () => {
  const words = useWords(projectWords)
  const list = useList(["projects", "list"], ({ page, signal }) => hub.projects.list({ query: page, signal }))
  return (
    <Page title={words.title} actions={<NewProject />}>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={words.title}>
          {list.items.map(({ description, id, name, role, updatedAt }) => (
            <li key={id} className="row">
              <div className="row-main">
                <Link to="/projects/$projectId" params={{ projectId: id }} className="row-title">
                  <bdi>{name}</bdi>
                </Link>
                {description !== undefined && <span className="quiet">{description}</span>}
              </div>
              <div className="row-side">
                <span className="badge plain">{words.roles[role]}</span>
                <Time at={updatedAt} />
              </div>
            </li>
          ))}
        </ul>
      )}
      <ListMore
        list={list}
        empty={
          <>
            <p>{words.none}</p>
            <p>{words.noneHint}</p>
          </>
        }
      />
    </Page>
  )
}
