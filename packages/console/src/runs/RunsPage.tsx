/** Page of all runs of the user. The filter is in the URL, so that it can be bookmarked and shared. */
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { Link, useNavigate } from "@tanstack/react-router"
import { pickSearchParams } from "../ui/searchParams.ts"
import { useProjects, useTargets } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { uiMessages } from "../ui/messages.ts"
import { RunList } from "./RunRows.tsx"
import { runsMessages } from "./messages.ts"

const states: ReadonlyArray<HubRunStatus> = [
  "queued",
  "created",
  "starting",
  "running",
  "waiting_approval",
  "waiting_input",
  "completed",
  "failed",
  "cancelled"
]

interface Filter {
  readonly projectId?: string
  readonly targetId?: string
  readonly state?: string
}

export const RunsPage = ({ filter }: { readonly filter: Filter }) => {
  const messages = useMessages(runsMessages)
  const { states: names } = useMessages(uiMessages)
  const navigate = useNavigate({ from: "/runs" })
  const [projects, targets] = [useProjects(), useTargets()]
  const choose = (name: keyof Filter) => ({
    value: filter[name] ?? "",
    onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      void navigate({
        // Empty values are removed from the URL.
        search: (now) =>
          pickSearchParams("projectId", "targetId", "state")({ ...now, [name]: currentTarget.value }),
        replace: true
      })
  })
  const state = states.find((each) => each === filter.state)
  const isFiltered = Object.values(filter).some((value) => value !== undefined && value !== "")
  const clear = (
    <Link to="/runs" className="button" replace>
      {messages.clear}
    </Link>
  )
  return (
    <PageFrame title={messages.title}>
      <div className="filters">
        <Field label={messages.project}>
          <select {...choose("projectId")}>
            <option value="">{messages.all}</option>
            {projects.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        <Field label={messages.state}>
          <select {...choose("state")}>
            <option value="">{messages.all}</option>
            {states.map((each) => (
              <option key={each} value={each}>
                {names[each]}
              </option>
            ))}
          </select>
        </Field>
        <Field label={messages.device}>
          <select {...choose("targetId")}>
            <option value="">{messages.all}</option>
            {targets.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        {isFiltered && clear}
      </div>
      <RunList
        {...(isFiltered ? { noMatch: <p>{messages.noMatch}</p> } : {})}
        filter={{
          // Text from the URL is user input: the Hub validates it.
          ...(filter.projectId === undefined ? {} : { projectId: filter.projectId as ProjectId }),
          ...(filter.targetId === undefined ? {} : { targetId: filter.targetId as DeviceId }),
          ...(state === undefined ? {} : { state })
        }}
      />
    </PageFrame>
  )
}
