/**
 * Who receives the next message of a session, one agent or several, in which mode, with which model and limits, as the device offers them now; and the
 * chips of the composer that choose it.
 */
import type { Target } from "@corral/domain/device/Device"
import type { AgentInstanceId } from "@corral/domain/identity/Ids"
import { findAgent, usualMode } from "@corral/domain/offer/Offer"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { SetLimits } from "@corral/domain/run/LimitText"
import type { RunMode } from "@corral/domain/run/Run"
import type { Session } from "@corral/domain/session/Session"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { targetsQuery, useDevice, useTargets } from "../api/ProjectsAndTargets.ts"
import { agentsOn, startModes } from "../start/Offer.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { useAction } from "../ui/Dialogs.tsx"
import { uiMessages } from "../ui/messages.ts"
import { AddAgentDialog } from "./AgentDialogs.tsx"
import { type CandidateChoice, CandidatesDialog, commonModes, isolationOf } from "./CandidatesDialog.tsx"
import {
  ChipAction,
  ChipChoices,
  ChipMenu,
  type ChipOption,
  ChipSheet,
  ModeChip,
  ModelChip
} from "./Chip.tsx"
import type { MentionPlace } from "./MentionList.tsx"
import { LimitsChip, limitTexts } from "./TurnLimits.tsx"
import { candidateMessages, composerMessages } from "./messages.ts"
import "./composer.css"

/** What the user chose for the next message. Absent parts are those of the session and its agent. */
interface MessageChoice {
  readonly to?: AgentInstanceId | "people"
  readonly mode?: RunMode
  readonly model?: string | undefined
  readonly limits?: SetLimits
}

const noTargets: { readonly items: ReadonlyArray<Target> } = { items: [] }

export type Recipient = ReturnType<typeof useRecipient>

/** Agent, mode, model and limits of the next message, as the device offers them now. */
export const useRecipient = ({ agents: all, defaultAgentInstanceId, projectId }: Session) => {
  // Closed ones receive nothing.
  const agents = all.filter(({ closedAt }) => closedAt === undefined)
  const { data: { items: targets } = noTargets, isPending } = useQuery(targetsQuery(projectId))
  const [choice, setChoice] = useState<MessageChoice>({})
  const isNote = choice.to === "people" || agents.length === 0
  const agent = isNote
    ? undefined
    : (agents.find(({ id }) => id === choice.to) ?? agents.find(({ id }) => id === defaultAgentInstanceId))
  const target = targets.find(({ id }) => id === agent?.targetId)
  const offered = findAgent(target?.agents, agent?.agentId)
  const workspace = target?.workspaces.find(({ id }) => id === agent?.workspace)
  const offeredModes = startModes(workspace, offered)
  const modes = offeredModes.length > 0 || agent === undefined ? offeredModes : [agent.mode]
  const mode = modes.find((each) => each === choice.mode) ?? agent?.mode
  // As the banner of the thread reads it, too: where it says that messages wait, they do.
  const device = useDevice(agent?.targetId)
  const isOffline = (target !== undefined && target.state !== "online") || device?.state === "offline"
  const place: MentionPlace | "loading" | undefined =
    agent === undefined || target === undefined
      ? isPending && agent !== undefined
        ? "loading"
        : undefined
      : {
          projectId,
          targetId: target.id,
          workspace: agent.workspace,
          targetName: target.name,
          isOnline: !isOffline
        }
  return {
    agent,
    target,
    workspace,
    offered,
    modes,
    mode,
    model: choice.model ?? agent?.model,
    place,
    isNote,
    isOffline,
    isDefault: agent?.id === defaultAgentInstanceId,
    /** Whether the agent accepts a message while it works. */
    takesInput: offered?.capabilities.input === true,
    choice,
    /** Another agent has its own mode, model and limits. */
    chooseAgent: (to: AgentInstanceId | "people") => setChoice({ to }),
    chooseMode: (next: RunMode) => setChoice({ ...choice, mode: next }),
    chooseModel: (model: string | undefined) => setChoice({ ...choice, model }),
    chooseLimits: (limits: SetLimits) => setChoice({ ...choice, limits })
  }
}

/** Fields of a message with this choice. */
export const choiceFields = ({ choice, isOffline }: Recipient) => ({
  ...(choice.to === undefined ? {} : { to: choice.to }),
  ...(choice.mode === undefined ? {} : { mode: choice.mode }),
  ...(choice.model === undefined ? {} : { model: choice.model }),
  ...limitsOfTurn(choice.limits ?? {}, {}),
  ...(isOffline ? { onOffline: "queue" as const } : {})
})

/** The chosen mode and those that are offered: with several agents, the modes that all of them have. */
export const modesFor = (
  { mode, modes, target, workspace }: Recipient,
  candidates: ReadonlyArray<CandidateChoice>
) => {
  if (candidates.length === 0) return { mode, modes }
  const common = commonModes(workspace, target?.agents ?? [], candidates, isolationOf(undefined, workspace))
  return { modes: common, mode: common.find((each) => each === mode) ?? usualMode(common) }
}

interface SessionChipsProps {
  readonly session: Session
  readonly recipient: Recipient
  /** Several agents for the next message. Empty: the recipient. */
  readonly candidates: ReadonlyArray<CandidateChoice>
  readonly onCandidates: (candidates: ReadonlyArray<CandidateChoice>) => void
}

const PEOPLE = "people"

/** Who receives the next message: an agent, several of them, or people only. */
const RecipientChip = ({ candidates, onCandidates, recipient, session }: SessionChipsProps) => {
  const messages = useMessages(composerMessages)
  const several = useMessages(candidateMessages)
  const targets = useTargets(session.projectId)
  const adding = useAction()
  const choosing = useAction()
  const { agent, model, target } = recipient
  const isSeveral = candidates.length > 0
  const available = agentsOn(target).filter((each) => each.available)
  const chooseAgent: Recipient["chooseAgent"] = (to) => {
    onCandidates([])
    recipient.chooseAgent(to)
  }
  const openAgents = session.agents.filter(({ closedAt }) => closedAt === undefined)
  const people: ChipOption = { value: PEOPLE, name: messages.people, detail: messages.peopleHint }
  const options = openAgents.map(({ id, label, targetId, workspace }): ChipOption => ({
    value: id,
    name: label,
    detail: `${targets.find((each) => each.id === targetId)?.name ?? targetId} · ${workspace}`
  }))
  return (
    <>
      <ChipMenu
        label={messages.agent}
        icon="agent"
        isCompact
        text={isSeveral ? several.count(candidates.length) : (agent?.label ?? messages.people)}
      >
        <ChipChoices
          label={messages.recipient}
          value={isSeveral ? undefined : (agent?.id ?? PEOPLE)}
          options={[...options, people]}
          onChoose={(value) => chooseAgent(openAgents.find(({ id }) => id === value)?.id ?? PEOPLE)}
        />
        {available.length > 0 && (
          <ChipAction isChosen={isSeveral} onClick={() => choosing.setOpen(true)}>
            {several.several}
          </ChipAction>
        )}
        <ChipAction onClick={() => adding.setOpen(true)}>{messages.addAnother}</ChipAction>
      </ChipMenu>
      <AddAgentDialog session={session} action={adding} onAdded={chooseAgent} />
      <CandidatesDialog
        action={choosing}
        agents={available}
        chosen={candidates}
        current={agent && { agentId: agent.agentId, ...(model === undefined ? {} : { model }) }}
        onChoose={onCandidates}
      />
    </>
  )
}

export const SessionChips = (props: SessionChipsProps) => {
  const { candidates, recipient, session } = props
  const messages = useMessages(composerMessages)
  const several = useMessages(candidateMessages)
  const { modes: names } = useMessages(uiMessages)
  const { language } = useLanguage()
  const { agent, choice, chooseLimits, chooseMode, chooseModel, model, offered } = recipient
  const { mode, modes } = modesFor(recipient, candidates)
  const isSeveral = candidates.length > 0
  const agentLimits = limitsOfTurn({}, agent ?? {})
  const models = [offered?.model, ...session.agents.map((each) => each.model)]
  return (
    <ChipSheet
      summary={[
        isSeveral ? several.count(candidates.length) : (agent?.label ?? messages.people),
        mode === undefined || agent === undefined ? undefined : names[mode],
        ...(agent === undefined ? [] : limitTexts(limitsOfTurn(choice.limits ?? {}, agent), language))
      ]}
      isWarning={mode === "full_access"}
    >
      <RecipientChip {...props} />
      {agent !== undefined && (
        <>
          <ModeChip mode={mode} modes={modes} onChoose={chooseMode} />
          {!isSeveral && (
            <ModelChip
              model={model}
              usual={offered?.model}
              models={[...new Set(models.filter((each) => each !== undefined))]}
              onChoose={chooseModel}
            />
          )}
          <LimitsChip
            agent={offered}
            limits={choice.limits ?? {}}
            defaults={agentLimits}
            onChoose={chooseLimits}
          />
        </>
      )}
    </ChipSheet>
  )
}
