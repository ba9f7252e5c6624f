/** First steps for a user without runs. Each completes itself as the data changes, wherever it was done. */
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { StartChoice } from "../start/useStartChoice.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { homeMessages } from "./messages.ts"
import "./home.css"

interface Props {
  readonly choice: StartChoice
  /** Whether the user has a device. */
  readonly hasDevice: boolean
  readonly onWrite: () => void
}

export const FirstSteps = ({ choice: { places, project }, hasDevice, onWrite }: Props) => {
  const messages = useMessages(homeMessages)
  const [projectText, deviceText, workspaceText, runText] = [
    messages.steps.project[0],
    messages.steps.device[0],
    messages.steps.workspace[0],
    messages.steps.run[0]
  ]
  const steps: ReadonlyArray<{
    readonly name: keyof typeof messages.steps
    readonly done: boolean
    readonly way: ReactNode
  }> = [
    { name: "project", done: project !== undefined, way: <Link to="/projects">{projectText}</Link> },
    { name: "device", done: hasDevice, way: <Link to="/devices">{deviceText}</Link> },
    {
      name: "workspace",
      done: places.length > 0,
      way:
        project === undefined ? (
          <span>{workspaceText}</span>
        ) : (
          <Link to="/projects/$projectId" params={{ projectId: project.id }} search={{ tab: "workspaces" }}>
            {workspaceText}
          </Link>
        )
    },
    // The page hides the steps after the first run.
    {
      name: "run",
      done: false,
      way: (
        <button type="button" className="link-button" onClick={onWrite}>
          {runText}
        </button>
      )
    }
  ]
  return (
    <section aria-label={messages.begin}>
      <h2>{messages.begin}</h2>
      <ol className="first-steps">
        {steps.map(({ done, name, way }, index) => (
          <li key={name} className={done ? "first-step first-step-done" : "first-step"}>
            <span className="first-step-mark" aria-hidden="true">
              {done ? <Icon name="check" size={14} /> : index + 1}
            </span>
            <span>
              {way}
              {done && <span className="hidden">, {messages.done}</span>}
              <br />
              <span className="quiet">{messages.steps[name][1]}</span>
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
