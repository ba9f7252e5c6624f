/** Chips of the home page's composer: project, workspace, agent, mode and model of a new session. */
import { Menu } from "@base-ui/react/menu"
import { useState } from "react"
import { ChipAction, ChipChoices, ChipMenu, type ChipOption } from "../composer/ChipMenu.tsx"
import { ChipSheet } from "../composer/ChipSheet.tsx"
import { missingAgents, MissingAgents } from "../composer/MissingAgents.tsx"
import { ModeChip } from "../composer/ModeChip.tsx"
import { ModelChip } from "../composer/ModelChip.tsx"
import { isUsable, type WorkPlace } from "../start/Offer.ts"
import type { StartChoice } from "../start/useStartChoice.ts"
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "../ui/messages.ts"
import type { StartSettings } from "./useStartSession.ts"
import { homeMessages } from "./messages.ts"

interface ChoiceProps {
  readonly choice: StartChoice
}

interface Props extends ChoiceProps {
  readonly settings: StartSettings
  readonly onSettings: (settings: StartSettings) => void
}

const ProjectChip = ({ choice: { pick, project, projects } }: ChoiceProps) => {
  const messages = useMessages(homeMessages)
  if (project === undefined || projects.length < 2) return null
  return (
    <ChipMenu label={messages.project} icon="projects" text={project.name}>
      <ChipChoices
        label={messages.project}
        value={project.id}
        options={projects.map(({ id, name }) => ({ value: id, name }))}
        onChoose={(projectId) => pick({ projectId })}
      />
    </ChipMenu>
  )
}

const keyOf = ({ target, workspace }: WorkPlace): string => `${target.id}/${workspace.id}`

const PlaceChip = ({ choice: { pick, place, places }, onSettings, settings }: Props) => {
  const messages = useMessages(homeMessages)
  const { states } = useMessages(uiMessages)
  if (place === undefined) return null
  const { target, workspace } = place
  const detailOf = (each: WorkPlace): string =>
    isUsable(each) ? states[each.target.state] : messages.goneWorkspace
  return (
    <ChipMenu
      label={messages.workspace}
      icon={target.state === "online" ? "devices" : "offline"}
      text={`${target.name} · ${workspace.id}`}
      isWarning={target.state !== "online" || !isUsable(place)}
    >
      <ChipChoices
        label={messages.workspace}
        value={keyOf(place)}
        options={places.map((each): ChipOption => ({
          value: keyOf(each),
          name: `${each.target.name} · ${each.workspace.id}`,
          detail: detailOf(each),
          disabled: !isUsable(each)
        }))}
        onChoose={(value) => {
          const chosen = places.find((each) => keyOf(each) === value)
          if (chosen !== undefined) pick({ targetId: chosen.target.id, workspace: chosen.workspace.id })
        }}
      />
      {workspace.offered?.git === true && (
        <>
          <Menu.Separator className="menu-line" />
          <Menu.CheckboxItem
            className="menu-item"
            checked={settings.isIsolated}
            onCheckedChange={(isIsolated) => onSettings({ ...settings, isIsolated })}
          >
            <span className="menu-mark" aria-hidden="true">
              {settings.isIsolated ? "✓" : ""}
            </span>
            {messages.worktree}
          </Menu.CheckboxItem>
        </>
      )}
    </ChipMenu>
  )
}

const AgentChip = ({ choice: { agent, agents, pick, place } }: ChoiceProps) => {
  const messages = useMessages(homeMessages)
  const [isMissingOpen, setMissingOpen] = useState(false)
  if (place === undefined) return null
  const missing = missingAgents(agents).length
  return (
    <>
      <ChipMenu
        label={messages.agent}
        icon="agent"
        isCompact
        text={agent?.label ?? messages.noAgent}
        isWarning={agent === undefined || agent.signedIn === false}
      >
        <ChipChoices
          label={messages.agent}
          value={agent?.id}
          options={agents
            .filter(({ available }) => available)
            .map(({ id, label, signedIn, version }): ChipOption => {
              const details = [version, signedIn === false ? messages.notSignedIn : undefined]
              const detail = details.filter((part) => part !== undefined).join(" · ")
              return { value: id, name: label, ...(detail === "" ? {} : { detail }) }
            })}
          onChoose={(agentId) => pick({ agentId })}
        />
        {missing > 0 && (
          <ChipAction onClick={() => setMissingOpen(true)}>{messages.missing(missing)}</ChipAction>
        )}
      </ChipMenu>
      <MissingAgents
        agents={agents}
        device={place.target.name}
        open={isMissingOpen}
        onOpenChange={setMissingOpen}
      />
    </>
  )
}

export const HomeChips = (props: Props) => {
  const { choice, onSettings, settings } = props
  const { agent, mode, modes, pick, place } = choice
  const { modes: names } = useMessages(uiMessages)
  const summary = [
    agent?.label,
    place === undefined ? undefined : `${place.target.name} · ${place.workspace.id}`,
    mode === undefined ? undefined : names[mode]
  ]
  return (
    <ChipSheet summary={summary} isWarning={place?.target.state === "offline" || mode === "full_access"}>
      <ProjectChip choice={choice} />
      <PlaceChip {...props} />
      <AgentChip choice={choice} />
      {place !== undefined && agent !== undefined && (
        <>
          <ModeChip mode={mode} modes={modes} onChoose={(chosen) => pick({ mode: chosen })} />
          <ModelChip
            model={settings.model}
            usual={agent.model}
            models={agent.model === undefined ? [] : [agent.model]}
            onChoose={(model) => onSettings({ ...settings, model })}
          />
        </>
      )}
    </ChipSheet>
  )
}
