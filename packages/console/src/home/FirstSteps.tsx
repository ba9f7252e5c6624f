/** What a person does first, in order, where nothing has run yet. */
import { Link } from "@tanstack/react-router"
import { useProjects, useTargets } from "../api/Known.ts"
import { useWords } from "../text/Language.tsx"
import { homeWords } from "./words.ts"

export const FirstSteps = () => {
  const words = useWords(homeWords)
  const [projects, targets] = [useProjects(), useTargets()]
  const [project] = projects
  const steps = [
    {
      name: "project",
      done: project !== undefined,
      way: <Link to="/projects">{words.steps.project[0]}</Link>
    },
    { name: "device", done: targets.length > 0, way: <Link to="/devices">{words.steps.device[0]}</Link> },
    {
      name: "workspace",
      done: false,
      way:
        project === undefined ? (
          <span>{words.steps.workspace[0]}</span>
        ) : (
          <Link to="/projects/$projectId" params={{ projectId: project.id }} search={{ tab: "workspaces" }}>
            {words.steps.workspace[0]}
          </Link>
        )
    },
    { name: "run", done: false, way: <Link to="/start">{words.steps.run[0]}</Link> }
  ] as const
  return (
    <>
      <h2>{words.begin}</h2>
      <ol className="steps">
        {steps.map(({ done, name, way }) => (
          <li key={name} className={done ? "done" : undefined}>
            {way} {done && <span aria-hidden="true">✓</span>}
            <br />
            <span className="quiet">{words.steps[name][1]}</span>
          </li>
        ))}
      </ol>
    </>
  )
}
