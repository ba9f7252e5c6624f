/** First steps for a user without runs. */
import type { Project } from "@corral/domain/project/Project"
import { useQueries } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useProjects, useTargets } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { homeMessages } from "./messages.ts"

/** Maximum number of projects to query. Users with more projects are not new. */
const MAX_PROJECTS = 10

/** Whether any of the projects has a linked workspace. */
const useHasWorkspace = (projects: ReadonlyArray<Project>): boolean =>
  useQueries({
    queries: projects.slice(0, MAX_PROJECTS).map(({ id }) => ({
      queryKey: ["projects", "workspaces", id, "any"],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        hubApi.projects.workspaces({ params: { id }, query: { limit: 1 }, signal })
    }))
  }).some(({ data }) => data !== undefined && data.items.length > 0)

export const FirstSteps = () => {
  const messages = useMessages(homeMessages)
  const [projects, targets] = [useProjects(), useTargets()]
  const [project] = projects
  const linked = useHasWorkspace(projects)
  const steps = [
    {
      name: "project",
      done: project !== undefined,
      way: <Link to="/projects">{messages.steps.project[0]}</Link>
    },
    { name: "device", done: targets.length > 0, way: <Link to="/devices">{messages.steps.device[0]}</Link> },
    {
      name: "workspace",
      done: linked,
      way:
        project === undefined ? (
          <span>{messages.steps.workspace[0]}</span>
        ) : (
          <Link to="/projects/$projectId" params={{ projectId: project.id }} search={{ tab: "workspaces" }}>
            {messages.steps.workspace[0]}
          </Link>
        )
    },
    // The page hides the steps after the first run.
    { name: "run", done: false, way: <Link to="/start">{messages.steps.run[0]}</Link> }
  ] as const
  return (
    <>
      <h2>{messages.begin}</h2>
      <ol className="steps">
        {steps.map(({ done, name, way }) => (
          <li key={name} className={done ? "done" : undefined}>
            {way} {done && <span aria-hidden="true">✓</span>}
            <br />
            <span className="quiet">{messages.steps[name][1]}</span>
          </li>
        ))}
      </ol>
    </>
  )
}
