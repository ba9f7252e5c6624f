/** Filter of the session list: what it shows, and of which project. */
import { Menu } from "@base-ui/react/menu"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useProjects } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { sidebarMessages } from "./messages.ts"
import { type SessionView, sessionViews } from "./sessionView.ts"
import "./sidebar.css"

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly choices: ReadonlyArray<readonly [value: string, name: string]>
  readonly onChoose: (value: string) => void
}

const FilterChoice = ({ choices, label, onChoose, value }: ChoiceProps) => (
  <Menu.Group>
    <Menu.GroupLabel className="menu-label">{label}</Menu.GroupLabel>
    <Menu.RadioGroup value={value} onValueChange={(chosen: string) => onChoose(chosen)}>
      {choices.map(([each, name]) => (
        <Menu.RadioItem key={each} className="menu-item" value={each} closeOnClick>
          <span className="menu-mark">{value === each ? "✓" : ""}</span>
          <bdi>{name}</bdi>
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  </Menu.Group>
)

interface Props {
  readonly view: SessionView
  readonly onView: (view: SessionView) => void
  readonly projectId: ProjectId | undefined
  readonly onProject: (id: ProjectId | undefined) => void
}

export const SessionFilter = ({ onProject, onView, projectId, view }: Props) => {
  const messages = useMessages(sidebarMessages)
  const projects = useProjects()
  const project = projects.find(({ id }) => id === projectId)
  return (
    <Menu.Root>
      <Menu.Trigger className="session-filter">
        <span>
          {messages.views[view]}
          {project !== undefined && (
            <>
              {" · "}
              <bdi>{project.name}</bdi>
            </>
          )}
        </span>
        <Icon name="fold" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-positioner" sideOffset={4} align="start">
          <Menu.Popup className="menu menu-long">
            <FilterChoice
              label={messages.show}
              value={view}
              choices={sessionViews.map((each) => [each, messages.views[each]])}
              onChoose={(chosen) => onView(sessionViews.find((each) => each === chosen) ?? "all")}
            />
            {projects.length > 1 && (
              <>
                <Menu.Separator className="menu-line" />
                <FilterChoice
                  label={messages.project}
                  value={projectId ?? ""}
                  choices={[
                    ["", messages.allProjects],
                    ...projects.map(({ id, name }) => [id, name] as const)
                  ]}
                  onChoose={(chosen) => onProject(projects.find(({ id }) => id === chosen)?.id)}
                />
              </>
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
