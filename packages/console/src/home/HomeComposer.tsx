/** Composer of a new session, with its project, workspace, agent, mode and model: sending creates the session with its agent, and opens it. */
import { findAgent, usualMode } from "@corral/domain/offer/Offer"
import type { Isolation, RunMode } from "@corral/domain/run/Run"
import { Menu } from "@base-ui/react/menu"
import { useNavigate } from "@tanstack/react-router"
import { type Ref, useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { AttachButton, DropArea, FileChips } from "../composer/AttachedFiles.tsx"
import { candidateMessages, composerMessages } from "../composer/messages.ts"
import {
  type CandidateChoice,
  CandidatesDialog,
  commonModes,
  isolationOf,
  useCandidatesHint,
  useStartCandidates
} from "../composer/CandidatesDialog.tsx"
import {
  ChipAction,
  ChipChoices,
  ChipMenu,
  type ChipOption,
  ChipSheet,
  ModeChip,
  ModelChip
} from "../composer/Chip.tsx"
import { Draft, useStoredDraft } from "../composer/Draft.ts"
import { LimitsChip, limitsFor, limitTexts } from "../composer/TurnLimits.tsx"
import { MessageField } from "../composer/MessageField.tsx"
import { MissingAgents, missingAgents } from "../composer/AgentDialogs.tsx"
import { SendButton } from "../composer/SendMessage.tsx"
import type { MentionPlace } from "../composer/MentionList.tsx"
import { isUsable, type StartChoice, type WorkPlace } from "../start/Offer.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { uiMessages } from "../ui/messages.ts"
import { useAction } from "../ui/Dialogs.tsx"
import { useMedia } from "../ui/useMedia.ts"
import { homeMessages } from "./messages.ts"
import { type StartSettings, useStartSession } from "./useStartSession.ts"
import "./home.css"

interface ChoiceProps {
  readonly choice: StartChoice
}

interface HomeChipsProps extends ChoiceProps {
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

const PlaceChip = ({ choice: { pick, place, places }, onSettings, settings }: HomeChipsProps) => {
  const messages = useMessages(homeMessages)
  const { states } = useMessages(uiMessages)
  if (place === undefined) return null
  const { target, workspace } = place
  const isolation =
    settings.candidates.length > 0
      ? isolationOf(settings.isolation, workspace.offered)
      : (settings.isolation ?? workspace.offered?.isolation ?? "none")
  const choose = (chosen: Isolation) => onSettings({ ...settings, isolation: chosen })
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
      <Menu.Separator className="menu-line" />
      {workspace.offered?.git === true && (
        <IsolationItem of="worktree" chosen={isolation} onChoose={choose} text={messages.worktree} />
      )}
      <IsolationItem of="overlay" chosen={isolation} onChoose={choose} text={messages.layer} />
    </ChipMenu>
  )
}

interface IsolationItemProps {
  readonly of: Isolation
  readonly chosen: Isolation
  readonly onChoose: (isolation: Isolation) => void
  readonly text: string
}

/** One isolation; unchecked, the agent writes into the workspace. */
const IsolationItem = ({ chosen, of, onChoose, text }: IsolationItemProps) => (
  <Menu.CheckboxItem
    className="menu-item"
    checked={chosen === of}
    onCheckedChange={(isChecked) => onChoose(isChecked ? of : "none")}
  >
    <span className="menu-mark" aria-hidden="true">
      {chosen === of ? "✓" : ""}
    </span>
    {text}
  </Menu.CheckboxItem>
)

const AgentChip = ({
  choice: { agent, agents, model, pick, place },
  onSettings,
  settings
}: HomeChipsProps) => {
  const messages = useMessages(homeMessages)
  const several = useMessages(candidateMessages)
  const [isMissingOpen, setMissingOpen] = useState(false)
  const choosing = useAction()
  if (place === undefined) return null
  const missing = missingAgents(agents).length
  const available = agents.filter((each) => each.available)
  const { candidates } = settings
  const isSeveral = candidates.length > 0
  return (
    <>
      <ChipMenu
        label={messages.agent}
        icon="agent"
        isCompact
        text={isSeveral ? several.count(candidates.length) : (agent?.label ?? messages.noAgent)}
        isWarning={agent === undefined || (!isSeveral && agent.signedIn === false)}
      >
        <ChipChoices
          label={messages.agent}
          value={isSeveral ? undefined : agent?.id}
          options={available.map(({ id, label, signedIn, version }): ChipOption => {
            const details = [version, signedIn === false ? messages.notSignedIn : undefined]
            const detail = details.filter((part) => part !== undefined).join(" · ")
            return { value: id, name: label, ...(detail === "" ? {} : { detail }) }
          })}
          onChoose={(agentId) => {
            onSettings({ ...settings, candidates: [] })
            pick({ agentId, model: undefined })
          }}
        />
        {available.length > 0 && (
          <ChipAction isChosen={isSeveral} onClick={() => choosing.setOpen(true)}>
            {several.several}
          </ChipAction>
        )}
        {missing > 0 && (
          <ChipAction onClick={() => setMissingOpen(true)}>{messages.missing(missing)}</ChipAction>
        )}
      </ChipMenu>
      <CandidatesDialog
        action={choosing}
        agents={available}
        chosen={candidates}
        current={agent && { agentId: agent.id, ...(model === undefined ? {} : { model }) }}
        onChoose={(chosen) => onSettings({ ...settings, candidates: chosen })}
      />
      <MissingAgents
        agents={agents}
        device={place.target.name}
        open={isMissingOpen}
        onOpenChange={setMissingOpen}
      />
    </>
  )
}

/** The chosen mode and those that are offered: with several agents, the modes that all of them have. */
const modesFor = ({ agents, mode, modes, place }: StartChoice, { candidates, isolation }: StartSettings) => {
  if (candidates.length === 0) return { mode, modes }
  const workspace = place?.workspace.offered
  const common = commonModes(workspace, agents, candidates, isolationOf(isolation, workspace))
  return { modes: common, mode: common.find((each) => each === mode) ?? usualMode(common) }
}

/** Chips of the home page's composer: project, workspace, agent, mode and model of a new session. */
const HomeChips = (props: HomeChipsProps) => {
  const { choice, onSettings, settings } = props
  const { agent, model, pick, place } = choice
  const { modes: names } = useMessages(uiMessages)
  const several = useMessages(candidateMessages)
  const { language } = useLanguage()
  const { mode, modes } = modesFor(choice, settings)
  const isSeveral = settings.candidates.length > 0
  const summary = [
    isSeveral ? several.count(settings.candidates.length) : agent?.label,
    place === undefined ? undefined : `${place.target.name} · ${place.workspace.id}`,
    mode === undefined ? undefined : names[mode],
    ...limitTexts(settings.limits, language)
  ]
  return (
    <ChipSheet summary={summary} isWarning={place?.target.state === "offline" || mode === "full_access"}>
      <ProjectChip choice={choice} />
      <PlaceChip {...props} />
      <AgentChip {...props} />
      {place !== undefined && agent !== undefined && (
        <>
          <ModeChip mode={mode} modes={modes} onChoose={(chosen) => pick({ mode: chosen })} />
          {!isSeveral && (
            <ModelChip
              model={model}
              usual={agent.model}
              models={agent.model === undefined ? [] : [agent.model]}
              onChoose={(chosen) => pick({ agentId: agent.id, model: chosen })}
            />
          )}
          <LimitsChip
            agent={agent}
            limits={settings.limits}
            onChoose={(limits) => onSettings({ ...settings, limits })}
          />
        </>
      )}
    </ChipSheet>
  )
}

/** Another device may not have all of the chosen agents: then one is chosen again. */
const offeredCandidates = (
  { agents }: StartChoice,
  { candidates }: StartSettings
): ReadonlyArray<CandidateChoice> =>
  candidates.every(({ agentId }) => findAgent(agents, agentId)?.available === true) ? candidates : []

/** Starts several agents in a new session, and opens it. */
const useStartSeveral = (draft: Draft, choice: StartChoice, settings: StartSettings) => {
  const navigate = useNavigate()
  const start = useStartCandidates(draft, async ({ sessionId }) => {
    choice.remember()
    if (sessionId !== undefined) await navigate({ to: "/sessions/$sessionId", params: { sessionId } })
  })
  const { place, project } = choice
  const { mode } = modesFor(choice, settings)
  const mutate = () => {
    if (place === undefined || project === undefined || mode === undefined) return
    const { candidates, isolation, limits } = settings
    start.mutate({
      projectId: project.id,
      targetId: place.target.id,
      workspace: place.workspace.id,
      waits: place.target.state !== "online",
      candidates,
      isolation,
      limits,
      mode
    })
  }
  return { error: start.error, isPending: start.isPending, mutate }
}

interface HomeComposerProps {
  readonly choice: StartChoice
  readonly fieldRef?: Ref<HTMLTextAreaElement>
}

/** Why nothing can be sent, or what happens when it is, and whether it can be sent. */
const useStartHint = (
  { agent, place, project }: StartChoice,
  mode: RunMode | undefined
): readonly [string, boolean] => {
  const home = useMessages(homeMessages)
  const composer = useMessages(composerMessages)
  if (project === undefined) return [home.noProject, false]
  if (place === undefined) return [home.noPlace(project.name), false]
  if (agent === undefined) return [home.noAgentHint(place.target.name), false]
  if (mode === undefined) return [home.noModes, false]
  if (place.target.state !== "online") return [composer.waitsFor(place.target.name), true]
  return ["", true]
}

export const HomeComposer = ({ choice, fieldRef }: HomeComposerProps) => {
  const messages = useMessages(composerMessages)
  const draft = Draft.of(`${useCurrentUser().user.id}.home`)
  useStoredDraft(draft)
  const [chosen, setSettings] = useState<StartSettings>({ limits: {}, candidates: [] })
  const settings = {
    ...chosen,
    limits: limitsFor(choice.agent, chosen.limits),
    candidates: offeredCandidates(choice, chosen)
  }
  const one = useStartSession(draft, choice, settings)
  const several = useStartSeveral(draft, choice, settings)
  const start = settings.candidates.length > 0 ? several : one
  const [startHint, mayStart] = useStartHint(choice, modesFor(choice, settings).mode)
  const { hint: severalHint, isBlocked } = useCandidatesHint(draft, settings.candidates)
  const hint = startHint === "" || isBlocked ? severalHint : startHint
  const maySend = mayStart && !isBlocked
  const isTouch = useMedia("(pointer: coarse)")
  const { place, project } = choice
  const mentionPlace: MentionPlace | "loading" | undefined =
    place === undefined || project === undefined
      ? choice.isLoading
        ? "loading"
        : undefined
      : {
          projectId: project.id,
          targetId: place.target.id,
          workspace: place.workspace.id,
          targetName: place.target.name,
          isOnline: place.target.state === "online"
        }
  const submit = () => {
    if (maySend && draft.readiness() === "ready" && !start.isPending) start.mutate()
  }
  return (
    <DropArea draft={draft} hint={hint} keys={isTouch ? "" : messages.enterSends} onSubmit={submit}>
      <FileChips draft={draft} />
      <MessageField
        draft={draft}
        placeholder={messages.ask}
        place={mentionPlace}
        {...(fieldRef === undefined ? {} : { fieldRef })}
        onSubmit={submit}
      />
      <RefusalNote error={start.error ?? choice.error} />
      <div className="composer-foot">
        <div className="composer-chips">
          <AttachButton draft={draft} />
          <HomeChips choice={choice} settings={settings} onSettings={setSettings} />
        </div>
        <SendButton draft={draft} isBusy={start.isPending || !maySend} label={messages.send} />
      </div>
    </DropArea>
  )
}
