/** Chips of a session's composer: who receives the next message, one agent or several, in which mode, with which model and limits. */
import { usualMode } from "@corral/domain/offer/Offer"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { Session } from "@corral/domain/session/Session"
import { useTargets } from "../api/ProjectsAndTargets.ts"
import { agentsOn } from "../start/Offer.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { useAction } from "../ui/Dialogs.tsx"
import { uiMessages } from "../ui/messages.ts"
import { AddAgentDialog } from "./AddAgentDialog.tsx"
import { candidateMessages } from "./candidateMessages.ts"
import { type CandidateChoice, CandidatesDialog } from "./CandidatesDialog.tsx"
import { ChipAction, ChipChoices, ChipMenu, type ChipOption, ChipSheet } from "./Chip.tsx"
import { ModeChip, ModelChip } from "./ModeAndModelChips.tsx"
import { LimitsChip, limitTexts } from "./TurnLimits.tsx"
import { composerMessages } from "./messages.ts"
import { commonModes, isolationOf } from "./useCandidates.ts"
import type { Recipient } from "./useRecipient.ts"
import "./composer.css"

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
