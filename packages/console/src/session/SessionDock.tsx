/** What stands below a session's thread: an approval or a question that waits, and the composer. */
import type { HubApproval, HubInput } from "@corral/domain/hub-api/HubRun"
import type { Session } from "@corral/domain/session/Session"
import { useCallback } from "react"
import { ApprovalDock } from "../approval/ApprovalDock.tsx"
import { Composer } from "../composer/Composer.tsx"
import { UnsentText } from "../ui/UnsentText.ts"
import { useSessionDraft } from "../composer/Draft.ts"
import { InputDock } from "../input/InputDock.tsx"
import { openTextQuestion } from "../input/FormDraft.ts"
import type { TurnControl } from "../thread/useTurnControl.ts"
import { RefusalNote } from "../ui/RefusalNote.tsx"

interface Props {
  readonly session: Session
  readonly approvals: ReadonlyArray<HubApproval>
  readonly inputs: ReadonlyArray<HubInput>
  readonly control: TurnControl
  /** Whether a turn of the default agent is in progress. */
  readonly isWorking: boolean
  readonly error: Error | null
}

export const SessionDock = ({ approvals, control, error, inputs, isWorking, session }: Props) => {
  const draft = useSessionDraft(session.id)
  const keep = useCallback((text: string) => draft.prepend(text), [draft])
  return (
    <UnsentText value={keep}>
      <RefusalNote error={error} />
      <ApprovalDock approvals={approvals} />
      <InputDock inputs={inputs} isHidden={approvals.length > 0} />
      <Composer {...{ control, isWorking, session }} question={openTextQuestion(inputs)} />
    </UnsentText>
  )
}
