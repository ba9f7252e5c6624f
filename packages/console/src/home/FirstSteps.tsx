/** First steps for a user without runs. Each completes itself as the data changes, wherever it was done. */
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { StartChoice } from "../start/useStartChoice.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { homeMessages } from "./messages.ts"
import "./home.css"

/** What the link or button of a step shows. Only the next step has one: a new user has one thing to do. */
interface StepFace {
  readonly className: string
  readonly "aria-label": string
  readonly children: string
}

interface Step {
  readonly name: "project" | "device" | "workspace" | "run"
  readonly done: boolean
  readonly way: (face: StepFace) => ReactNode
}

interface Props {
  readonly choice: StartChoice
  /** Whether the user has a device. */
  readonly hasDevice: boolean
  readonly onWrite: () => void
}

export const FirstSteps = ({ choice: { places, project }, hasDevice, onWrite }: Props) => {
  const messages = useMessages(homeMessages)
  const { comma } = usePunctuation()
  const steps: ReadonlyArray<Step> = [
    { name: "project", done: project !== undefined, way: (face) => <Link to="/projects" {...face} /> },
    { name: "device", done: hasDevice, way: (face) => <Link to="/devices" {...face} /> },
    {
      name: "workspace",
      done: places.length > 0,
      way: (face) =>
        project !== undefined && (
          <Link
            to="/projects/$projectId"
            params={{ projectId: project.id }}
            search={{ tab: "workspaces" }}
            {...face}
          />
        )
    },
    // The page hides the steps after the first run.
    {
      name: "run",
      done: false,
      way: (face) => <button type="button" {...face} className="button" onClick={onWrite} />
    }
  ]
  const next = steps.find(({ done }) => !done)
  return (
    <section className="first" aria-label={messages.begin}>
      <h2>{messages.begin}</h2>
      <p className="quiet">{messages.beginHint}</p>
      <ol className="first-steps">
        {steps.map(({ done, name, way }, index) => {
          const [title = "", hint, action = ""] = messages.steps[name]
          return (
            <li
              key={name}
              className={done ? "first-step first-step-done" : "first-step"}
              aria-current={next?.name === name ? "step" : undefined}
            >
              <span className="first-step-mark" aria-hidden="true">
                {done ? <Icon name="check" size={14} /> : index + 1}
              </span>
              <span className="first-step-text">
                <strong>{title}</strong>
                {done && (
                  <span className="hidden">
                    {comma}
                    {messages.done}
                  </span>
                )}
                <br />
                <span className="quiet">{hint}</span>
              </span>
              {next?.name === name &&
                way({ className: "button primary", "aria-label": title, children: action })}
            </li>
          )
        })}
      </ol>
    </section>
  )
}
