/** Chips of a session's composer: who receives the next message, in which mode and with which model. */
import type { Session } from "@corral/domain/session/Session"
import { useTargets } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { useAction } from "../ui/useAction.ts"
import { AddAgentDialog } from "./AddAgentDialog.tsx"
import { ChipAction, ChipChoices, ChipMenu, type ChipOption } from "./ChipMenu.tsx"
import { ModeChip } from "./ModeChip.tsx"
import { uiMessages } from "../ui/messages.ts"
import { ChipSheet } from "./ChipSheet.tsx"
import { ModelChip } from "./ModelChip.tsx"
import type { Recipient } from "./useRecipient.ts"
import { composerMessages } from "./messages.ts"

interface Props {
  readonly session: Session
  readonly recipient: Recipient
}

const PEOPLE = "people"

export const SessionChips = ({ recipient, session }: Props) => {
  const messages = useMessages(composerMessages)
  const targets = useTargets(session.projectId)
  const adding = useAction()
  const { agent, chooseAgent, chooseMode, chooseModel, mode, model, modes, offered } = recipient
  const people: ChipOption = { value: PEOPLE, name: messages.people, detail: messages.peopleHint }
  const options = session.agents.map(({ id, label, targetId, workspace }): ChipOption => ({
    value: id,
    name: label,
    detail: `${targets.find((target) => target.id === targetId)?.name ?? targetId} · ${workspace}`
  }))
  const { modes: names } = useMessages(uiMessages)
  const models = [offered?.model, ...session.agents.map((each) => each.model)]
  return (
    <>
      <ChipSheet
        summary={[
          agent?.label ?? messages.people,
          mode === undefined || agent === undefined ? undefined : names[mode]
        ]}
        isWarning={mode === "full_access"}
      >
        <ChipMenu label={messages.agent} icon="agent" isCompact text={agent?.label ?? messages.people}>
          <ChipChoices
            label={messages.recipient}
            value={agent?.id ?? PEOPLE}
            options={[...options, people]}
            onChoose={(value) =>
              chooseAgent(
                value === PEOPLE ? PEOPLE : (session.agents.find(({ id }) => id === value)?.id ?? PEOPLE)
              )
            }
          />
          <ChipAction onClick={() => adding.setOpen(true)}>{messages.addAnother}</ChipAction>
        </ChipMenu>
        {agent !== undefined && (
          <>
            <ModeChip mode={mode} modes={modes} onChoose={chooseMode} />
            <ModelChip
              model={model}
              usual={offered?.model}
              models={[...new Set(models.filter((each) => each !== undefined))]}
              onChoose={chooseModel}
            />
          </>
        )}
      </ChipSheet>
      <AddAgentDialog session={session} action={adding} onAdded={chooseAgent} />
    </>
  )
}
