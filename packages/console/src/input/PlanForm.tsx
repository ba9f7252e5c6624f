/** A plan with comments on its lines, and the buttons that approve it or send it back. */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { RunMode } from "@corral/domain/run/Run"
import { useState } from "react"
import { useUnsentText } from "../ui/UnsentText.tsx"
import { visibleText } from "../markdown/visible.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { uiMessages } from "../ui/messages.ts"
import { commentText, type PlanComment, planParts, PlanView } from "./PlanView.tsx"
import type { AnswerMutation } from "./Answer.tsx"
import { inputMessages } from "./messages.ts"
import "../approval/approval.css"
import "./input.css"

interface Props {
  readonly input: HubInput
  readonly answer: AnswerMutation
  /** Modes in which the plan can be carried out. Undefined if the run itself carries it out. */
  readonly modes: ReadonlyArray<RunMode> | undefined
}

const unsentComments = new Map<HubInput["id"], ReadonlyArray<PlanComment>>()

/** Comments that are not sent yet, kept while the page shows something else. */
const useComments = (id: HubInput["id"]) => {
  const [comments, setComments] = useState(() => unsentComments.get(id) ?? [])
  const change = (next: ReadonlyArray<PlanComment>) => {
    unsentComments.set(id, next)
    setComments(next)
  }
  return [comments, change] as const
}

export const PlanForm = ({ answer, input, modes }: Props) => {
  const messages = useMessages(inputMessages)
  const { language } = useLanguage()
  const { modes: names } = useMessages(uiMessages)
  const [comments, setComments] = useComments(input.id)
  const [overall, setOverall] = useState("")
  const [mode, setMode] = useState<RunMode | undefined>(modes?.[0])
  const plan = visibleText(input.plan ?? "")
  const isBusy = answer.isPending || answer.isSuccess
  useUnsentText(overall, isBusy)
  const text = commentText(planParts(plan), comments, overall)
  const comment = text === "" ? {} : { comment: text }
  return (
    <div className="input-form">
      <div className="dock-request dock-plan">
        <PlanView plan={plan} comments={comments} onComments={setComments} />
      </div>
      <textarea
        className="plan-overall"
        rows={1}
        aria-label={messages.overall}
        placeholder={messages.overall}
        value={overall}
        onChange={({ target }) => setOverall(target.value)}
      />
      <div className="decision-buttons input-buttons">
        <button
          type="button"
          className="button primary"
          disabled={isBusy}
          onClick={() =>
            answer.mutate({ approve: true, ...(mode === undefined ? {} : { mode }), ...comment })
          }
        >
          {messages.approve}
        </button>
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={() => answer.mutate({ approve: false, ...comment })}
        >
          {comments.length === 0 ? messages.sendBack : messages.sendBackWith(comments.length)}
        </button>
        {modes !== undefined && modes.length > 0 && (
          <label className="plan-mode">
            {messages.thenMode}
            <select
              value={mode}
              onChange={({ target }) => setMode(modes.find((each) => each === target.value))}
            >
              {modes.map((each) => (
                <option key={each} value={each}>
                  {names[each]}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <p className="question-note">
        {[messages.planHint, ...(modes === undefined ? [] : [messages.endsRun])].join(
          sentenceSpace[language]
        )}
      </p>
    </div>
  )
}
